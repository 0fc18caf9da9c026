import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ObjectSchema } from '../../../base/schema/schema.ts';
import type { ComparedHits } from '../../../rehearsal/comparison.ts';
import { RehearsalRefused, type Rehearsals, type RehearsalView } from '../../../rehearsal/rehearsals.ts';
import type { KeyReport, LimitReport } from '../../../rehearsal/report.ts';
import type { CompiledRules } from '../../../rules/compiled-rules.ts';
import { compiledLimitInWords } from '../../../rules/limit-words.ts';
import { OperatorProblem } from './problem.ts';
import { ENTRIES } from './refusal.ts';
import type { OperatorCall, OperatorRoute } from './route.ts';

const DEFAULT_COUNT = 50;
const MAX_COUNT = 500;

/** Bounds of the files that a caller sends. Larger sets are rehearsed from `RUNTIME_CANDIDATE`. */
const MAX_BODY_BYTES = 1_048_576;
const MAX_FILES = 1_000;
const FILE_NAME = /^[\w][\w.-]*\.ya?ml$/;

const COUNT = { type: 'number', integer: true } as const;
const REASON = { type: 'string', max: 256, optional: true, description: 'For the log.' } as const;

const FIGURES = {
  hits: COUNT,
  rejected: { ...COUNT, description: 'Hits that the candidate rules reject.' },
  today: { ...COUNT, description: 'Hits that the active rules reject.' },
  more: { ...COUNT, description: 'Hits that only the candidate rules reject.' },
  fewer: { ...COUNT, description: 'Hits that only the active rules reject.' },
} as const;

const REHEARSAL: ObjectSchema = {
  type: 'object',
  name: 'Rehearsal',
  properties: {
    state: {
      type: 'string',
      enum: ['none', 'running', 'faults'],
      description: '`none`: there are no candidate rules. `faults`: they have faults and are not rehearsed.',
    },
    id: { type: 'string', nullable: true, description: 'Identifies the candidate rules.' },
    source: { type: 'string', nullable: true, description: 'A directory, or who sent the rules.' },
    started: { type: 'string', format: 'date-time', nullable: true },
    seconds: { type: 'number', nullable: true, description: 'How long the rehearsal has run.' },
    share: {
      type: 'number',
      nullable: true,
      description: 'The share of keys that is decided. Figures are scaled to all keys.',
    },
    reasons: { type: 'array', items: { type: 'string' }, description: 'Why the rules are not rehearsed.' },
    total: { type: 'object', nullable: true, properties: FIGURES },
    limits: {
      type: 'array',
      description: 'Limits with hits, those that change the most first.',
      items: {
        type: 'object',
        properties: {
          path: { type: 'string', nullable: true, description: 'Null for descriptors without a limit.' },
          meaning: { type: 'string', nullable: true },
          ...FIGURES,
        },
      },
    },
    keys: {
      type: 'array',
      description: 'Keys of the last changes, those with the most first.',
      items: {
        type: 'object',
        properties: {
          path: { type: 'string', nullable: true },
          key: { type: 'string' },
          domain: { type: 'string' },
          entries: ENTRIES,
          outcome: {
            type: 'string',
            enum: ['rejected', 'allowed'],
            description: 'What the candidate rules do, and the active rules do not.',
          },
          count: COUNT,
        },
      },
    },
  },
};

const ANSWER = { description: 'The rehearsal.', schema: REHEARSAL } as const;

/** `GET`, `POST` and `DELETE /rehearsal`, and its steps. */
export function rehearsalRoutes(rehearsals: Rehearsals): OperatorRoute[] {
  const view = async (call: OperatorCall) => {
    const { count = DEFAULT_COUNT } = call.query as { count?: number };
    return rehearsalView(await rehearsals.view(count), call.nowMs);
  };
  return [
    {
      method: 'GET',
      path: '/rehearsal',
      operation: 'getRehearsal',
      summary: 'Read what the candidate rules would change',
      access: 'read',
      query: { count: { ...COUNT, min: 1, max: MAX_COUNT, optional: true } },
      answer: ANSWER,
      handle: async call => ({ json: await view(call) }),
    },
    {
      method: 'POST',
      path: '/rehearsal',
      operation: 'beginRehearsal',
      summary: 'Rehearse the rule files of the body, in place of other candidate rules',
      access: 'change',
      body: {
        type: 'object',
        properties: {
          files: {
            type: 'array',
            min: 1,
            max: MAX_FILES,
            items: {
              type: 'object',
              properties: {
                name: { type: 'string', min: 1, max: 255, description: 'Without a directory: `shop.yaml`.' },
                content: { type: 'string', description: 'YAML.' },
              },
            },
          },
          share: {
            type: 'number',
            min: 0.001,
            max: 1,
            optional: true,
            description: 'The share of keys to decide: 0.001 to 1, the default.',
          },
          reason: REASON,
        },
      },
      bodyBytes: MAX_BODY_BYTES,
      answer: ANSWER,
      handle: async call => {
        const { files, share = 1 } = call.body as unknown as Upload;
        await rehearsals.begin(filesOf(files), { source: String(call.by), share });
        const json = await view(call);
        return { json, audit: { candidate: String(json['id']), files: files.length, share } };
      },
    },
    stepRoute('restart', 'Begin the rehearsal again with empty counters and figures', async () => {
      rehearsals.restart();
      // The answer shows the new figures.
      await nextTurn();
      return {};
    }),
    stepRoute('promote', 'Replace the active rule files by the candidate rules', async ({ body }) => {
      const id = String(body['id']);
      await rehearsals.promote(id);
      return { candidate: id };
    }),
    {
      method: 'DELETE',
      path: '/rehearsal',
      operation: 'endRehearsal',
      summary: 'End the rehearsal; files of RUNTIME_CANDIDATE are rehearsed again when they change',
      access: 'change',
      query: { reason: REASON },
      answer: ANSWER,
      handle: async call => {
        const id = rehearsals.stop();
        return { json: await view(call), audit: { candidate: id ?? 'none' } };
      },
    },
  ];

  function stepRoute(
    step: 'restart' | 'promote',
    summary: string,
    run: (call: OperatorCall) => Promise<Record<string, string>>,
  ): OperatorRoute {
    const id = {
      type: 'string',
      min: 1,
      max: 64,
      description: 'The candidate rules that you have seen.',
    } as const;
    return {
      method: 'POST',
      path: `/rehearsal/${step}`,
      operation: `${step}Rehearsal`,
      summary,
      access: 'change',
      body: { type: 'object', properties: { ...(step === 'promote' && { id }), reason: REASON } },
      answer: ANSWER,
      handle: async call => {
        try {
          const audit = await run(call);
          return { json: await view(call), audit };
        } catch (failure) {
          if (failure instanceof RehearsalRefused) throw new OperatorProblem('conflict', failure.message);
          throw failure;
        }
      },
    };
  }
}

interface Upload {
  readonly files: readonly { readonly name: string; readonly content: string }[];
  readonly share?: number;
}

function filesOf(files: Upload['files']): { name: string; content: Buffer }[] {
  const names = new Set<string>();
  for (const [i, { name }] of files.entries()) {
    const fault = !FILE_NAME.test(name)
      ? 'must be the name of a rule file, such as shop.yaml, without a directory'
      : names.has(name)
        ? 'is given twice'
        : null;
    if (fault !== null) {
      const pointer = `/files/${i}/name`;
      const errors = [{ pointer, code: 'invalid', detail: `${pointer} ${fault}` }];
      throw new OperatorProblem('validation_failed', `${pointer} ${fault}.`, { errors });
    }
    names.add(name);
  }
  return files.map(({ name, content }) => ({ name, content: Buffer.from(content) }));
}

function rehearsalView(view: RehearsalView | null, nowMs: number): Record<string, unknown> {
  const report = view?.report ?? null;
  const rules = view?.rules ?? null;
  return {
    state: view === null ? 'none' : report === null ? 'faults' : 'running',
    id: view?.id ?? null,
    source: view?.source ?? null,
    started: view === null ? null : new Date(view.startedMs).toISOString(),
    seconds: view === null ? null : Math.max(nowMs - view.startedMs, 0) / 1_000,
    share: view?.share ?? null,
    reasons: view?.reasons ?? [],
    total: report?.total ?? null,
    limits: rules === null || report === null ? [] : report.limits.map(limit => limitView(rules, limit)),
    keys: rules === null || report === null ? [] : report.keys.map(key => keyView(rules, key)),
  };
}

function limitView(
  rules: CompiledRules,
  { limit, hits }: LimitReport,
): Record<string, unknown> & ComparedHits {
  return {
    path: limit < 0 ? null : rules.path(limit),
    meaning: limit < 0 ? null : compiledLimitInWords(rules, limit),
    ...hits,
  };
}

function keyView(rules: CompiledRules, { limit, isRejected, ...key }: KeyReport): Record<string, unknown> {
  return {
    path: limit < 0 ? null : rules.path(limit),
    ...key,
    outcome: isRejected ? 'rejected' : 'allowed',
  };
}

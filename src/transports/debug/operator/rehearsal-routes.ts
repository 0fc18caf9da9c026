import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ObjectSchema } from '../../../base/schema/schema.ts';
import type { ComparedHits } from '../../../rehearsal/comparison.ts';
import { RehearsalRefused, type Rehearsals, type RehearsalView } from '../../../rehearsal/rehearsals.ts';
import type { KeyReport, LimitReport } from '../../../rehearsal/report.ts';
import type { CompiledRules } from '../../../rules/compiled-rules.ts';
import type { RuleFile } from '../../../rules/rule-set.ts';
import { compiledLimitInWords } from '../../../rules/words/limit-words.ts';
import { choice, list, number, object, optional, orNull, text, time, timeText, whole } from './fields.ts';
import { OperatorProblem } from './problem.ts';
import { ENTRIES } from './refusal.ts';
import { changes, type OperatorCall, type OperatorRoute, reads } from './route.ts';

const DEFAULT_COUNT = 50;
const MAX_COUNT = 500;

/** Bounds of the files that a caller sends. Larger sets are rehearsed from `RUNTIME_CANDIDATE`. */
const MAX_BODY_BYTES = 1_048_576;
const MAX_FILES = 1_000;
const FILE_NAME = /^\w[\w.-]*$/;
/** Other files have values that rules name. */
const RULE_FILE_NAME = /\.ya?ml$/;

const REASON = optional({ ...text('For the log.'), max: 256 });

const FIGURES = {
  hits: whole(),
  rejected: whole('Hits that the candidate rules reject.'),
  today: whole('Hits that the active rules reject.'),
  more: whole('Hits that only the candidate rules reject.'),
  fewer: whole('Hits that only the active rules reject.'),
};

const REHEARSAL: ObjectSchema = {
  ...object({
    state: choice(
      ['none', 'running', 'faults'],
      '`none`: there are no candidate rules. `faults`: they have faults and are not rehearsed.',
    ),
    id: orNull(text('Identifies the candidate rules.')),
    source: orNull(text('A directory, or who sent the rules.')),
    started: orNull(time()),
    seconds: orNull(number('How long the rehearsal has run.')),
    share: orNull(number('The share of keys that is decided. Figures are scaled to all keys.')),
    reasons: list(text(), 'Why the rules are not rehearsed.'),
    total: orNull(object(FIGURES)),
    limits: list(
      object({
        path: orNull(text('Null for descriptors without a limit.')),
        meaning: orNull(text()),
        ...FIGURES,
      }),
      'Limits with hits, those that change the most first.',
    ),
    keys: list(
      object({
        path: orNull(text()),
        key: text(),
        domain: text(),
        entries: ENTRIES,
        outcome: choice(['rejected', 'allowed'], 'What the candidate rules do, and the active rules do not.'),
        count: whole(),
      }),
      'Keys of the last changes, those with the most first.',
    ),
  }),
  name: 'Rehearsal',
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
      ...reads('/rehearsal', 'getRehearsal', 'Read what the candidate rules would change'),
      query: { count: optional({ ...whole(), min: 1, max: MAX_COUNT }) },
      answer: ANSWER,
      handle: async call => ({ json: await view(call) }),
    },
    {
      ...changes(
        'POST',
        '/rehearsal',
        'beginRehearsal',
        'Rehearse the rule files of the body, in place of other candidate rules',
      ),
      body: object({
        files: {
          ...list(
            object({
              name: {
                ...text(
                  'Without a directory: `shop.yaml`, or the name of a file of values that the rules have.',
                ),
                min: 1,
                max: 255,
              },
              content: text('YAML, or values with one on each line.'),
            }),
          ),
          min: 1,
          max: MAX_FILES,
        },
        share: optional({
          ...number('The share of keys to decide: 0.001 to 1, the default.'),
          min: 0.001,
          max: 1,
        }),
        reason: REASON,
      }),
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
      ...changes(
        'DELETE',
        '/rehearsal',
        'endRehearsal',
        'End the rehearsal; files of RUNTIME_CANDIDATE are rehearsed again when they change',
      ),
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
    const id = { ...text('The candidate rules that you have seen.'), min: 1, max: 64 };
    return {
      method: 'POST',
      path: `/rehearsal/${step}`,
      operation: `${step}Rehearsal`,
      summary,
      access: 'change',
      body: object({ ...(step === 'promote' && { id }), reason: REASON }),
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

function filesOf(files: Upload['files']): RuleFile[] {
  const names = new Set<string>();
  for (const [i, { name }] of files.entries()) {
    if (!FILE_NAME.test(name))
      throw invalid(
        `/files/${i}/name`,
        'must be the name of a rule file, such as shop.yaml, or of a file of values, without a directory',
      );
    if (names.has(name)) throw invalid(`/files/${i}/name`, 'is given twice');
    names.add(name);
  }
  if (!files.some(({ name }) => RULE_FILE_NAME.test(name)))
    throw invalid('/files', 'must have a rule file, such as shop.yaml');
  return files.map(({ name, content }) => ({
    name,
    content: Buffer.from(content),
    format: RULE_FILE_NAME.test(name) ? 'yaml' : 'values',
  }));
}

function invalid(pointer: string, fault: string): OperatorProblem {
  const errors = [{ pointer, code: 'invalid', detail: `${pointer} ${fault}` }];
  return new OperatorProblem('validation_failed', `${pointer} ${fault}.`, { errors });
}

function rehearsalView(view: RehearsalView | null, nowMs: number): Record<string, unknown> {
  const report = view?.report ?? null;
  const rules = view?.rules ?? null;
  return {
    state: view === null ? 'none' : report === null ? 'faults' : 'running',
    id: view?.id ?? null,
    source: view?.source ?? null,
    started: view === null ? null : timeText(view.startedMs),
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

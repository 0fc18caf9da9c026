import type { NumberSchema, ObjectSchema, StringSchema } from '../../../base/schema/schema.ts';
import type { HotKey, HotKeys, TopKeys } from '../../../decision/hot-keys/hot-keys.ts';
import type { LastRefusals } from '../../../decision/hot-keys/last-refusals.ts';
import type { Span } from '../../../decision/hot-keys/span-sketch.ts';
import type { CompiledRules } from '../../../rules/compiled-rules.ts';
import { OperatorProblem } from './problem.ts';
import { ENTRIES, REFUSALS, refusalView } from './refusal.ts';
import type { OperatorCall, OperatorRoute } from './route.ts';

const MAX_COUNT = 500;
const DEFAULT_COUNT = 50;

/** Readers of what was recorded. */
export interface HotKeyReaders {
  readonly hotKeys: HotKeys;
  readonly refusals: LastRefusals;
}

interface RoutesParts {
  /** Null if hot keys are disabled. */
  readonly readers: HotKeyReaders | null;
  /** The active rules; null before the first load. */
  readonly rules: () => CompiledRules | null;
}

const REFUSALS_SCHEMA: ObjectSchema = {
  type: 'object',
  name: 'Refusals',
  properties: { refusals: REFUSALS },
};

const COUNT: NumberSchema = { type: 'number', integer: true, min: 1, max: MAX_COUNT, optional: true };
const SPAN: StringSchema = {
  type: 'string',
  enum: ['minute', 'hour'],
  optional: true,
  description: 'The last minute (the default) or the last hour. Up to a third of it is missing; see `since`.',
};

const KEYS_SCHEMA: ObjectSchema = {
  type: 'object',
  name: 'HotKeys',
  properties: {
    since: { type: 'string', format: 'date-time', description: 'The start of the time that is counted.' },
    until: { type: 'string', format: 'date-time' },
    keys: {
      type: 'array',
      description: 'With the most hits first.',
      items: {
        type: 'object',
        properties: {
          limit: {
            type: 'number',
            integer: true,
            nullable: true,
            description:
              'Number of the limit. Null for the limit of a request, or of rules that were replaced.',
          },
          path: { type: 'string', nullable: true, description: 'Path of the limit.' },
          key: { type: 'string', description: 'The entries of the descriptor: `user=ann, path=/a`.' },
          domain: { type: 'string' },
          entries: ENTRIES,
          counter: {
            type: 'string',
            nullable: true,
            description: 'The key of the counter in the current window; null if it is not known.',
          },
          hits: { type: 'number' },
          refused: { type: 'number', description: 'Hits over the limit, also in shadow mode.' },
          error: { type: 'number', description: 'The true numbers differ by at most this.' },
        },
      },
    },
  },
};

/** `GET /keys` and `GET /refusals`, of all limits and of one limit. */
export function hotKeyRoutes(parts: RoutesParts): OperatorRoute[] {
  const keys = {
    query: { span: SPAN, limit: COUNT },
    answer: { description: 'The keys.', schema: KEYS_SCHEMA },
  };
  const refusals = {
    query: { limit: COUNT },
    answer: { description: 'The refusals.', schema: REFUSALS_SCHEMA },
  };
  return [
    {
      method: 'GET',
      path: '/keys',
      operation: 'listHotKeys',
      summary: 'List the keys with the most hits of all limits',
      access: 'read',
      ...keys,
      handle: call => ({ json: keysView(parts, call, null) }),
    },
    {
      method: 'GET',
      path: '/limits/:number/keys',
      operation: 'listHotKeysOfLimit',
      summary: 'List the keys of a limit with the most hits',
      access: 'read',
      ...keys,
      handle: call => ({ json: keysView(parts, call, numberOf(parts, call)) }),
    },
    {
      method: 'GET',
      path: '/refusals',
      operation: 'listRefusals',
      summary: 'List the last refusals',
      access: 'read',
      ...refusals,
      handle: call => ({ json: refusalsView(parts, call, null) }),
    },
    {
      method: 'GET',
      path: '/limits/:number/refusals',
      operation: 'listRefusalsOfLimit',
      summary: 'List the last refusals of a limit',
      access: 'read',
      ...refusals,
      handle: call => ({ json: refusalsView(parts, call, numberOf(parts, call)) }),
    },
  ];
}

function numberOf({ rules }: RoutesParts, { params }: OperatorCall): number {
  const count = rules()?.limitCount ?? 0;
  const number = /^\d{1,9}$/.test(params['number']) ? Number(params['number']) : count;
  if (number >= count) throw new OperatorProblem('not_found', 'There is no limit with this number.');
  return number;
}

function readersOf({ readers }: RoutesParts): HotKeyReaders {
  if (readers !== null) return readers;
  throw new OperatorProblem(
    'not_found',
    'Hot keys and refusals are not recorded: HOT_KEYS_ENABLED is false.',
  );
}

function keysView(parts: RoutesParts, { query, nowMs }: OperatorCall, limit: number | null): object {
  const { span = 'minute', limit: count = DEFAULT_COUNT } = query as { span?: Span; limit?: number };
  const { sinceMs, keys }: TopKeys = readersOf(parts).hotKeys.top(limit, span, count);
  const rules = parts.rules();
  return {
    since: new Date(sinceMs).toISOString(),
    until: new Date(nowMs).toISOString(),
    keys: keys.map(key => keyView(key, rules)),
  };
}

function keyView(
  { limit, key, domain, entries, cacheKey, hits, refused, error }: HotKey,
  rules: CompiledRules | null,
): object {
  const number = limit === null || limit < 0 ? null : limit;
  const path = number === null || rules === null ? null : rules.path(number);
  return { limit: number, path, key, domain, entries, counter: cacheKey, hits, refused, error };
}

function refusalsView(parts: RoutesParts, { query }: OperatorCall, limit: number | null): object {
  const { limit: count = DEFAULT_COUNT } = query as { limit?: number };
  return { refusals: readersOf(parts).refusals.recent(count, limit).map(refusalView) };
}

import type { NumberSchema, ObjectSchema } from '../../../base/schema/schema.ts';
import type { HotKey, HotKeys, TopKeys } from '../../../decision/hot-keys/hot-keys.ts';
import type { LastRefusals } from '../../../decision/hot-keys/last-refusals.ts';
import type { Span } from '../../../decision/hot-keys/span-sketch.ts';
import type { CompiledRules } from '../../../rules/compiled-rules.ts';
import {
  choice,
  type Fields,
  list,
  number,
  object,
  objectSchema,
  objectView,
  optional,
  orNull,
  text,
  time,
  timeText,
  whole,
} from './fields.ts';
import { OperatorProblem } from './problem.ts';
import { ENTRIES, REFUSALS, refusalView } from './refusal.ts';
import { type OperatorCall, type OperatorRoute, reads } from './route.ts';

const MAX_COUNT = 500;
const DEFAULT_COUNT = 50;

/** Readers of what was recorded. */
export interface HotKeyReaders {
  readonly hotKeys: HotKeys;
  readonly refusals: LastRefusals;
}

/** Readers, null if hot keys are disabled, and the active rules, null before the first load. */
interface Sources {
  readonly readers: HotKeyReaders | null;
  readonly rules: () => CompiledRules | null;
}

const COUNT: NumberSchema = { ...whole(), min: 1, max: MAX_COUNT, optional: true };
const SPAN = optional(
  choice(
    ['minute', 'hour'],
    'The last minute (the default) or the last hour. Up to a third of it is missing; see `since`.',
  ),
);

const KEY: Fields<HotKey & { readonly number: number | null; readonly rules: CompiledRules | null }> = {
  limit: [
    orNull(whole('Number of the limit. Null for the limit of a request, or of rules that were replaced.')),
    ({ number }) => number,
  ],
  path: [
    orNull(text('Path of the limit.')),
    ({ number, rules }) => (number === null || rules === null ? null : rules.path(number)),
  ],
  key: [text('The entries of the descriptor: `user=ann, path=/a`.'), ({ key }) => key],
  domain: [text(), ({ domain }) => domain],
  entries: [ENTRIES, ({ entries }) => entries],
  counter: [
    orNull(text('The key of the counter in the current window; null if it is not known.')),
    ({ cacheKey }) => cacheKey,
  ],
  hits: [number(), ({ hits }) => hits],
  refused: [number('Hits over the limit, also in shadow mode.'), ({ refused }) => refused],
  error: [number('The true numbers differ by at most this.'), ({ error }) => error],
};

const KEYS_SCHEMA: ObjectSchema = {
  ...object({
    since: time('The start of the time that is counted.'),
    until: time(),
    keys: list(objectSchema(KEY), 'With the most hits first.'),
  }),
  name: 'HotKeys',
};

const REFUSALS_SCHEMA: ObjectSchema = { ...object({ refusals: REFUSALS }), name: 'Refusals' };

/** `GET /keys` and `GET /refusals`, of all limits and of one limit. */
export function hotKeyRoutes(sources: Sources): OperatorRoute[] {
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
      ...reads('/keys', 'listHotKeys', 'List the keys with the most hits of all limits'),
      ...keys,
      handle: call => ({ json: keysView(sources, call, null) }),
    },
    {
      ...reads('/limits/:number/keys', 'listHotKeysOfLimit', 'List the keys of a limit with the most hits'),
      ...keys,
      handle: call => ({ json: keysView(sources, call, numberOf(sources, call)) }),
    },
    {
      ...reads('/refusals', 'listRefusals', 'List the last refusals'),
      ...refusals,
      handle: call => ({ json: refusalsView(sources, call, null) }),
    },
    {
      ...reads('/limits/:number/refusals', 'listRefusalsOfLimit', 'List the last refusals of a limit'),
      ...refusals,
      handle: call => ({ json: refusalsView(sources, call, numberOf(sources, call)) }),
    },
  ];
}

function numberOf({ rules }: Sources, { params }: OperatorCall): number {
  const count = rules()?.limitCount ?? 0;
  const number = /^\d{1,9}$/.test(params['number']) ? Number(params['number']) : count;
  if (number >= count) throw new OperatorProblem('not_found', 'There is no limit with this number.');
  return number;
}

function readersOf({ readers }: Sources): HotKeyReaders {
  if (readers !== null) return readers;
  throw new OperatorProblem(
    'not_found',
    'Hot keys and refusals are not recorded: HOT_KEYS_ENABLED is false.',
  );
}

function keysView(sources: Sources, { query, nowMs }: OperatorCall, limit: number | null): object {
  const { span = 'minute', limit: count = DEFAULT_COUNT } = query as { span?: Span; limit?: number };
  const { sinceMs, keys }: TopKeys = readersOf(sources).hotKeys.top(limit, span, count);
  const rules = sources.rules();
  return {
    since: timeText(sinceMs),
    until: timeText(nowMs),
    keys: keys.map(key => {
      const isKnown = key.limit !== null && key.limit >= 0;
      return objectView(KEY, { ...key, number: isKnown ? key.limit : null, rules });
    }),
  };
}

function refusalsView(sources: Sources, { query }: OperatorCall, limit: number | null): object {
  const { limit: count = DEFAULT_COUNT } = query as { limit?: number };
  return { refusals: readersOf(sources).refusals.recent(count, limit).map(refusalView) };
}

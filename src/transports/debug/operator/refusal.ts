import type { Refusal } from '../../../decision/hot-keys/refusal-table.ts';
import {
  type Fields,
  flag,
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
} from './fields.ts';

/** The entries of the descriptor of a key. */
export const ENTRIES = orNull(
  list(
    object({ key: text(), value: text() }),
    'The same as data. Null for a long key, and for a key with a pattern (`share_threshold`).',
  ),
);

const FIELDS: Fields<Refusal> = {
  time: [time(), ({ timeMs }) => timeText(timeMs)],
  path: [text('Path of the limit; empty for the limit of a request.'), ({ path }) => path],
  key: [text(), ({ key }) => key],
  domain: [text(), ({ domain }) => domain],
  entries: [ENTRIES, ({ entries }) => entries],
  hits: [number('Hits of the request.'), ({ hits }) => hits],
  count: [
    orNull(number('Hits in the window, with those of the request; null if the store was not asked.')),
    ({ count }) => count,
  ],
  held: [
    optional(number('The part of `count` that leases hold. Only of limits with leases.')),
    ({ held }) => held ?? undefined,
  ],
  requests_per_unit: [number(), ({ requestsPerUnit }) => requestsPerUnit],
  most: [
    number('The hits that the limit allows: `burst` of a token bucket, else `requests_per_unit`.'),
    ({ most }) => most,
  ],
  shadow_mode: [flag('True if the limit did not refuse the request.'), ({ isShadow }) => isShadow],
  penalized: [flag('True if the key is penalized.'), ({ isPenalized }) => isPenalized],
  banned: [
    flag('True if a ban of an operator rejected it. The limit is that of the rule, or 0.'),
    ({ isBanned }) => isBanned,
  ],
  peer: [orNull(text('The address of the caller.')), ({ peer }) => peer],
  trace_id: [orNull(text()), ({ traceId }) => traceId],
};

/** Refusals in answers of the API. */
export const REFUSALS = list(
  objectSchema(FIELDS),
  'The latest one first. A flood of refusals is not recorded completely.',
);

export function refusalView(refusal: Refusal): object {
  return objectView(FIELDS, refusal);
}

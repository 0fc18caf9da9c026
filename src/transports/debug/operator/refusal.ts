import type { Refusal } from '../../../decision/hot-keys/last-refusals.ts';

/** The entries of the descriptor of a key. */
export const ENTRIES = {
  type: 'array',
  nullable: true,
  items: { type: 'object', properties: { key: { type: 'string' }, value: { type: 'string' } } },
  description: 'The same as data. Null for a long key, and for a key with a pattern (`share_threshold`).',
} as const;

/** Refusals in answers of the API. */
export const REFUSALS = {
  type: 'array',
  description: 'The latest one first. A flood of refusals is not recorded completely.',
  items: {
    type: 'object',
    properties: {
      time: { type: 'string', format: 'date-time' },
      path: { type: 'string', description: 'Path of the limit; empty for the limit of a request.' },
      key: { type: 'string' },
      domain: { type: 'string' },
      entries: ENTRIES,
      hits: { type: 'number', description: 'Hits of the request.' },
      count: {
        type: 'number',
        nullable: true,
        description: 'Hits in the window, with those of the request; null if the store was not asked.',
      },
      requests_per_unit: { type: 'number' },
      most: {
        type: 'number',
        description: 'The hits that the limit allows: `burst` of a token bucket, else `requests_per_unit`.',
      },
      shadow_mode: { type: 'boolean', description: 'True if the limit did not refuse the request.' },
      penalized: { type: 'boolean', description: 'True if the key is penalized.' },
      banned: {
        type: 'boolean',
        description: 'True if a ban of an operator rejected it. The limit is that of the rule, or 0.',
      },
      peer: { type: 'string', nullable: true, description: 'The address of the caller.' },
      trace_id: { type: 'string', nullable: true },
    },
  },
} as const;

export function refusalView({
  timeMs,
  path,
  key,
  domain,
  entries,
  hits,
  count,
  requestsPerUnit,
  most,
  isShadow,
  isPenalized,
  isBanned,
  peer,
  traceId,
}: Refusal): object {
  return {
    time: new Date(timeMs).toISOString(),
    path,
    key,
    domain,
    entries,
    hits,
    count,
    requests_per_unit: requestsPerUnit,
    most,
    shadow_mode: isShadow,
    penalized: isPenalized,
    banned: isBanned,
    peer,
    trace_id: traceId,
  };
}

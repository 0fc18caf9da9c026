import type { RateLimitRequest, RequestDescriptor } from '../../../../src/messages/client-codec.ts';
import type { SteeringRecord } from '../../../../src/steering/record.ts';
import type { ExpectedLimit } from './expected-limits.ts';

/**
 * The record that applies to a descriptor; null for none. Records of histories have one entry: a ban precedes a pass, and
 * both precede an override, and a value precedes all values.
 */
export function recordFor(
  records: readonly SteeringRecord[],
  { entries }: RequestDescriptor,
  nowS: number,
): SteeringRecord | null {
  const found = records.filter(
    ({ entries: [{ key, value }], untilS }) =>
      untilS > nowS &&
      entries.length === 1 &&
      entries[0].key === key &&
      (value === '' || entries[0].value === value),
  );
  for (const kind of ['ban', 'pass', 'override']) {
    const own = found.filter(record => record.kind === kind);
    const [exact] = own.filter(({ entries: [{ value }] }) => value !== '');
    if (own.length > 0) return exact ?? own[0];
  }
  return null;
}

/** The limit after an override of it. Its counter stays the same. */
export function overridden(limit: ExpectedLimit, { requestsPerUnit }: SteeringRecord): ExpectedLimit {
  if (limit.isUnlimited || requestsPerUnit === null) return limit;
  return { ...limit, requestsPerUnit, most: requestsPerUnit };
}

/** Whether a descriptor of a request is banned, so that nothing of it is counted but refunds. */
export function isBanned(
  records: readonly SteeringRecord[],
  { descriptors }: RateLimitRequest,
  nowS: number,
): boolean {
  return descriptors.some(
    each => each.isNegativeHits !== true && recordFor(records, each, nowS)?.kind === 'ban',
  );
}

import type { JsonObject } from '../../src/base/json.ts';
import { checkRecord } from '../../src/steering/check-record.ts';
import type { SteeringKind, SteeringRecord } from '../../src/steering/record.ts';
import { SharedRecords } from '../../src/steering/shared-records.ts';

/** The second at which the clock of `Decisions` starts. */
const START_S = 1_700_000_000;

/**
 * A record for descriptors such as `user=ann,path=/a` (without `=`, for all values), for an hour unless given, from the
 * start of that clock unless given.
 */
export function record(
  kind: SteeringKind,
  descriptor: string,
  more: JsonObject & { readonly seconds?: number; readonly nowS?: number } = {},
): SteeringRecord {
  const { seconds = 3_600, nowS = START_S, ...fields } = more;
  const entries = descriptor.split(',').map(pair => {
    const [key, value = ''] = pair.split('=');
    return { key, value };
  });
  const until = new Date((nowS + seconds) * 1_000).toISOString();
  const given = { domain: 'd', entries, until, reason: 'test', ...fields };
  return checkRecord(given, { kind, nowS, by: 'tests' });
}

/** Memory with these records. */
export function sharedRecords(...records: readonly SteeringRecord[]): SharedRecords {
  const shared = new SharedRecords();
  shared.publish(records);
  return shared;
}

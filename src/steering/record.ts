import { createHash } from 'node:crypto';
import type { JsonObject } from '../base/json.ts';
import { GREATEST_LIMIT } from '../rules/rule-set.ts';

/**
 * What a steering record does with the descriptors that it matches.
 *
 * - `override`: their limit is another one
 * - `ban`: their requests are refused and not counted
 * - `pass`: they are allowed and not counted
 */
export type SteeringKind = 'override' | 'ban' | 'pass';

/** An entry of a descriptor. As in rules, an empty value matches every value, and a value with `*` is a wildcard. */
interface SteeringEntry {
  readonly key: string;
  readonly value: string;
}

/** A change of decisions that an operator has made, until a time. */
export interface SteeringRecord {
  /** See {@link idOf}. */
  readonly id: string;
  readonly kind: SteeringKind;
  readonly domain: string;
  /** Those of the descriptors that it matches: as many, and in the same order. */
  readonly entries: readonly SteeringEntry[];
  /** Only of an override: the limit, or a factor for the limit of the rule; the other one is null. */
  readonly requestsPerUnit: number | null;
  readonly factor: number | null;
  /** The second at which it ends, since the epoch. */
  readonly untilS: number;
  readonly reason: string;
  /** The second at which it was created or changed last, since the epoch. */
  readonly createdS: number;
  /** Who created it. */
  readonly by: string;
}

/** Maximum number of records of a store. */
export const MAX_RECORDS = 1_000;

/** Maximum size of a record as JSON. */
export const MAX_RECORD_BYTES = 4_096;

/** The text of an entry that matching compares: `key_value`, or `key` for every value. */
export function compositeOf({ key, value }: SteeringEntry): string {
  return value === '' ? key : `${key}_${value}`;
}

/** The id of the record of a kind for the same descriptors, so that a new record replaces it. */
export function idOf({ kind, domain, entries }: Pick<SteeringRecord, 'kind' | 'domain' | 'entries'>): string {
  const target = JSON.stringify([kind, domain, entries.map(compositeOf)]);
  return `${kind}_${createHash('sha256').update(target).digest('hex').slice(0, 16)}`;
}

/** The limit of an override for a rule with a limit. */
export function overriddenLimit({ requestsPerUnit, factor }: SteeringRecord, ofRule: number): number {
  if (requestsPerUnit !== null) return requestsPerUnit;
  return Math.min(Math.floor(ofRule * (factor ?? 1)), GREATEST_LIMIT);
}

/** A record as it is stored and shown. Times are in RFC 3339. */
export function recordJson(record: SteeringRecord): JsonObject {
  const { id, kind, domain, entries, requestsPerUnit, factor, untilS, reason, createdS, by } = record;
  return {
    id,
    kind,
    domain,
    entries: entries.map(({ key, value }) => (value === '' ? { key } : { key, value })),
    ...(requestsPerUnit === null ? {} : { requests_per_unit: requestsPerUnit }),
    ...(factor === null ? {} : { factor }),
    until: timeText(untilS),
    reason,
    created: timeText(createdS),
    by,
  };
}

/** A second since the epoch in RFC 3339, UTC. */
export function timeText(seconds: number): string {
  return new Date(seconds * 1_000).toISOString().replace('.000Z', 'Z');
}

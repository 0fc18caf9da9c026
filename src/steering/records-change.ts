import type { SteeringRecord } from './record.ts';

/** A change of the stored records. */
export interface RecordsChange {
  /** A record that is added, or replaces the one with its id. */
  readonly put: SteeringRecord | null;
  /** Ids of other records, which are deleted. */
  readonly removed: readonly string[];
}

/**
 * Computes a change from the stored records. Called again if another process has changed them before the change was made.
 * Returns null if there is nothing to change, and throws if the change must not be made.
 */
export type PlanChange = (stored: readonly SteeringRecord[]) => RecordsChange | null;

/** The records after a change, in order. */
export function changedRecords(
  stored: readonly SteeringRecord[],
  { put, removed }: RecordsChange,
): SteeringRecord[] {
  const replaced = new Set([...removed, put?.id]);
  const kept = stored.filter(({ id }) => !replaced.has(id));
  return inOrder(put === null ? kept : [...kept, put]);
}

/** The oldest records first, in the same order in all processes: of two wildcards, the first one applies. */
export function inOrder(records: readonly SteeringRecord[]): SteeringRecord[] {
  return records.toSorted((a, b) => a.createdS - b.createdS || (a.id < b.id ? -1 : 1));
}

import { READ_BYTES } from './task-store.ts';

/** A tenant with many due documents gets at least this many at a time, because each share is a query of its own. */
const LEAST_DOCUMENTS = 8;

/** What one tenant may get of an answer with due documents of several tenants. */
export interface DueShare {
  readonly documents: number;
  readonly bytes: number;
}

/**
 * Divides an answer between the tenants that have due documents, so that a tenant with very many of them does not delay
 * the schedules of the others.
 *
 * @param tenants how many tenants have due documents; at least 1
 */
export function dueShare(tenants: number, max: number): DueShare {
  return {
    documents: Math.min(max, Math.max(LEAST_DOCUMENTS, Math.ceil(max / tenants))),
    bytes: Math.ceil(READ_BYTES / tenants),
  };
}

/**
 * Sorts tenants for one answer: those that follow `after`, then the others. An answer that starts where the previous one
 * ended reaches every tenant, however few of them fit.
 */
export function inTurnsAfter<T extends string | number>(
  tenants: readonly T[],
  after: T | null,
): readonly T[] {
  const sorted = tenants.toSorted((a, b) => (a < b ? -1 : 1));
  if (after === null) return sorted;
  const first = sorted.findIndex(tenant => tenant > after);
  return first <= 0 ? sorted : [...sorted.slice(first), ...sorted.slice(0, first)];
}

import type { UsagePairs, UsageSpan } from '../model/usage.ts';

/** What to add to the usage of a tenant. */
export interface UsageIncrement {
  /** When it happened, by the clock of the store. It is added to the minute and to the hour of that time. */
  readonly at: number;
  /** Null for the tenant, whose figures contain those of its workers. */
  readonly workerId: string | null;
  readonly figures: UsagePairs;
}

/** Maximum number of increments of one call, which then keeps a store from other work for a few milliseconds at most. */
export const MAX_USAGE_INCREMENTS = 50;

export interface UsageQuery {
  readonly span: UsageSpan;
  /** Null for the tenant. */
  readonly workerId: string | null;
  /** Start of the first interval. */
  readonly from: number;
  /** Number of intervals, at most {@link MAX_USAGE_INTERVALS}. */
  readonly intervals: number;
}

/** Maximum number of intervals of a query: the hours of a week, with the one that has not ended. */
export const MAX_USAGE_INTERVALS = 169;

/** The usage of an interval in which something happened. */
export interface UsageOfInterval {
  /** Its start. */
  readonly at: number;
  readonly figures: UsagePairs;
}

import type { Counter, StatsRegistry } from '../stats/registry.ts';

/** The statistics of desks. */
export interface QuotaCounters {
  /** Reports of buckets, and the requests in them. */
  readonly reports: Counter;
  readonly allowed: Counter;
  readonly denied: Counter;
  /** Reports of buckets that were told to be forgotten at once, because their ids are invalid or there are too many. */
  readonly rejected: Counter;
  /** Assignments that were sent, and those of them that deny all requests because nothing is left. */
  readonly assignments: Counter;
  readonly exhausted: Counter;
  /** Rounds in which the store has failed, and those that took so long that nothing could be granted any more. */
  readonly storeErrors: Counter;
  readonly late: Counter;
}

/** The statistics of desks in a registry. */
export function quotaCounters(stats: StatsRegistry): QuotaCounters {
  const named = (name: string) => stats.counter(`ratelimit.quota.${name}`);
  return {
    reports: named('reports'),
    allowed: named('allowed'),
    denied: named('denied'),
    rejected: named('rejected'),
    assignments: named('assignments'),
    exhausted: named('exhausted'),
    storeErrors: named('store_errors'),
    late: named('late'),
  };
}

import type { Counter, StatsRegistry } from '../../../stats/registry.ts';

/** What `/check` counts beside its answers. */
export interface CheckCounters {
  /** Descriptors that were left out because the request had no value for one of their entries. */
  readonly leftOut: Counter;
  /** Requests that were allowed because no descriptor was left. */
  readonly withoutDescriptors: Counter;
  /** Requests with a token that is not valid. */
  readonly invalidTokens: Counter;
  /** Requests without a decision that were allowed, and those that were denied. */
  readonly allowedOnFailure: Counter;
  readonly deniedOnFailure: Counter;
}

/** The counters of a thread. */
export function checkCounters(stats: StatsRegistry): CheckCounters {
  const counter = (name: string): Counter => stats.counter(`ratelimit.check.${name}`);
  return {
    leftOut: counter('left_out_descriptors'),
    withoutDescriptors: counter('without_descriptors'),
    invalidTokens: counter('invalid_tokens'),
    allowedOnFailure: counter('failures.allowed'),
    deniedOnFailure: counter('failures.denied'),
  };
}

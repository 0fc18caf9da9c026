import { type Counter, type StatsRegistry, UNCOUNTED } from '../stats/registry.ts';

/** What is counted of requests that become descriptors. */
export interface MappingCounters {
  /** Descriptors that were left out because the request had no value for one of their entries. */
  readonly leftOut: Counter;
  /** Requests that were allowed because no descriptor was left. */
  readonly withoutDescriptors: Counter;
  /** Requests with a token that is not valid. */
  readonly invalidTokens: Counter;
  /** Requests of `/check` without a decision that were allowed, and those that were denied. */
  readonly allowedOnFailure: Counter;
  readonly deniedOnFailure: Counter;
}

/** The counters of a thread. */
export function mappingCounters(stats: StatsRegistry): MappingCounters {
  const counter = (name: string): Counter => stats.counter(`ratelimit.requests.${name}`);
  return {
    leftOut: counter('left_out_descriptors'),
    withoutDescriptors: counter('without_descriptors'),
    invalidTokens: counter('invalid_tokens'),
    allowedOnFailure: counter('allowed_on_failure'),
    deniedOnFailure: counter('denied_on_failure'),
  };
}

/** For requests that are only explained. */
export const NOT_COUNTED: MappingCounters = {
  leftOut: UNCOUNTED,
  withoutDescriptors: UNCOUNTED,
  invalidTokens: UNCOUNTED,
  allowedOnFailure: UNCOUNTED,
  deniedOnFailure: UNCOUNTED,
};

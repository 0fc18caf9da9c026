import type { Counter, StatsRegistry } from '../../stats/registry.ts';
import type { MemcachedCounters } from './memcached-store.ts';

/** The statistics of memcached, by the names of the reference implementation, whose tags are part of the name. */
export function memcachedCounters(stats: StatsRegistry): MemcachedCounters {
  const counter = (name: string): Counter => stats.counter(`ratelimit.memcache.${name}`);
  return {
    fetched: counter('multiget.__code=success'),
    fetchFailed: counter('multiget.__code=error'),
    keysRequested: counter('keys_requested'),
    keysFound: counter('keys_found'),
    incremented: counter('increment.__code=success'),
    missed: counter('increment.__code=miss'),
    incrementFailed: counter('increment.__code=error'),
    added: counter('add.__code=success'),
    notAdded: counter('add.__code=not_stored'),
    addFailed: counter('add.__code=error'),
    decremented: counter('decrement.__code=success'),
    decrementMissed: counter('decrement.__code=miss'),
    decrementFailed: counter('decrement.__code=error'),
  };
}

import type { OverLimitCache } from '../../decision/over-limit-cache.ts';
import type { OverLimitDelta } from '../../decision/pool/thread-messages.ts';
import type { StatsRegistry } from '../../stats/registry.ts';

/** Statistics of the local cache, summed over the caches of all threads. */
export class OverLimitFigures {
  readonly #own: OverLimitCache;
  readonly #others = { hits: 0, misses: 0, evicted: 0, expired: 0, overwritten: 0 };
  readonly #sizes = new Map<number, number>();

  /** @param own the cache of this thread */
  constructor(own: OverLimitCache, stats: StatsRegistry) {
    this.#own = own;
    const others = this.#others;
    const hits = (): number => own.hits + others.hits;
    const misses = (): number => own.misses + others.misses;
    stats.gauge('ratelimit.localcache.entryCount', () => this.#size());
    stats.gauge('ratelimit.localcache.hitCount', hits);
    stats.gauge('ratelimit.localcache.missCount', misses);
    stats.gauge('ratelimit.localcache.lookupCount', () => hits() + misses());
    stats.gauge('ratelimit.localcache.evacuateCount', () => own.evicted + others.evicted);
    stats.gauge('ratelimit.localcache.expiredCount', () => own.expired + others.expired);
    stats.gauge('ratelimit.localcache.overwriteCount', () => own.overwritten + others.overwritten);
  }

  /** Adds the changes of the cache of another thread. */
  changed(delta: OverLimitDelta): void {
    const others = this.#others;
    this.#sizes.set(delta.threadId, delta.size);
    others.hits += delta.hits;
    others.misses += delta.misses;
    others.evicted += delta.evicted;
    others.expired += delta.expired;
    others.overwritten += delta.overwritten;
  }

  /** Removes the cache of a thread that has ended. */
  ended(threadId: number): void {
    this.#sizes.delete(threadId);
  }

  #size(): number {
    let size = this.#own.size;
    for (const each of this.#sizes.values()) size += each;
    return size;
  }
}

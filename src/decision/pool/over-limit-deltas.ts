import type { OverLimitCache } from '../over-limit-cache.ts';
import type { OverLimitDelta } from './thread-messages.ts';

const NOTHING_REPORTED = { size: 0, hits: 0, misses: 0, evicted: 0, expired: 0, overwritten: 0 };

/** The changes of the figures of a local cache, in the thread that has the cache. */
export class OverLimitDeltas {
  readonly #cache: OverLimitCache;
  readonly #threadId: number;
  /** The figures that were last reported. */
  #reported: Omit<OverLimitDelta, 'threadId'> = NOTHING_REPORTED;

  constructor(cache: OverLimitCache, threadId: number) {
    this.#cache = cache;
    this.#threadId = threadId;
  }

  /** The changes since the last call; null if there are none. */
  take(): OverLimitDelta | null {
    const before = this.#reported;
    const { size, hits, misses, evicted, expired, overwritten } = this.#cache;
    const now = { size, hits, misses, evicted, expired, overwritten };
    this.#reported = now;
    const delta = {
      threadId: this.#threadId,
      size,
      hits: hits - before.hits,
      misses: misses - before.misses,
      evicted: evicted - before.evicted,
      expired: expired - before.expired,
      overwritten: overwritten - before.overwritten,
    };
    const changes = delta.hits + delta.misses + delta.evicted + delta.expired + delta.overwritten;
    return changes === 0 && size === before.size ? null : delta;
  }
}

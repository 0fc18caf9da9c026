import type { LRUCache } from 'lru-cache';
import type { Clock } from './clock.ts';
import { recentlyUsed } from './collections/recently-used.ts';

interface Failures {
  count: number;
  readonly sinceMs: number;
}

interface Bounds {
  /** Maximum number of failed attempts of one name within the time. */
  readonly most: number;
  readonly withinMs: number;
  /** Maximum number of names that are counted. The one that was counted least recently is forgotten. */
  readonly names: number;
}

/** Counts the failed attempts of callers, such as wrong tokens, so that they can be limited. */
export class FailedAttempts {
  readonly #bounds: Bounds;
  readonly #clock: Clock;
  readonly #failures: LRUCache<string, Failures>;

  constructor(bounds: Bounds, clock: Clock) {
    this.#bounds = bounds;
    this.#clock = clock;
    this.#failures = recentlyUsed(bounds.names);
  }

  /** Milliseconds until attempts of `name` are accepted again; 0 if they are accepted now. */
  waitMs(name: string): number {
    const failures = this.#current(name);
    if (failures === null || failures.count < this.#bounds.most) return 0;
    return failures.sinceMs + this.#bounds.withinMs - this.#clock.nowMs();
  }

  add(name: string): void {
    const failures = this.#current(name);
    if (failures === null) this.#failures.set(name, { count: 1, sinceMs: this.#clock.nowMs() });
    else failures.count++;
  }

  #current(name: string): Failures | null {
    const failures = this.#failures.get(name);
    if (failures === undefined) return null;
    const ageMs = this.#clock.nowMs() - failures.sinceMs;
    // If the clock was set back, a name must not wait longer than usual.
    return ageMs >= 0 && ageMs < this.#bounds.withinMs ? failures : null;
  }
}

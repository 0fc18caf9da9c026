import { constants, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';
import type { Clock, Timer } from '../base/clock.ts';
import type { Histogram } from './histogram.ts';
import type { StatsRegistry } from './registry.ts';

/** Kinds of threads with statistics. Threads of one kind are measured together. */
export type ThreadKind = 'primary' | 'serving' | 'decision' | 'tasks_rest' | 'tasks_engine';

/**
 * How often the delay of the event loop is measured. Each time wakes the thread up, also when it has nothing to do, so it
 * is not done more often. Delays that are longer are always noticed, and shorter ones in proportion to their length.
 */
const MEASURE_MS = 250;

/** Kinds of garbage collections by the number that V8 gives them. */
const COLLECTIONS = [
  [constants.NODE_PERFORMANCE_GC_MINOR, 'minor'],
  [constants.NODE_PERFORMANCE_GC_MAJOR, 'major'],
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL, 'incremental'],
  [constants.NODE_PERFORMANCE_GC_WEAKCB, 'weakcb'],
] as const;

/** The type declarations of Node.js do not have this part of an entry. */
interface CollectionEntry extends PerformanceEntry {
  readonly detail: { readonly kind: number };
}

/**
 * Measures what delays the work of this thread: how late its timers run (`ratelimit.event_loop.KIND.delay`), and pauses
 * for garbage collection (`ratelimit.gc.KIND.COLLECTION.duration`).
 */
export class ThreadPauses {
  readonly #clock: Pick<Clock, 'after'>;
  readonly #nowMs: () => number;
  readonly #delay: Histogram;
  readonly #collections: ReadonlyMap<number, Histogram>;
  readonly #observer: PerformanceObserver;
  #timer: Timer | null = null;

  /** @param nowMs a monotonic clock in milliseconds with fractions */
  constructor(
    stats: StatsRegistry,
    kind: ThreadKind,
    clock: Pick<Clock, 'after'>,
    nowMs: () => number = () => performance.now(),
  ) {
    this.#clock = clock;
    this.#nowMs = nowMs;
    this.#delay = stats.timer(`ratelimit.event_loop.${kind}.delay`);
    this.#collections = new Map(
      COLLECTIONS.map(([number, name]) => [number, stats.timer(`ratelimit.gc.${kind}.${name}.duration`)]),
    );
    this.#observer = new PerformanceObserver(list => {
      for (const entry of list.getEntries()) this.#collected(entry);
    });
  }

  start(): void {
    this.#observer.observe({ entryTypes: ['gc'] });
    this.#measure();
  }

  stop(): void {
    this.#observer.disconnect();
    this.#timer?.cancel();
  }

  #measure(): void {
    const dueMs = this.#nowMs() + MEASURE_MS;
    this.#timer = this.#clock.after(MEASURE_MS, () => {
      // The event loop rounds times down to milliseconds, so a timer may run a moment early.
      this.#delay.record(Math.max(0, this.#nowMs() - dueMs));
      this.#measure();
    });
  }

  #collected(entry: PerformanceEntry): void {
    const { detail, duration } = entry as CollectionEntry;
    this.#collections.get(detail.kind)?.record(duration);
  }
}

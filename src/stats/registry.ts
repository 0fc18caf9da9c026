import { CollectionRounds } from './collection-rounds.ts';
import { Histogram } from './histogram.ts';

/** A number that only grows. It has a full name, for example `ratelimit.service.config_load_success`. */
export interface Counter {
  add(count: number): void;
}

/** For work that no statistics tell of. */
export const UNCOUNTED: Counter = { add: () => {} };

/**
 * The full name of a counter and its total since the process started, or since a bounded source last evicted the name.
 */
export type CounterTotal = readonly [name: string, total: number];

/**
 * Marks a point where an iteration over counters may be interrupted: work was done, but no counter was found. Readers
 * skip totals of 0, so they may ignore it. A reader that shares its thread lets other work run here.
 */
export const PAUSE: CounterTotal = ['', 0];

/**
 * Counters that are kept outside the registry, for example the statistics of the rules. There may be hundreds of
 * thousands, so they are read one at a time, and time may pass between two of them.
 */
export interface CounterSource {
  /** Every counter that is not zero, once each, with {@link PAUSE} in between. No other source has the same names. */
  totals(): Iterable<CounterTotal>;
}

/** The view of sinks and `/stats`. Totals only grow, except for names that a bounded source has evicted meanwhile. */
export interface StatsReader {
  /**
   * Wait for it before reading: it fetches what other threads have counted until now. Null if nothing has to be fetched.
   */
  collect(): Promise<void> | null;
  counters(): Iterable<CounterTotal>;
  gauges(): ReadonlyMap<string, number>;
  timers(): ReadonlyMap<string, Histogram>;
}

class NamedCounter implements Counter {
  total = 0;
  add(count: number): void {
    this.total += count;
  }
}

/** The statistics of the process (spec 6). Owned by the primary thread. */
export class StatsRegistry implements StatsReader {
  readonly #counters = new Map<string, NamedCounter>();
  readonly #gauges = new Map<string, () => number>();
  readonly #gaugeParts: (readonly [name: string, read: () => number])[] = [];
  readonly #timers = new Map<string, Histogram>();
  readonly #sources: CounterSource[] = [];
  readonly #rounds = new CollectionRounds();

  /** Returns the counter with this name, which is created on first use. */
  counter(name: string): Counter {
    let counter = this.#counters.get(name);
    if (counter === undefined) {
      counter = new NamedCounter();
      this.#counters.set(name, counter);
    }
    return counter;
  }

  /** Declares a gauge that is read when statistics are collected. It replaces an earlier gauge with the same name. */
  gauge(name: string, read: () => number): void {
    this.#gauges.set(name, read);
  }

  /** Adds a part to a gauge, whose value is the sum of all parts. */
  gaugePart(name: string, read: () => number): void {
    this.#gaugeParts.push([name, read]);
  }

  /** Returns the timer with this name, in milliseconds. It is created on first use. */
  timer(name: string): Histogram {
    let timer = this.#timers.get(name);
    if (timer === undefined) {
      timer = new Histogram();
      this.#timers.set(name, timer);
    }
    return timer;
  }

  addSource(source: CounterSource): void {
    this.#sources.push(source);
  }

  /** Calls `fetch` before statistics are read. It must never reject and must be bounded in time. */
  onCollect(fetch: () => Promise<void>): void {
    this.#rounds.add(fetch);
  }

  collect(): Promise<void> | null {
    return this.#rounds.collect();
  }

  /** Names of the counters of the registry itself, including counters that are zero. */
  counterNames(): Iterable<string> {
    return this.#counters.keys();
  }

  /**
   * All counters that are not zero: those of the registry itself sorted by name (UTF-16), then those of the sources.
   */
  *counters(): Iterable<CounterTotal> {
    for (const name of [...this.#counters.keys()].sort()) {
      const { total } = this.#counters.get(name) as NamedCounter;
      if (total !== 0) yield [name, total];
    }
    for (const source of this.#sources) yield* source.totals();
  }

  gauges(): ReadonlyMap<string, number> {
    const values = new Map<string, number>();
    for (const [name, read] of this.#gauges) values.set(name, read());
    for (const [name, read] of this.#gaugeParts) values.set(name, (values.get(name) ?? 0) + read());
    return values;
  }

  timers(): ReadonlyMap<string, Histogram> {
    return this.#timers;
  }
}

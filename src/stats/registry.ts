import { Histogram } from './histogram.ts';

/** A number that only grows. Names are full, for example `ratelimit.service.config_load_success`. */
export interface Counter {
  add(count: number): void;
}

/** The full name of a counter and its total since the start of the process, or since its name was let go of last. */
export type CounterTotal = readonly [name: string, total: number];

/**
 * Where an iteration over counters may be interrupted: work was done, but there is no counter to tell of. Readers show
 * no total of 0, so this needs no care of them; one that shares its thread lets others run here.
 */
export const PAUSE: CounterTotal = ['', 0];

/**
 * Statistics that somebody else keeps and hands over when asked, such as those of the compiled rules. There may be
 * hundreds of thousands, so they are handed over one by one, and time may pass between two of them.
 */
export interface CounterSource {
  /** Every counter that is not zero, once each; {@link PAUSE} in between. Names are those of no other source. */
  totals(): Iterable<CounterTotal>;
}

/** What a sink or `/stats` reads. Totals only grow, but for names that a bounded source has let go of meanwhile. */
export interface StatsReader {
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

  /** The counter of this name; made on first use. */
  counter(name: string): Counter {
    let counter = this.#counters.get(name);
    if (counter === undefined) {
      counter = new NamedCounter();
      this.#counters.set(name, counter);
    }
    return counter;
  }

  /** Declares a gauge that is read when statistics are collected. A later one of the same name takes its place. */
  gauge(name: string, read: () => number): void {
    this.#gauges.set(name, read);
  }

  /** Adds what somebody else knows of a gauge: its value is the sum of all parts. */
  gaugePart(name: string, read: () => number): void {
    this.#gaugeParts.push([name, read]);
  }

  /** The timer of this name, in milliseconds; made on first use. */
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

  /** Of the counters that are made here, also of those that are zero. */
  counterNames(): Iterable<string> {
    return this.#counters.keys();
  }

  /** All counters that are not zero: those made here by name in the order of UTF-16, then those of the sources. */
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

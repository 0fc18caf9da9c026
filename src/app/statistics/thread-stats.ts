import type { Clock, Timer } from '../../base/clock.ts';
import type { ThreadStats } from '../../decision/pool/thread-messages.ts';
import type { Recorded } from '../../stats/histogram.ts';
import type { StatsRegistry } from '../../stats/registry.ts';

/** How often a thread reports its statistics. */
export const REPORT_MS = 1_000;

/** Suffixes of the counters of opened and of closed connections. */
const CONNECTIONS = '.cx_active';
const CLOSED = '.cx_local_close';

/** The changes of the statistics of a thread. */
export type StatsChange = Pick<ThreadStats, 'counters' | 'gauges' | 'timers'>;

/** Runs in a thread: reports the statistics of the thread that have changed. */
export class StatsReporter {
  readonly #changes: StatsChanges;
  readonly #clock: Clock;
  readonly #tell: (change: StatsChange) => void;
  #timer: Timer | null = null;

  constructor(stats: StatsRegistry, clock: Clock, tell: (change: StatsChange) => void) {
    this.#changes = new StatsChanges(stats);
    this.#clock = clock;
    this.#tell = tell;
  }

  /** Reports changes now and every second. */
  start(): void {
    this.#report();
    this.#timer = this.#clock.after(REPORT_MS, () => this.start());
  }

  /** Reports the last changes. */
  stop(): void {
    this.#timer?.cancel();
    this.#report();
  }

  #report(): void {
    const change = this.#changes.take();
    if (change !== null) this.#tell(change);
  }
}

/** The changes of the statistics of a thread. */
export class StatsChanges {
  readonly #stats: StatsRegistry;
  readonly #totals = new Map<string, number>();
  readonly #values = new Map<string, number>();
  readonly #recorded = new Map<string, Recorded>();

  constructor(stats: StatsRegistry) {
    this.#stats = stats;
  }

  /** The changes since the last call; null if there are none. */
  take(): StatsChange | null {
    const counters: [string, number][] = [];
    // Also counters that are still 0, so that the sinks show them from the start.
    for (const name of this.#stats.counterNames()) {
      if (this.#totals.has(name)) continue;
      counters.push([name, 0]);
      this.#totals.set(name, 0);
    }
    for (const [name, total] of this.#stats.counters()) {
      const growth = total - (this.#totals.get(name) ?? 0);
      if (growth !== 0) counters.push([name, growth]);
      this.#totals.set(name, total);
    }
    const gauges: [string, number][] = [];
    for (const [name, value] of this.#stats.gauges()) {
      if (this.#values.get(name) !== value) gauges.push([name, value]);
      this.#values.set(name, value);
    }
    const timers = this.#timersGrown();
    return counters.length + gauges.length + timers.length > 0 ? { counters, gauges, timers } : null;
  }

  #timersGrown(): StatsChange['timers'] {
    const grown: [string, Recorded][] = [];
    for (const [name, { count, maxMs, counts, sumsMs }] of this.#stats.timers()) {
      const before = this.#recorded.get(name);
      if (count === (before?.count ?? 0)) continue;
      grown.push([
        name,
        {
          count: count - (before?.count ?? 0),
          maxMs,
          counts: counts.map((each, i) => each - (before?.counts[i] ?? 0)),
          sumsMs: sumsMs.map((each, i) => each - (before?.sumsMs[i] ?? 0)),
        },
      ]);
      this.#recorded.set(name, { count, maxMs, counts: counts.slice(), sumsMs: sumsMs.slice() });
    }
    return grown;
  }
}

/** Adds the statistics that threads report to those of the process. */
export class ThreadsStats {
  readonly #stats: StatsRegistry;
  readonly #nameHere: (name: string) => string | null;
  /** The value of each gauge in each thread. */
  readonly #gauges = new Map<string, Map<number, number>>();

  /** @param nameHere the name under which a statistic of a thread is shown, null to leave it out; by default the same */
  constructor(stats: StatsRegistry, nameHere: (name: string) => string | null = name => name) {
    this.#stats = stats;
    this.#nameHere = nameHere;
  }

  /** Adds a report of a thread. */
  add(thread: number, { counters, gauges, timers }: StatsChange): void {
    for (const [name, growth] of counters) {
      const here = this.#nameHere(name);
      if (here !== null) this.#stats.counter(here).add(growth);
    }
    for (const [name, value] of gauges) {
      const here = this.#nameHere(name);
      if (here !== null) this.#valuesOf(here).set(thread, value);
    }
    for (const [name, growth] of timers) {
      const here = this.#nameHere(name);
      if (here !== null) this.#stats.timer(here).add(growth);
    }
  }

  /** Removes the gauges of a thread that has ended. Its counters stay, and its connections count as closed. */
  ended(thread: number): void {
    for (const [name, values] of this.#gauges) {
      const value = values.get(thread) ?? 0;
      values.delete(thread);
      if (name.endsWith(CONNECTIONS)) this.#stats.counter(name.replace(CONNECTIONS, CLOSED)).add(value);
    }
  }

  #valuesOf(name: string): Map<number, number> {
    let values = this.#gauges.get(name);
    if (values === undefined) {
      const made = new Map<number, number>();
      values = made;
      this.#gauges.set(name, made);
      this.#stats.gaugePart(name, () => sum(made.values()));
    }
    return values;
  }
}

function sum(values: Iterable<number>): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}

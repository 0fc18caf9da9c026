import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock, Timer } from '../base/clock.ts';
import type { Recorded } from './histogram.ts';
import type { StatsRegistry } from './registry.ts';

/** How often a thread reports its statistics. */
const REPORT_MS = 1_000;

/** Suffixes of the counters of opened and of closed connections. */
const CONNECTIONS = '.cx_active';
const CLOSED = '.cx_local_close';

/** The changes of the statistics of a thread: of its counters, the new values of its gauges, and what its timers recorded. */
interface StatsChange {
  readonly counters: readonly (readonly [name: string, growth: number])[];
  readonly gauges: readonly (readonly [name: string, value: number])[];
  readonly timers: readonly (readonly [name: string, growth: Recorded])[];
}

/** The message of every kind of thread with the changes of its statistics since the last message. */
export interface ThreadStats {
  readonly kind: 'stats';
  readonly stats: StatsChange;
}

/** Runs in a thread: reports what the thread has counted, every second and on request. */
export class StatsReporter<Other = never> {
  readonly #changes: StatsChanges;
  readonly #clock: Clock;
  readonly #post: (message: ThreadStats | Other) => void;
  readonly #others: () => Iterable<Other>;
  #timer: Timer | null = null;
  /** Called when everything is reported that the thread had counted before. */
  #requests: (() => void)[] = [];
  #isReporting = false;
  #stopped = false;

  /**
   * @param post sends a message to the thread that adds up the statistics of all threads
   * @param others makes messages about what the thread counts beside its statistics; other work runs between them
   */
  constructor(
    stats: StatsRegistry,
    clock: Clock,
    post: (message: ThreadStats | Other) => void,
    others: () => Iterable<Other> = () => [],
  ) {
    this.#changes = new StatsChanges(stats);
    this.#clock = clock;
    this.#post = post;
    this.#others = others;
  }

  /** Reports changes now and every second. */
  start(): void {
    void this.#report();
    this.#timer = this.#clock.after(REPORT_MS, () => this.start());
  }

  /** Reports changes now, and calls `reported` when everything is reported that was counted until now. */
  requested(reported: () => void): void {
    this.#requests.push(reported);
    void this.#report();
  }

  /** Reports the last changes, immediately. */
  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#postChanges();
    for (const other of this.#others()) this.#post(other);
    for (const reported of this.#requests) reported();
  }

  async #report(): Promise<void> {
    if (this.#isReporting) return;
    this.#isReporting = true;
    do {
      const requests = this.#requests;
      this.#requests = [];
      this.#postChanges();
      for (const other of this.#others()) {
        this.#post(other);
        await nextTurn();
        if (this.#stopped) return;
      }
      for (const reported of requests) reported();
      // A request that arrived meanwhile needs a report that begins after it.
    } while (this.#requests.length > 0);
    this.#isReporting = false;
  }

  #postChanges(): void {
    const stats = this.#changes.take();
    if (stats !== null) this.#post({ kind: 'stats', stats });
  }
}

/** The changes of the statistics of a thread. */
class StatsChanges {
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

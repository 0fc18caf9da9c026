import type { Clock, Timer } from '../base/clock.ts';
import type { ThreadStats } from '../decision/pool/thread-messages.ts';
import type { StatsRegistry } from '../stats/registry.ts';

/** How old what the other threads know may be. */
const REPORT_MS = 1_000;

/** Ends of the names of open connections, and of those that were closed. */
const CONNECTIONS = '.cx_active';
const CLOSED = '.cx_local_close';

type Change = Pick<ThreadStats, 'counters' | 'gauges'>;

/** In a thread of the pool: tells the statistics of its store, when they have changed. */
export class StatsReporter {
  readonly #stats: StatsRegistry;
  readonly #clock: Clock;
  readonly #tell: (change: Change) => void;
  readonly #totals = new Map<string, number>();
  readonly #values = new Map<string, number>();
  #timer: Timer | null = null;

  constructor(stats: StatsRegistry, clock: Clock, tell: (change: Change) => void) {
    this.#stats = stats;
    this.#clock = clock;
    this.#tell = tell;
  }

  /** Tells what has changed, now and every second. */
  start(): void {
    this.#report();
    this.#timer = this.#clock.after(REPORT_MS, () => this.start());
  }

  /** Tells it once more. */
  stop(): void {
    this.#timer?.cancel();
    this.#report();
  }

  #report(): void {
    const counters: [string, number][] = [];
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
    if (counters.length > 0 || gauges.length > 0) this.#tell({ counters, gauges });
  }
}

/** Adds what the threads of the pool tell to the statistics of the process. */
export class ThreadsStats {
  readonly #stats: StatsRegistry;
  /** By name: the value in each thread. */
  readonly #gauges = new Map<string, Map<number, number>>();

  constructor(stats: StatsRegistry) {
    this.#stats = stats;
  }

  told({ threadId, counters, gauges }: ThreadStats): void {
    for (const [name, growth] of counters) this.#stats.counter(name).add(growth);
    for (const [name, value] of gauges) this.#valuesOf(name).set(threadId, value);
  }

  /** A thread that is gone has no gauges any more. What it counted stays. Its connections were closed with it. */
  ended(threadId: number): void {
    for (const [name, values] of this.#gauges) {
      const value = values.get(threadId) ?? 0;
      values.delete(threadId);
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

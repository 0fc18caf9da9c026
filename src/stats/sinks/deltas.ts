import { BOUNDS_MS, type Histogram } from '../histogram.ts';
import { GrowingNumbers, NameHash, NameIndex } from './off-heap.ts';

/**
 * After this many flushes names that have not come since are forgotten. More than one: while rules are replaced, a flush
 * may miss the names of rules, which would otherwise begin at 0 with the next.
 */
const FLUSHES_KEPT = 8;

/** Totals by name. */
class Totals {
  readonly index = new NameIndex();
  readonly values = new GrowingNumbers();

  get(hash: NameHash): number {
    const number = this.index.find(hash);
    return number < 0 ? 0 : this.values.get(number);
  }
}

/** How much counters have grown since they were asked for last: statsd is sent differences. One for each sink. */
export class CounterDeltas {
  /** Names of this span of flushes, and of the one before. A name that comes again moves from the latter. */
  #current = new Totals();
  #before = new Totals();
  #flushes = 0;
  readonly #hash = new NameHash();

  /** What was added to `total` since the last call with this name; all of it where it began again meanwhile. */
  take(name: string, total: number): number {
    const hash = this.#hash.of(name);
    const { index, values } = this.#current;
    const number = index.add(hash);
    let last: number;
    if (number === values.length) {
      last = this.#before.get(hash);
      values.push(total);
    } else {
      last = values.get(number);
      values.set(number, total);
    }
    return total < last ? total : total - last;
  }

  /** Every counter that there is was asked for. */
  flushed(): void {
    this.#flushes++;
    if (this.#flushes % FLUSHES_KEPT !== 0) return;
    this.#before = this.#current;
    this.#current = new Totals();
  }
}

/** Durations that lie close to each other: how many, and their mean. */
export interface Durations {
  readonly count: number;
  readonly meanMs: number;
}

interface Seen {
  readonly counts: Float64Array;
  readonly sumsMs: Float64Array;
}

/** What timers have recorded since they were asked for last. */
export class TimerDeltas {
  readonly #seen = new Map<string, Seen>();

  /** One for each bucket that has grown: a line for each call would be a line for each decision. */
  *take(name: string, timer: Histogram): Iterable<Durations> {
    let seen = this.#seen.get(name);
    if (seen === undefined) {
      seen = {
        counts: new Float64Array(BOUNDS_MS.length + 1),
        sumsMs: new Float64Array(BOUNDS_MS.length + 1),
      };
      this.#seen.set(name, seen);
    }
    for (let bucket = 0; bucket < timer.counts.length; bucket++) {
      const count = timer.counts[bucket] - seen.counts[bucket];
      if (count <= 0) continue;
      const meanMs = (timer.sumsMs[bucket] - seen.sumsMs[bucket]) / count;
      seen.counts[bucket] = timer.counts[bucket];
      seen.sumsMs[bucket] = timer.sumsMs[bucket];
      yield { count, meanMs };
    }
  }
}

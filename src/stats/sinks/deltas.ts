import { BOUNDS_MS, type Histogram } from '../histogram.ts';
import { GrowingNumbers, NameHash, NameIndex } from './off-heap.ts';

/**
 * Names that have not appeared for this many flushes are forgotten. A flush during a rule reload may miss names of
 * rules. With a value of 1, their next total would be sent in full.
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

/** Computes how much counters have grown since the last flush, because statsd expects differences. One per sink. */
export class CounterDeltas {
  /** Names of the current period of {@link FLUSHES_KEPT} flushes, and of the previous period. */
  #current = new Totals();
  #before = new Totals();
  #flushes = 0;
  readonly #hash = new NameHash();

  /** Returns the growth of `total` since the last call with this name; the whole total if the counter has restarted. */
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

  /** Called after every counter has been taken. */
  flushed(): void {
    this.#flushes++;
    if (this.#flushes % FLUSHES_KEPT !== 0) return;
    this.#before = this.#current;
    this.#current = new Totals();
  }
}

/** Durations of one bucket: their number and mean. */
export interface Durations {
  readonly count: number;
  readonly meanMs: number;
}

interface Seen {
  readonly counts: Float64Array;
  readonly sumsMs: Float64Array;
}

/** Computes what timers have recorded since the last flush. */
export class TimerDeltas {
  readonly #seen = new Map<string, Seen>();

  /** Yields one item per bucket that has grown. One item per recorded duration would mean one line per decision. */
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

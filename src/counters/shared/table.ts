import { threadId } from 'node:worker_threads';
import { afterRefund } from '../slot-changes.ts';

/**
 * Counters in shared memory, exact over all threads of the process.
 *
 * The table is cut into regions, each behind one lock word. A key belongs to one region and there to two buckets of
 * eight cells; it lives in either. With twice as many cells as keys the fuller of two buckets practically never fills;
 * when both are full of live counters, the one whose window ends first gives way and is counted as evicted.
 *
 * Layout of the buffer:
 *
 *     header  Int32 × 16      see HEADER
 *     locks   Int32 × regions 0 free, else one more than the number of the thread that holds it
 *     cells   Int32 × 4       three words of the fingerprint, second in which the counter expires (unsigned)
 *     counts  Float64         hits, exact to 2^53
 *
 * A lock is held for some tens of nanoseconds and nothing in between can throw. Counts are doubles behind a lock
 * rather than atomics: a limit may be 2^32 - 1, so a count needs more than 32 bits, and holding back (several counters
 * of one request changed together or not at all) needs the lock anyhow.
 */
export class CounterTable {
  readonly buffer: SharedArrayBuffer;
  readonly #header: Int32Array;
  readonly #locks: Int32Array;
  readonly #cells: Int32Array;
  readonly #counts: Float64Array;
  readonly #regionMask: number;

  private constructor(buffer: SharedArrayBuffer) {
    this.buffer = buffer;
    this.#header = new Int32Array(buffer, 0, HEADER_WORDS);
    const regions = this.#header[HEADER.regions];
    this.#regionMask = regions - 1;
    this.#locks = new Int32Array(buffer, HEADER_WORDS * 4, regions);
    const cellsAt = align8((HEADER_WORDS + regions) * 4);
    const cells = regions * REGION_CELLS;
    this.#cells = new Int32Array(buffer, cellsAt, cells * 4);
    this.#counts = new Float64Array(buffer, cellsAt + cells * 16, cells);
  }

  /** A table with room for `maxKeys` live counters: 48 bytes each, touched only as they are used. */
  static create(maxKeys: number): CounterTable {
    let regions = 2;
    while (regions * REGION_CELLS < maxKeys * 2) regions *= 2;
    const bytes = align8((HEADER_WORDS + regions) * 4) + regions * REGION_CELLS * 24;
    const buffer = new SharedArrayBuffer(bytes);
    const header = new Int32Array(buffer, 0, HEADER_WORDS);
    header[HEADER.regions] = regions;
    return new CounterTable(buffer);
  }

  /** The same counters seen from another thread. */
  static attach(buffer: SharedArrayBuffer): CounterTable {
    return new CounterTable(buffer);
  }

  /** Live counters that gave way to others since the table was made. */
  get evicted(): number {
    return Atomics.load(this.#header, HEADER.evicted) >>> 0;
  }

  get regionCount(): number {
    return this.#regionMask + 1;
  }

  /** The region that a key with this first fingerprint word belongs to. */
  regionOf(printA: number): number {
    return printA & this.#regionMask;
  }

  /**
   * Takes the lock of a region. Waits in steps of a millisecond once spinning did not help. A holder that has not let go
   * for a second was ended in between, and the thread that should see to that (see `releaseLocksOf`) may be waiting here
   * itself: then the lock is taken over, by one of those that wait.
   */
  lock(region: number): void {
    const locks = this.#locks;
    for (let spin = 0; spin < SPINS; spin++) {
      if (Atomics.compareExchange(locks, region, 0, HOLDER) === 0) return;
    }
    let holder = 0;
    let waitedMs = 0;
    for (;;) {
      const found = Atomics.compareExchange(locks, region, 0, HOLDER);
      if (found === 0) return;
      waitedMs = found === holder ? waitedMs + 1 : 0;
      holder = found;
      if (waitedMs >= TAKE_OVER_MS && Atomics.compareExchange(locks, region, found, HOLDER) === found) return;
      Atomics.wait(locks, region, found, 1);
    }
  }

  /** Does nothing when another thread has taken the lock over. */
  unlock(region: number): void {
    Atomics.compareExchange(this.#locks, region, HOLDER, 0);
  }

  /** Lets go of every lock that a thread held when it was ended. */
  releaseLocksOf(thread: number): void {
    for (let region = 0; region < this.#locks.length; region++) {
      Atomics.compareExchange(this.#locks, region, thread + 1, 0);
    }
  }

  /**
   * The cell of a key, made when there is none. The region must be locked.
   * A new cell counts from 0 and expires at `expiryS`; one that is there keeps the later of both ends.
   * Returns -1 when both buckets are full of cells that must be kept.
   * @param kept cells that must not give way: those that the request in hand has claimed already
   */
  claim(print: CellPrint, nowS: number, expiryS: number, kept: readonly number[] = NONE): number {
    const { a, b, c } = print;
    const base = this.regionOf(a) * REGION_CELLS;
    const first = base + (b & BUCKET_MASK) * BUCKET_CELLS;
    const second = base + (c & BUCKET_MASK) * BUCKET_CELLS;
    const cells = this.#cells;
    let free = -1;
    let freeInFirst = 0;
    let freeInSecond = 0;
    let soonest = -1;
    let soonestEnd = Number.POSITIVE_INFINITY;
    for (let half = 0; half < 2; half++) {
      const start = half === 0 ? first : second;
      for (let cell = start; cell < start + BUCKET_CELLS; cell++) {
        const at = cell * 4;
        const end = cells[at + 3] >>> 0;
        if (end <= nowS) {
          if (half === 0) freeInFirst++;
          else freeInSecond++;
          // The emptier bucket takes a new key: that is what keeps two choices from filling up.
          if (free < 0 || (half === 1 && freeInSecond > freeInFirst)) free = cell;
          continue;
        }
        if (cells[at] === a && cells[at + 1] === b && cells[at + 2] === c) {
          if (expiryS > end) cells[at + 3] = expiryS;
          return cell;
        }
        if (end < soonestEnd && !kept.includes(cell)) {
          soonest = cell;
          soonestEnd = end;
        }
      }
    }
    if (free < 0) {
      if (soonest < 0) return -1;
      free = soonest;
      Atomics.add(this.#header, HEADER.evicted, 1);
    }
    cells[free * 4] = a;
    cells[free * 4 + 1] = b;
    cells[free * 4 + 2] = c;
    cells[free * 4 + 3] = expiryS;
    this.#counts[free] = 0;
    return free;
  }

  /** Hands over every counter of a region that has not expired. The region must be locked. */
  eachLive(
    region: number,
    nowS: number,
    take: (print: CellPrint, expiryS: number, count: number) => void,
  ): void {
    const cells = this.#cells;
    const print = { a: 0, b: 0, c: 0 };
    for (let cell = region * REGION_CELLS; cell < (region + 1) * REGION_CELLS; cell++) {
      const at = cell * 4;
      const end = cells[at + 3] >>> 0;
      if (end <= nowS) continue;
      print.a = cells[at];
      print.b = cells[at + 1];
      print.c = cells[at + 2];
      take(print, end, this.#counts[cell]);
    }
  }

  /** The cell of a key that has a count, or -1. The region must be locked. */
  find({ a, b, c }: CellPrint, nowS: number): number {
    const cells = this.#cells;
    const base = this.regionOf(a) * REGION_CELLS;
    for (const bucket of [b & BUCKET_MASK, c & BUCKET_MASK]) {
      const start = base + bucket * BUCKET_CELLS;
      for (let cell = start; cell < start + BUCKET_CELLS; cell++) {
        const at = cell * 4;
        const isKey = cells[at] === a && cells[at + 1] === b && cells[at + 2] === c;
        if (isKey && cells[at + 3] >>> 0 > nowS) return cell;
      }
    }
    return -1;
  }

  /** The count of a cell. */
  count(cell: number): number {
    return this.#counts[cell];
  }

  /** Adds to a claimed cell and returns the count after it, held at 2^53 - 1. */
  add(cell: number, hits: number): number {
    const after = Math.min(this.#counts[cell] + hits, Number.MAX_SAFE_INTEGER);
    this.#counts[cell] = after;
    return after;
  }

  /** Takes hits off a cell, as many as there are, and returns the count after it. */
  giveBack(cell: number, hits: number): number {
    const after = afterRefund(this.#counts[cell], hits);
    this.#counts[cell] = after;
    return after;
  }
}

/** The words that find a cell; see `Fingerprinter`. */
export interface CellPrint {
  readonly a: number;
  readonly b: number;
  readonly c: number;
}

const NONE: readonly number[] = [];
const HEADER_WORDS = 16;
const HEADER = { regions: 0, evicted: 1 } as const;
const BUCKET_CELLS = 8;
const REGION_BUCKETS = 128;
const BUCKET_MASK = REGION_BUCKETS - 1;
/** Counters that a region has room for. */
export const REGION_CELLS = BUCKET_CELLS * REGION_BUCKETS;
/** What a lock word holds while this thread has the lock. */
const HOLDER = threadId + 1;
const SPINS = 200;
const TAKE_OVER_MS = 1_000;

function align8(bytes: number): number {
  return (bytes + 7) & ~7;
}

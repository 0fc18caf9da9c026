import { afterRefund } from '../slot-changes.ts';
import type { CellPrint, StoredCounter } from './cell.ts';
import { LeaseBook } from './lease-book.ts';
import { Locks } from './locks.ts';

/**
 * Counters in shared memory, exact across all threads of the process.
 *
 * The table consists of regions, each with a lock word. A key belongs to one region, and can be in either of two buckets
 * of eight cells there. With twice as many cells as keys, both buckets of a key are practically never full. If they are
 * full of live counters, one counter is evicted (see {@link CounterTable.claim}).
 *
 * A region starts with two buckets and doubles them when they are crowded, up to 128. Cells are laid out bucket by
 * bucket, not region by region, so that the memory in use is the beginning of each array and grows with the counters.
 *
 * Layout of the buffer:
 *
 *     header  Int32 × 16      see HEADER
 *     locks   Int32 × regions see {@link Locks}
 *     sizes   Int32 × regions number of buckets, a power of two; 0 stands for the initial two
 *     cells   Int32 × 4       three words of the fingerprint, second in which the counter expires (unsigned)
 *     counts  Float64         hits, exact to 2^53
 *     extras  Float64         for sliding windows and token buckets, see `cell-states.ts`; 0 for a plain count. This part
 *                             is not used, and takes no memory, until the first of them is written
 *     leases                  see {@link LeaseBook}; takes no memory until there are any
 *
 * A lock is held for tens of nanoseconds, or for microseconds while a region grows, and nothing throws meanwhile. Counts
 * are doubles behind a lock rather than atomics: a limit may be 2^53 - 1, so a count needs more than 32 bits, and holding
 * back changes several counters together, which needs the locks anyway.
 */
export class CounterTable {
  readonly buffer: SharedArrayBuffer;
  /** The leases of keys of the table: a quarter as many as keys. */
  readonly leases: LeaseBook;
  readonly #header: Int32Array;
  readonly #locks: Locks;
  readonly #sizes: Int32Array;
  readonly #cells: Int32Array;
  readonly #counts: Float64Array;
  readonly #extras: Float64Array;
  readonly #regionMask: number;
  /** Number of cells between two consecutive buckets of a region. */
  readonly #stride: number;

  private constructor(buffer: SharedArrayBuffer) {
    this.buffer = buffer;
    this.#header = new Int32Array(buffer, 0, HEADER_WORDS);
    const regions = this.#header[HEADER.regions];
    this.#regionMask = regions - 1;
    this.#stride = regions * BUCKET_CELLS;
    this.#locks = new Locks(new Int32Array(buffer, HEADER_WORDS * 4, regions));
    this.#sizes = new Int32Array(buffer, (HEADER_WORDS + regions) * 4, regions);
    const cells = regions * REGION_CELLS;
    this.#cells = new Int32Array(buffer, cellsAt(regions), cells * 4);
    this.#counts = new Float64Array(buffer, cellsAt(regions) + cells * 16, cells);
    this.#extras = new Float64Array(buffer, cellsAt(regions) + cells * 24, cells);
    this.leases = new LeaseBook(buffer, cellsAt(regions) + cells * 32, leasesOf(regions));
  }

  /**
   * Creates a table for `maxKeys` live counters: 48 bytes each, or 64 once there are sliding windows or token buckets.
   * Memory is used only as counters are created.
   */
  static create(maxKeys: number): CounterTable {
    let regions = 2;
    while (regions * REGION_CELLS < maxKeys * 2) regions *= 2;
    const tableBytes = cellsAt(regions) + regions * REGION_CELLS * 32;
    const buffer = new SharedArrayBuffer(tableBytes + LeaseBook.bytes(leasesOf(regions)));
    const header = new Int32Array(buffer, 0, HEADER_WORDS);
    header[HEADER.regions] = regions;
    return new CounterTable(buffer);
  }

  /** The table of another thread, from its {@link buffer}. */
  static attach(buffer: SharedArrayBuffer): CounterTable {
    return new CounterTable(buffer);
  }

  /** Number of live counters that were evicted since the table was created. */
  get evicted(): number {
    return Atomics.load(this.#header, HEADER.evicted) >>> 0;
  }

  /** Whether the table has held sliding windows or token buckets. */
  get hasExtras(): boolean {
    return this.#header[HEADER.hasExtras] === 1;
  }

  get regionCount(): number {
    return this.#regionMask + 1;
  }

  /** The region that a key with this first fingerprint word belongs to. */
  regionOf(printA: number): number {
    return printA & this.#regionMask;
  }

  /** Locks a region; see {@link Locks.lock}. */
  lock(region: number): void {
    this.#locks.lock(region);
  }

  /** Unlocks a region. Does nothing if another thread has taken the lock over. */
  unlock(region: number): void {
    this.#locks.unlock(region);
  }

  /** Releases all locks that a thread held when it was terminated. */
  releaseLocksOf(thread: number): void {
    this.#locks.releaseLocksOf(thread);
    this.leases.releaseLocksOf(thread);
  }

  /**
   * Returns the cell of a key, and creates it if it does not exist. The region must be locked. A new cell counts from 0 and
   * expires at `expiryS`; an existing cell keeps the later of both expiries.
   *
   * If the table is full, the counter with the fewest hits is evicted; of several, the one whose window ends closest to
   * that of the new counter. A flood of keys with one hit each therefore evicts its own keys, and spares counters near
   * their limits, whatever their windows. Cells with penalties are evicted last, but only as long as they are at most half
   * of the cells of both buckets.
   *
   * Returns -1 when both buckets are full of cells that must be kept.
   * @param kept cells that must not be evicted: those that the current request has already claimed. Cells that move
   *   because the region grows are renumbered in this array
   */
  claim(print: CellPrint, nowS: number, expiryS: number, kept: number[] = NONE_KEPT): number {
    const { a, b, c } = print;
    const region = this.regionOf(a);
    const size = this.#sizeOf(region);
    const first = this.#bucketStart(region, b & (size - 1));
    const second = this.#bucketStart(region, c & (size - 1));
    const cells = this.#cells;
    let free = -1;
    let freeInFirst = 0;
    let freeInSecond = 0;
    for (let half = 0; half < 2; half++) {
      const start = half === 0 ? first : second;
      for (let cell = start; cell < start + BUCKET_CELLS; cell++) {
        const at = cell * 4;
        const end = cells[at + 3] >>> 0;
        if (end <= nowS) {
          if (half === 0) freeInFirst++;
          else freeInSecond++;
          // A new key goes into the emptier bucket, which keeps both buckets from filling up.
          if (free < 0 || (half === 1 && freeInSecond > freeInFirst)) free = cell;
        } else if (cells[at] === a && cells[at + 1] === b && cells[at + 2] === c) {
          if (expiryS > end) cells[at + 3] = expiryS;
          return cell;
        }
      }
    }
    if (freeInFirst + freeInSecond <= CROWDED && size < REGION_BUCKETS) {
      this.#grow(region, nowS, kept);
      return this.claim(print, nowS, expiryS, kept);
    }
    if (free < 0) free = this.#evict(first, second, expiryS, kept);
    if (free < 0) return -1;
    cells[free * 4] = a;
    cells[free * 4 + 1] = b;
    cells[free * 4 + 2] = c;
    cells[free * 4 + 3] = expiryS;
    this.#counts[free] = 0;
    if (this.hasExtras && this.#extras[free] !== 0) this.#extras[free] = 0;
    return free;
  }

  /**
   * Reads the memory of both buckets of a key, without the lock. The processor loads what several keys need at the same
   * time, whereas it waits at each lock. Returns a number without meaning, which keeps the reads from being optimized away.
   */
  touch(a: number, b: number, c: number): number {
    const region = this.regionOf(a);
    const mask = this.#sizeOf(region) - 1;
    const first = this.#bucketStart(region, b & mask);
    const second = this.#bucketStart(region, c & mask);
    const cells = this.#cells;
    // The cells of a bucket are two cache lines, and its counts are one.
    const ofFirst = cells[first * 4] ^ cells[first * 4 + LINE_WORDS] ^ this.#counts[first];
    return ofFirst ^ cells[second * 4] ^ cells[second * 4 + LINE_WORDS] ^ this.#counts[second];
  }

  /** Calls `take` for each live counter of a region. The region must be locked. */
  eachLive(region: number, nowS: number, take: (print: CellPrint, counter: StoredCounter) => void): void {
    const cells = this.#cells;
    const print = { a: 0, b: 0, c: 0 };
    const { hasExtras } = this;
    for (let bucket = 0; bucket < this.#sizeOf(region); bucket++) {
      const start = this.#bucketStart(region, bucket);
      for (let cell = start; cell < start + BUCKET_CELLS; cell++) {
        const at = cell * 4;
        const end = cells[at + 3] >>> 0;
        if (end <= nowS) continue;
        print.a = cells[at];
        print.b = cells[at + 1];
        print.c = cells[at + 2];
        const extra = hasExtras ? this.#extras[cell] : 0;
        take(print, { expiryS: end, count: this.#counts[cell], extra });
      }
    }
  }

  /** The cell of a key, or -1 if it has no count. The region must be locked. */
  find(print: CellPrint, nowS: number): number {
    const cell = this.findLast(print, nowS);
    return cell >= 0 && this.expiryS(cell) > nowS ? cell : -1;
  }

  /** Like {@link find}, but also returns a cell that has expired, if no other counter has taken it. */
  findLast({ a, b, c }: CellPrint, nowS: number): number {
    const cells = this.#cells;
    const region = this.regionOf(a);
    const mask = this.#sizeOf(region) - 1;
    let expired = -1;
    for (let half = 0; half < 2; half++) {
      const start = this.#bucketStart(region, (half === 0 ? b : c) & mask);
      for (let cell = start; cell < start + BUCKET_CELLS; cell++) {
        const at = cell * 4;
        if (cells[at] !== a || cells[at + 1] !== b || cells[at + 2] !== c) continue;
        if (cells[at + 3] >>> 0 > nowS) return cell;
        expired = cell;
      }
    }
    return expired;
  }

  /** The count of a cell. */
  count(cell: number): number {
    return this.#counts[cell];
  }

  /** The second in which a cell expires. */
  expiryS(cell: number): number {
    return this.#cells[cell * 4 + 3] >>> 0;
  }

  /** The extra number of a cell. */
  extra(cell: number): number {
    return this.#extras[cell];
  }

  /** Replaces what a cell counts. */
  write(cell: number, expiryS: number, count: number, extra: number): void {
    this.#header[HEADER.hasExtras] = 1;
    this.#cells[cell * 4 + 3] = expiryS;
    this.#counts[cell] = count;
    this.#extras[cell] = extra;
  }

  /** Removes the counter of a cell. */
  remove(cell: number): void {
    this.#cells[cell * 4 + 3] = 0;
  }

  /** Adds hits to a cell, up to 2^53 - 1. Returns the sum, also if it is greater, and then over every limit. */
  add(cell: number, hits: number): number {
    const after = this.#counts[cell] + hits;
    this.#counts[cell] = Math.min(after, Number.MAX_SAFE_INTEGER);
    return after;
  }

  /** Subtracts hits from a cell, down to 0, and returns the new count. */
  giveBack(cell: number, hits: number): number {
    const after = afterRefund(this.#counts[cell], hits);
    this.#counts[cell] = after;
    return after;
  }

  /** Number of buckets of a region. */
  #sizeOf(region: number): number {
    return this.#sizes[region] || FIRST_BUCKETS;
  }

  /** Index of the first cell of a bucket. */
  #bucketStart(region: number, bucket: number): number {
    return bucket * this.#stride + region * BUCKET_CELLS;
  }

  /**
   * Doubles the buckets of a region. Counters whose next fingerprint bit is set move from each bucket to the same
   * position in the new half. If a thread is terminated meanwhile, the old half is still complete: it is cleared only
   * after the new size is written. Each cell of the new half is written, so remains of an unfinished growth are
   * overwritten.
   */
  #grow(region: number, nowS: number, kept: number[]): void {
    const size = this.#sizeOf(region);
    const distance = size * this.#stride;
    const cells = this.#cells;
    const { hasExtras } = this;
    for (let bucket = 0; bucket < size; bucket++) {
      const start = this.#bucketStart(region, bucket);
      for (let cell = start; cell < start + BUCKET_CELLS; cell++) {
        const to = cell + distance;
        if (this.#moves(cell, bucket, size, nowS)) {
          cells.copyWithin(to * 4, cell * 4, cell * 4 + 4);
          this.#counts[to] = this.#counts[cell];
          if (hasExtras) this.#extras[to] = this.#extras[cell];
        } else cells[to * 4 + 3] = 0;
      }
    }
    Atomics.store(this.#sizes, region, size * 2);
    for (let bucket = 0; bucket < size; bucket++) {
      const start = this.#bucketStart(region, bucket);
      for (let cell = start; cell < start + BUCKET_CELLS; cell++) {
        if (cells[(cell + distance) * 4 + 3] !== 0) cells[cell * 4 + 3] = 0;
      }
    }
    for (let i = 0; i < kept.length; i++) {
      const cell = kept[i];
      const isHere = ((cell >> BUCKET_BITS) & this.#regionMask) === region && cell < distance;
      if (isHere && cell >= 0 && cells[(cell + distance) * 4 + 3] !== 0) kept[i] = cell + distance;
    }
  }

  /** Whether a cell holds a live counter that belongs to the new half when `size` buckets are doubled. */
  #moves(cell: number, bucket: number, size: number, nowS: number): boolean {
    const cells = this.#cells;
    const at = cell * 4;
    if (cells[at + 3] >>> 0 <= nowS) return false;
    const isByFirst = (cells[at + 1] & (size - 1)) === bucket;
    return (cells[at + (isByFirst ? 1 : 2)] & size) !== 0;
  }

  /** Chooses the cell to evict from two full buckets; -1 if all of them must be kept. */
  #evict(first: number, second: number, expiryS: number, kept: readonly number[]): number {
    // Starts at a different cell each time, so that equal counters are evicted with equal probability.
    const turn = this.evicted;
    const protectedCells = this.#protectedIn(first) + this.#protectedIn(second);
    const fewestAllowed = protectedCells > BUCKET_CELLS ? LEAST_PROTECTED * PROTECTION : 0;
    let evicted = -1;
    let fewest = Number.POSITIVE_INFINITY;
    let closest = Number.POSITIVE_INFINITY;
    for (let i = turn; i < turn + 2 * BUCKET_CELLS; i++) {
      const place = i % (2 * BUCKET_CELLS);
      const cell = place < BUCKET_CELLS ? first + place : second + place - BUCKET_CELLS;
      const hits = this.#isProtected(cell) ? this.#counts[cell] * PROTECTION : this.#counts[cell];
      if (hits > fewest || hits < fewestAllowed || kept.includes(cell)) continue;
      const apart = Math.abs((this.#cells[cell * 4 + 3] >>> 0) - expiryS);
      if (hits === fewest && apart >= closest) continue;
      evicted = cell;
      fewest = hits;
      closest = apart;
    }
    if (evicted >= 0) Atomics.add(this.#header, HEADER.evicted, 1);
    return evicted;
  }

  #protectedIn(bucket: number): number {
    let found = 0;
    for (let cell = bucket; cell < bucket + BUCKET_CELLS; cell++) {
      if (this.#isProtected(cell)) found++;
    }
    return found;
  }

  /** Whether a cell holds a penalty, as `penalty-cells.ts` tells it from a counter. */
  #isProtected(cell: number): boolean {
    return this.#counts[cell] >= LEAST_PROTECTED && this.hasExtras && this.#extras[cell] > 0;
  }
}

/** The count from which on a cell with an extra number above 0 holds a penalty. No sliding window gets that many hits. */
export const LEAST_PROTECTED = 2 ** 52;

/** Makes the counts of protected cells greater than those of all counters, which are at most 2^53. */
const PROTECTION = 4;

/** No cells that must not be evicted. */
export const NONE_KEPT: number[] = [];
const HEADER_WORDS = 16;
const HEADER = { regions: 0, evicted: 1, hasExtras: 2 } as const;
const BUCKET_BITS = 3;
const BUCKET_CELLS = 1 << BUCKET_BITS;
/** Words of a cache line. */
const LINE_WORDS = 16;
/** Initial and maximum number of buckets of a region. */
const FIRST_BUCKETS = 2;
const REGION_BUCKETS = 128;
/** Two buckets with at most this many free cells, out of sixteen, are crowded, and the region grows. */
const CROWDED = 1;
/** Maximum number of cells in a region. */
export const REGION_CELLS = BUCKET_CELLS * REGION_BUCKETS;

/** Maximum number of leases, which is a power of two. */
function leasesOf(regions: number): number {
  return Math.max(4_096, (regions * REGION_CELLS) / 8);
}

/** Offset of the cells in bytes, aligned so that a bucket fills two cache lines. */
function cellsAt(regions: number): number {
  return ((HEADER_WORDS + 2 * regions) * 4 + 63) & ~63;
}

/**
 * A bound on a number of units (requests, bytes, connections) that several threads use together.
 *
 * Half of the units are divided among the threads: each thread may always use its guaranteed part, and needs no shared
 * memory for it. The other half is a pool from which threads reserve units when they need more.
 *
 * Layout of the memory, one cache line of Int32 words for each place:
 *
 *     isGuaranteed   1 if the thread at this place has a guaranteed part; written by the owner
 *     reserved       units that the thread has reserved from the pool, divided by `scale`; written by the thread
 *
 * To reserve units, a thread first writes its larger reservation, and then adds up the reservations of all places. If
 * the sum exceeds the pool, the thread takes its reservation back. Of several threads that reserve at the same moment,
 * the one that writes last sees all reservations. So the sum of what threads may use never exceeds the bound. At worst,
 * several threads that compete for the last units are all refused.
 *
 * A thread can be terminated between any two instructions. Nobody else writes its reservation while it runs, and the
 * owner clears it afterwards.
 */
const IS_GUARANTEED = 0;
const RESERVED = 1;
const LINE_WORDS = 16;

const MAX_INT32 = 0x7fff_ffff;

/**
 * Threads reserve this fraction of the bound more than they need, and keep up to twice as much before they return any.
 * So a thread touches shared memory once for many units. Bounds below 256 are reserved unit by unit.
 */
const STEP = 1 / 256;

/** The access of one thread to a bound. It can be sent to the thread. */
export interface BoundSeat {
  readonly max: number;
  /** Number of threads that have a guaranteed part. */
  readonly threads: number;
  readonly memory: Int32Array<SharedArrayBuffer>;
  readonly place: number;
}

/** A bound that threads share, as seen by the thread that starts and ends the others. */
export class SharedBound {
  readonly #max: number;
  readonly #threads: number;
  readonly #memory: Int32Array<SharedArrayBuffer>;
  readonly #taken = new Set<number>();

  /**
   * @param max maximum number of units of all threads together
   * @param threads number of threads that use the bound at the same time
   */
  constructor(max: number, threads: number) {
    this.#max = max;
    this.#threads = threads;
    // A thread may start before the one that it replaces has exited.
    this.#memory = new Int32Array(new SharedArrayBuffer(2 * threads * LINE_WORDS * 4));
  }

  /**
   * Returns a seat for a thread that starts. Until the thread that it replaces has left, the thread has no guaranteed
   * part.
   *
   * @throws Error if many threads have joined and not left
   */
  join(): BoundSeat {
    const places = this.#memory.length / LINE_WORDS;
    let place = 0;
    while (this.#taken.has(place)) place++;
    if (place === places) throw new Error(`${places} threads use the bound; it is for ${this.#threads}`);
    this.#taken.add(place);
    this.#guarantee();
    return { max: this.#max, threads: this.#threads, memory: this.#memory, place };
  }

  /** Frees what a thread used. Call when the thread executes nothing anymore. */
  left({ place }: BoundSeat): void {
    this.#taken.delete(place);
    Atomics.store(this.#memory, place * LINE_WORDS + RESERVED, 0);
    Atomics.store(this.#memory, place * LINE_WORDS + IS_GUARANTEED, 0);
    this.#guarantee();
  }

  /** Gives the guaranteed parts that nobody has to threads without one. */
  #guarantee(): void {
    const words = [...this.#taken].map(place => place * LINE_WORDS + IS_GUARANTEED);
    const without = words.filter(word => this.#memory[word] === 0);
    const free = this.#threads - (words.length - without.length);
    for (const word of without.slice(0, free)) Atomics.store(this.#memory, word, 1);
  }
}

/**
 * What one thread may use of a bound. The thread counts what it uses itself; asking costs a comparison, except when the
 * reservation of the thread has to change.
 */
export class Bound {
  /** Maximum number of units of all threads together. */
  readonly max: number;
  /** Null if this thread has the bound for itself. */
  readonly #seat: BoundSeat | null;
  /** Units in a unit of the shared memory, because there a number is below 2^31. */
  readonly #scale: number;
  /** Units that all threads together may reserve, divided by the scale. */
  readonly #pool: number;
  readonly #guaranteed: number;
  readonly #step: number;
  /** Units reserved from the pool, divided by the scale. */
  #reserved = 0;
  /** Units that this thread may use. */
  #usable: number;
  /** When the thread uses less than this, part of its reservation returns to the pool. */
  #low = 0;

  private constructor(max: number, seat: BoundSeat | null) {
    this.max = max;
    this.#seat = seat;
    this.#scale = Math.ceil(max / MAX_INT32);
    const threads = seat?.threads ?? 1;
    this.#guaranteed = Math.floor(max / (2 * threads));
    this.#pool = Math.floor((max - this.#guaranteed * threads) / this.#scale);
    this.#step = Math.floor(max * STEP);
    this.#usable = seat === null ? max : 0;
  }

  /** A bound that no other thread uses. */
  static ofOneThread(max: number): Bound {
    return new Bound(max, null);
  }

  /** What the thread at this seat may use. */
  static at(seat: BoundSeat): Bound {
    return new Bound(seat.max, seat);
  }

  /** Whether other threads use the bound as well. */
  get isShared(): boolean {
    return this.#seat !== null;
  }

  /** Whether this thread, which uses `used` units, may use more. */
  hasRoom(used: number): boolean {
    return used < this.#usable || (this.#seat !== null && this.#reserveBeyond(used, this.#seat));
  }

  /** Call when this thread uses fewer units than before: `used`. */
  freed(used: number): void {
    if (used < this.#low) this.#giveBack(used, this.#seat!);
  }

  #reserveBeyond(used: number, { memory, place }: BoundSeat): boolean {
    const line = place * LINE_WORDS;
    const guaranteed = Atomics.load(memory, line + IS_GUARANTEED) * this.#guaranteed;
    const missing = Math.floor(used) + 1 - guaranteed;
    const needed = Math.max(Math.ceil(missing / this.#scale), 0);
    if (needed > this.#reserved) {
      const free = this.#pool - (reservedOfAll(memory) - this.#reserved);
      if (needed > free) return false;
      const wanted = Math.min(needed + Math.floor(this.#step / this.#scale), free);
      Atomics.store(memory, line + RESERVED, wanted);
      if (reservedOfAll(memory) > this.#pool) {
        Atomics.store(memory, line + RESERVED, this.#reserved);
        return false;
      }
      this.#reserved = wanted;
    }
    this.#use(guaranteed);
    return true;
  }

  #giveBack(used: number, { memory, place }: BoundSeat): void {
    const line = place * LINE_WORDS;
    const guaranteed = Atomics.load(memory, line + IS_GUARANTEED) * this.#guaranteed;
    const kept = Math.ceil((Math.ceil(used) + this.#step - guaranteed) / this.#scale);
    this.#reserved = Math.min(Math.max(kept, 0), this.#reserved);
    this.#use(guaranteed);
    Atomics.store(memory, line + RESERVED, this.#reserved);
  }

  #use(guaranteed: number): void {
    this.#usable = guaranteed + this.#reserved * this.#scale;
    this.#low = this.#reserved === 0 ? 0 : this.#usable - 2 * this.#step;
  }
}

function reservedOfAll(memory: Int32Array): number {
  let sum = 0;
  for (let word = RESERVED; word < memory.length; word += LINE_WORDS) sum += Atomics.load(memory, word);
  return sum;
}

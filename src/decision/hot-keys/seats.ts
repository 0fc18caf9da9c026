import { SECOND_MS } from '../../base/clock.ts';
import { Columns } from './columns.ts';
import { RefusalTable } from './refusal-table.ts';
import { type Span, SpanSketch } from './span-sketch.ts';

/** Memory of a seat. Pages that are never written take no memory. */
const SEAT_BYTES = 6 * 1024 * 1024;

/** With more threads than seats, threads share them. A seat is in use for a few microseconds of each batch. */
const MOST_SEATS = 4;

/** A thread that holds a seat for longer than this has died. */
const LOST_AFTER_S = 10;

/** How often a reader tries to get a seat. Afterwards it reads nevertheless, and one key may be wrong. */
const READER_ATTEMPTS = 100_000;

/** The hot keys and last refusals that one or more threads recorded. Only the thread that has the lock may write. */
export class Seat {
  readonly spans: Readonly<Record<Span, SpanSketch>>;
  readonly refusals: RefusalTable;
  /** [0]: the second in which the seat was locked; 0 if it is free. */
  readonly #lock: Int32Array;

  constructor(buffer: SharedArrayBuffer) {
    const columns = new Columns(buffer);
    this.#lock = columns.int32(1);
    this.spans = { minute: new SpanSketch(columns, 'minute'), hour: new SpanSketch(columns, 'hour') };
    this.refusals = new RefusalTable(columns);
  }

  /** Locks the seat; false if another thread has it. */
  lock(nowMs: number): boolean {
    const nowS = Math.floor(nowMs / SECOND_MS) % 0x7fff_ffff || 1;
    const held = Atomics.compareExchange(this.#lock, 0, 0, nowS);
    if (held === 0) return true;
    if (Math.abs(nowS - held) <= LOST_AFTER_S) return false;
    return Atomics.compareExchange(this.#lock, 0, held, nowS) === held;
  }

  unlock(): void {
    Atomics.store(this.#lock, 0, 0);
  }

  /** Calls `read` while no other thread writes. */
  read<T>(nowMs: number, read: () => T): T {
    let locked = this.lock(nowMs);
    for (let attempt = 1; !locked && attempt < READER_ATTEMPTS; attempt++) locked = this.lock(nowMs);
    try {
      return read();
    } finally {
      if (locked) this.unlock();
    }
  }
}

/**
 * The memory for hot keys and last refusals. Each deciding thread records in its own seat as long as there are seats. If
 * another thread has the seat, it takes the next one.
 */
export class Seats {
  /** Pass this to other threads. */
  readonly buffers: readonly SharedArrayBuffer[];
  readonly all: readonly Seat[];

  constructor(buffers: readonly SharedArrayBuffer[]) {
    this.buffers = buffers;
    this.all = buffers.map(buffer => new Seat(buffer));
  }

  /** @param threads number of threads that decide */
  static create(threads: number): Seats {
    const count = Math.min(threads, MOST_SEATS);
    return new Seats(Array.from({ length: count }, () => new SharedArrayBuffer(SEAT_BYTES)));
  }

  /** Locks a seat, preferably the one of a thread; null if other threads have all seats. */
  lock(threadId: number, nowMs: number): Seat | null {
    for (let i = 0; i < this.all.length; i++) {
      const seat = this.all[(threadId + i) % this.all.length];
      if (seat.lock(nowMs)) return seat;
    }
    return null;
  }
}

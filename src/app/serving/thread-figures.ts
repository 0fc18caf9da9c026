import type { Clock, Timer } from '../../base/clock.ts';

/** The figures of one serving thread. */
interface ServingFigures {
  /** Number of open connections. */
  readonly connections: number;
  /** Number of requests that the thread has decided since it started. */
  readonly decisions: number;
  /** Share of the last second, 0 to 1, in which the thread was busy; 0 until its first second is over. */
  readonly busy: number;
}

const COLUMN = { connections: 0, decisions: 1, busy: 2 } as const;

/** Each thread writes its own row once a second. A row has a cache line of its own. */
const ROW = 8;

/** The figures of all serving threads, in memory that every thread can read. */
export class ThreadFigures {
  readonly #cells: Float64Array<SharedArrayBuffer>;

  private constructor(buffer: SharedArrayBuffer) {
    this.#cells = new Float64Array(buffer);
  }

  static create(threads: number): ThreadFigures {
    return new ThreadFigures(new SharedArrayBuffer(threads * ROW * Float64Array.BYTES_PER_ELEMENT));
  }

  /** The figures of another thread, from its {@link buffer}. */
  static attach(buffer: SharedArrayBuffer): ThreadFigures {
    return new ThreadFigures(buffer);
  }

  get buffer(): SharedArrayBuffer {
    return this.#cells.buffer;
  }

  set(thread: number, { connections, decisions, busy }: ServingFigures): void {
    const row = thread * ROW;
    this.#cells[row + COLUMN.connections] = connections;
    this.#cells[row + COLUMN.decisions] = decisions;
    this.#cells[row + COLUMN.busy] = busy;
  }

  /** Sets everything to 0, because the thread has ended. */
  clear(thread: number): void {
    this.set(thread, { connections: 0, decisions: 0, busy: 0 });
  }

  of(thread: number): ServingFigures {
    const row = thread * ROW;
    return {
      connections: this.#cells[row + COLUMN.connections],
      decisions: this.#cells[row + COLUMN.decisions],
      busy: this.#cells[row + COLUMN.busy],
    };
  }

  /** The figures of each thread, in order. */
  all(): ServingFigures[] {
    return Array.from({ length: this.#cells.length / ROW }, (_, thread) => this.of(thread));
  }
}

/** How often a thread writes its figures. */
const WRITE_MS = 1_000;

/** Writes the figures of this thread, every second and on request. */
export class FiguresWriter {
  readonly #figures: ThreadFigures;
  readonly #place: number;
  readonly #read: () => Omit<ServingFigures, 'busy'>;
  readonly #clock: Clock;
  readonly #busyShare: () => number;
  #busy = 0;
  #timer: Timer | null = null;

  /**
   * @param place the row of this thread
   * @param busyShare returns the share of the time, 0 to 1, that the thread was busy since the last call
   * @param read returns the present figures of this thread
   */
  constructor(
    figures: ThreadFigures,
    place: number,
    clock: Clock,
    busyShare: () => number,
    read: () => Omit<ServingFigures, 'busy'>,
  ) {
    this.#figures = figures;
    this.#place = place;
    this.#clock = clock;
    this.#busyShare = busyShare;
    this.#read = read;
  }

  start(): void {
    // The time until now was the start of the thread, in which it is always busy.
    this.#busyShare();
    this.#writeAndWait();
  }

  stop(): void {
    this.#timer?.cancel();
  }

  /** Writes the present figures. The busy share stays that of the last full second, and is 0 before the first. */
  write(): void {
    this.#figures.set(this.#place, { ...this.#read(), busy: this.#busy });
  }

  #writeAndWait(): void {
    this.write();
    this.#timer = this.#clock.after(WRITE_MS, () => {
      this.#busy = this.#busyShare();
      this.#writeAndWait();
    });
  }
}

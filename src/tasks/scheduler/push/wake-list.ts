import type { Clock, Timer } from '../../../base/clock.ts';

/** A worker that may have a task that is due then, by the store's clock. */
interface DueWorker {
  readonly tenant: string;
  readonly workerId: string;
  readonly at: number;
}

/** Beyond it workers are left to the hints of the store. */
const MAX_WORKERS = 100_000;

/**
 * Workers that are to be served in the near future, to the millisecond. Later times are left to the
 * hints of the store. A heap by time, in which a worker that got an earlier time leaves its former place behind.
 */
export class WakeList {
  readonly #clock: Clock;
  readonly #due: (worker: DueWorker) => void;
  /** The earliest time of each worker. */
  readonly #times = new Map<string, number>();
  readonly #heap: DueWorker[] = [];
  #timer: Timer | null = null;
  #timerAt = Number.POSITIVE_INFINITY;

  /**
   * @param clock of the store
   * @param due called at the time, once for the earliest of each worker
   */
  constructor(clock: Clock, due: (worker: DueWorker) => void) {
    this.#clock = clock;
    this.#due = due;
  }

  add(worker: DueWorker): void {
    const key = `${worker.tenant}\n${worker.workerId}`;
    const known = this.#times.get(key);
    if (known === undefined ? this.#times.size >= MAX_WORKERS : known <= worker.at) return;
    this.#times.set(key, worker.at);
    this.#push(worker);
    this.#arm();
  }

  clear(): void {
    this.#times.clear();
    this.#heap.length = 0;
    this.#arm();
  }

  #arm(): void {
    const at = this.#heap.length === 0 ? Number.POSITIVE_INFINITY : this.#heap[0].at;
    if (at === this.#timerAt) return;
    this.#timer?.cancel();
    this.#timerAt = at;
    this.#timer =
      at === Number.POSITIVE_INFINITY
        ? null
        : this.#clock.after(Math.max(0, at - this.#clock.nowMs()), this.#ring);
  }

  readonly #ring = (): void => {
    this.#timer = null;
    this.#timerAt = Number.POSITIVE_INFINITY;
    const nowMs = this.#clock.nowMs();
    while (this.#heap.length > 0 && this.#heap[0].at <= nowMs) {
      const worker = this.#pop();
      const key = `${worker.tenant}\n${worker.workerId}`;
      if (this.#times.get(key) !== worker.at) continue;
      this.#times.delete(key);
      this.#due(worker);
    }
    this.#arm();
  };

  #push(worker: DueWorker): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(worker);
    for (let up = (at - 1) >> 1; at > 0 && heap[up].at > worker.at; up = (at - 1) >> 1) {
      heap[at] = heap[up];
      at = up;
    }
    heap[at] = worker;
  }

  #pop(): DueWorker {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop() as DueWorker;
    if (heap.length === 0) return first;
    let at = 0;
    for (;;) {
      let down = 2 * at + 1;
      if (down + 1 < heap.length && heap[down + 1].at < heap[down].at) down++;
      if (down >= heap.length || heap[down].at >= last.at) break;
      heap[at] = heap[down];
      at = down;
    }
    heap[at] = last;
    return first;
  }
}

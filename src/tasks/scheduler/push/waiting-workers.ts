import type { Clock, Timer } from '../../../base/clock.ts';

/** A worker that may have a task that is due then, by the store's clock. */
interface DueWorker {
  readonly tenant: string;
  readonly workerId: string;
  readonly at: number;
}

interface WakeListParts {
  /** Of the store. */
  readonly clock: Clock;
  /** Called at the time, once for the earliest of each worker. */
  readonly due: (worker: DueWorker) => void;
}

/** Beyond it workers are left to the hints of the store. */
const MAX_WORKERS = 100_000;

/**
 * Workers that are to be served in the near future, to the millisecond. Later times are left to the
 * hints of the store. A heap by time, in which a worker that got an earlier time leaves its former place behind.
 */
export class WakeList {
  readonly #parts: WakeListParts;
  /** The earliest time of each worker. */
  readonly #times = new Map<string, number>();
  readonly #heap: DueWorker[] = [];
  #timer: Timer | null = null;
  #timerAt = Number.POSITIVE_INFINITY;

  constructor(parts: WakeListParts) {
    this.#parts = parts;
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
        : this.#parts.clock.after(Math.max(0, at - this.#parts.clock.nowMs()), this.#ring);
  }

  readonly #ring = (): void => {
    this.#timer = null;
    this.#timerAt = Number.POSITIVE_INFINITY;
    const nowMs = this.#parts.clock.nowMs();
    while (this.#heap.length > 0 && this.#heap[0].at <= nowMs) {
      const worker = this.#pop();
      const key = `${worker.tenant}\n${worker.workerId}`;
      if (this.#times.get(key) !== worker.at) continue;
      this.#times.delete(key);
      this.#parts.due(worker);
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

/** Workers of one tenant that wait, in order, and when the first is tried next. */
interface Line {
  readonly workers: Set<string>;
  timer: Timer | null;
}

interface TenantWaitersParts {
  readonly clock: Pick<Clock, 'after'>;
  /** It is this worker's turn to try again. */
  readonly wake: (tenant: string, workerId: string) => void;
}

/** A bucket of the tenant fills meanwhile, so waiting longer than for one token loses nothing and saves claims. */
const LEAST_WAIT_MS = 20;

/**
 * Workers with due tasks that a bound of their tenant keeps from starting. They try one after the other: one that finds
 * room wakes the next, and one that finds none waits again. So a tenant at its bound costs one claim, no matter how many
 * workers it has.
 */
export class TenantWaiters {
  readonly #parts: TenantWaitersParts;
  readonly #lines = new Map<string, Line>();

  constructor(parts: TenantWaitersParts) {
    this.#parts = parts;
  }

  /** The worker found no room; it may find some in `delayMs`. */
  wait(tenant: string, workerId: string, delayMs: number): void {
    let line = this.#lines.get(tenant);
    if (line === undefined) {
      line = { workers: new Set(), timer: null };
      this.#lines.set(tenant, line);
    }
    line.workers.add(workerId);
    line.timer ??= this.#parts.clock.after(Math.max(LEAST_WAIT_MS, delayMs), () => this.room(tenant));
  }

  /** There may be room for one. */
  room(tenant: string): void {
    const line = this.#lines.get(tenant);
    if (line === undefined) return;
    line.timer?.cancel();
    line.timer = null;
    const [workerId] = line.workers;
    line.workers.delete(workerId);
    if (line.workers.size === 0) this.#lines.delete(tenant);
    this.#parts.wake(tenant, workerId);
  }

  clear(): void {
    for (const line of this.#lines.values()) line.timer?.cancel();
    this.#lines.clear();
  }
}

/** Workers with tasks that are due and wait, and since when: for the statistics, exact to within the claims in between. */
export class DueWorkers {
  readonly #since = new Map<string, number>();

  /** The worker may have tasks that are due since then. */
  add(worker: string, since: number): void {
    if (!this.#since.has(worker)) this.#since.set(worker, since);
  }

  /** Tasks were started, the last of which had been due since `since`; more are due. */
  renew(worker: string, since: number | undefined): void {
    if (since !== undefined) this.#since.set(worker, since);
  }

  delete(worker: string): void {
    this.#since.delete(worker);
  }

  /** How long the oldest has waited; 0 when none waits. */
  oldestMs(nowMs: number): number {
    let oldest = nowMs;
    for (const since of this.#since.values()) if (since < oldest) oldest = since;
    return nowMs - oldest;
  }
}

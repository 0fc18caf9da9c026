import type { Timer } from '../../../base/clock.ts';

/** Workers of one tenant that wait, in order, and when the first is tried next. */
interface Line {
  readonly workers: Set<string>;
  timer: Timer | null;
}

interface TenantWaitersParts {
  readonly after: (delayMs: number, run: () => void) => Timer;
  /** It is this worker's turn to try again. */
  readonly wake: (tenant: string, workerId: string) => void;
}

/** A bucket of the tenant fills meanwhile, so waiting longer than for one token loses nothing and saves claims. */
const LEAST_WAIT_MS = 20;

/**
 * Workers with due tasks that a bound of their tenant keeps from starting. They try one after the other: whoever finds
 * room wakes the next, and whoever finds none waits again. So a tenant at its bound costs a claim, however many workers
 * it has.
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
    line.timer ??= this.#parts.after(Math.max(LEAST_WAIT_MS, delayMs), () => this.room(tenant));
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

import { backoffMs } from '../../base/backoff.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import { asError, Fault } from '../../base/fault.ts';
import type { Logger } from '../../base/logger.ts';
import { Outage, OutageLog } from '../../base/outage-log.ts';
import type { TaskStore } from '../store/task-store.ts';

export interface StoreOutageParts {
  readonly store: Pick<TaskStore, 'ping'>;
  readonly clock: Clock;
  /** From 0 to below 1. */
  readonly random: () => number;
  readonly logger: Logger;
}

const PROBES = { initialMs: 100, maxMs: 2_000 };

/** Where a write went well within this time, it is only a part of the store that fails, if it is. */
const PART_MS = 1_000;

/** The one part of an outage of the store. */
const STORE = 'store';

const OUTAGE_TEXTS = {
  level: 'error',
  began: 'The task store is unavailable; no task starts until it answers',
  over: 'The task store is available again',
  fields: {},
} as const;

/**
 * Whether the store takes calls. Once they fail, and none goes well, nothing is claimed and outcomes are held until it
 * answers again. The log says when that begins and when it is over.
 *
 * A call may also fail because a part of the store is away, such as a node of a cluster. Then only the tenants whose
 * calls fail wait, and try again every now and then.
 */
export class StoreOutage {
  readonly #parts: StoreOutageParts;
  readonly #over = new Set<() => void>();
  readonly #log: OutageLog;
  readonly #outage: Outage;
  #down = false;
  /** Failures since the last write that went well. */
  #failures = 0;
  #answeredMs = Number.NEGATIVE_INFINITY;
  #timer: Timer | null = null;
  #stopped = false;

  constructor(parts: StoreOutageParts) {
    this.#parts = parts;
    this.#log = new OutageLog(parts);
    this.#outage = new Outage(OUTAGE_TEXTS, this.#log, parts.clock);
  }

  get down(): boolean {
    return this.#down;
  }

  /** Called each time the store answers again. */
  onOver(run: () => void): void {
    this.#over.add(run);
  }

  /** A call failed. */
  failed(failure: unknown): void {
    this.#outage.callsFailed(1);
    const quietMs = this.#parts.clock.nowMs() - this.#answeredMs;
    if (this.#down || this.#stopped || (quietMs >= 0 && quietMs < PART_MS)) return;
    this.#down = true;
    this.#outage.lost(STORE, asError(failure).message);
    this.#outage.callsFailed(1);
    this.#probeLater();
  }

  /** A write went well: the next outage is a new one. */
  answered(): void {
    this.#answeredMs = this.#parts.clock.nowMs();
    if (!this.#down) this.#failures = 0;
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#log.stop();
  }

  #probeLater(): void {
    const { clock, random } = this.#parts;
    this.#timer = clock.after(backoffMs(PROBES, this.#failures++, random), () => void this.#probe());
  }

  async #probe(): Promise<void> {
    try {
      await this.#parts.store.ping();
    } catch {
      if (!this.#stopped) this.#probeLater();
      return;
    }
    this.#down = false;
    this.#outage.connected(STORE);
    for (const run of this.#over) run();
  }
}

/** True where the same call may go well later; anything else is a defect of ours. */
export function isOutage(failure: unknown): boolean {
  return failure instanceof Fault && (failure.code === 'store_failed' || failure.code === 'overloaded');
}

import { backoffMs } from '../../../base/backoff.ts';
import type { Timer } from '../../../base/clock.ts';
import { asError, Fault } from '../../../base/fault.ts';
import { StoreFault, troubleIn } from '../../store/trouble.ts';
import type { ThreadPart } from '../thread/tasks-thread.ts';
import type { Troubles } from './troubles.ts';

const PROBES = { initialMs: 100, maxMs: 2_000 };

/** If a write succeeded within this time, a failure concerns at most a part of the store. */
const PART_MS = 1_000;

/** How often the store is asked whether it takes what is written, while nothing is known to be wrong. */
const WATCH_MS = 2_500;

/** A store whose answer takes longer is unavailable, until it answers. */
const ANSWER_MS = 10_000;

/**
 * Whether the store is available. During an outage nothing is claimed, and results are held until the store answers again.
 * It is probed every few seconds, so that an outage is noticed before a call fails. A single failure pauses the claims, but
 * is not reported: it is a trouble only if the probe that follows at once fails as well.
 *
 * A call may also fail because a part of the store is unavailable, such as a node of a cluster. Then only the tenants whose
 * calls fail wait, and they retry from time to time.
 */
export class StoreOutage {
  readonly #thread: ThreadPart<'ping', 'clock' | 'random'>;
  readonly #troubles: Troubles;
  readonly #over = new Set<() => void>();
  #down = false;
  /** Calls that failed before the outage was reported. */
  #untoldCalls = 0;
  #isTold = false;
  /** Failures since the last write that went well. */
  #failures = 0;
  #answeredMs = Number.NEGATIVE_INFINITY;
  #timer: Timer | null = null;
  /** The question that is not answered yet. */
  #asked: Promise<void> | null = null;
  #stopped = false;

  constructor(thread: ThreadPart<'ping', 'clock' | 'random'>, troubles: Troubles) {
    this.#thread = thread;
    this.#troubles = troubles;
  }

  /** Begins to watch the store. */
  start(): void {
    this.#timer?.cancel();
    this.#timer = this.#thread.clock.after(WATCH_MS, () => void this.#watch());
  }

  get down(): boolean {
    return this.#down;
  }

  /** Called each time the store answers again. */
  onOver(run: () => void): void {
    this.#over.add(run);
  }

  /** A call failed. */
  failed(): void {
    const quietMs = this.#thread.clock.nowMs() - this.#answeredMs;
    const concernsPart = quietMs >= 0 && quietMs < PART_MS;
    if (!this.#down && !this.#stopped && !concernsPart) this.#lost();
    if (this.#isTold) this.#troubles.callsFailed('task_store', 1);
    else if (this.#down) this.#untoldCalls++;
  }

  /** A write went well: the next outage is a new one. */
  answered(): void {
    this.#answeredMs = this.#thread.clock.nowMs();
    if (!this.#down) this.#failures = 0;
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  #lost(): void {
    this.#down = true;
    this.#probeLater();
  }

  #tell(failure: unknown): void {
    const text = asError(failure).message;
    this.#troubles.began('task_store', { cause: troubleIn(failure), text });
    this.#isTold = true;
    this.#troubles.callsFailed('task_store', this.#untoldCalls);
    this.#untoldCalls = 0;
  }

  async #watch(): Promise<void> {
    try {
      await this.#ask();
    } catch (failure) {
      // A full queue is not an outage: the operations that wait in it are carried out.
      const isBusy = failure instanceof Fault && failure.code === 'overloaded';
      if (!this.#stopped && !this.#down && !isBusy) {
        // After a timeout, there was time enough for the store to answer.
        if (troubleIn(failure) === 'no_answer') this.#tell(failure);
        this.#lost();
      }
    }
    if (!this.#stopped && !this.#down) this.start();
  }

  #probeLater(): void {
    const { clock, random } = this.#thread;
    this.#timer?.cancel();
    this.#timer = clock.after(backoffMs(PROBES, this.#failures++, random), () => void this.#probe());
  }

  async #probe(): Promise<void> {
    try {
      await this.#ask();
    } catch (failure) {
      if (this.#stopped) return;
      this.#tell(failure);
      this.#probeLater();
      return;
    }
    this.#down = false;
    this.#isTold = false;
    this.#untoldCalls = 0;
    this.#troubles.over('task_store');
    for (const run of this.#over) run();
    if (!this.#stopped) this.start();
  }

  /** At most one ping is in flight, also while the store does not answer. */
  async #ask(): Promise<void> {
    const { store, clock } = this.#thread;
    this.#asked ??= store.ping().finally(() => {
      this.#asked = null;
    });
    const late = Promise.withResolvers<never>();
    const timer = clock.after(ANSWER_MS, () => {
      late.reject(new StoreFault('no_answer', `the task store has not answered within ${ANSWER_MS} ms`));
    });
    try {
      await Promise.race([this.#asked, late.promise]);
    } finally {
      timer.cancel();
    }
  }
}

/** True if the same call may succeed later. Any other failure is a bug. */
export function isOutage(failure: unknown): boolean {
  return failure instanceof Fault && (failure.code === 'store_failed' || failure.code === 'overloaded');
}

import { isPolicyOver, retryWaitMs } from '../../model/retry-policy.ts';
import { tellEnd } from '../../model/signals.ts';
import type { Actor, Task } from '../../model/task.ts';
import type { ExtendAnswer, Progress, SettleAnswer, Settlement } from '../../store/requests.ts';
import type { ThreadPart } from '../thread/tasks-thread.ts';

/** The outcome of an attempt, as its worker reports it. */
export type PullOutcome =
  | { readonly kind: 'complete'; readonly result: string | null }
  | {
      readonly kind: 'fail';
      readonly error: { readonly code: string; readonly message: string };
      /** False: the task fails for good. */
      readonly retry: boolean;
      /** Minimum delay until the next attempt; null for the delay of the policy. */
      readonly retryAfterMs: number | null;
    }
  | { readonly kind: 'release'; readonly delayMs: number };

type LeaseThread = ThreadPart<
  'settle' | 'extend' | 'leased',
  'directory' | 'signals' | 'statistics' | 'clock' | 'random'
>;

type Ending = Omit<Settlement, 'leaseId' | 'actor' | 'http' | 'throttleMs'>;

const NOTHING: Omit<Ending, 'event'> = { delayMs: 0, last: false, result: null, error: null };

/** Extends and ends the leases that pull workers hold. All methods reject with a Fault when the store fails. */
export class PullLeases {
  readonly #thread: LeaseThread;

  constructor(thread: LeaseThread) {
    this.#thread = thread;
  }

  /** Lengthens a lease to `extendMs` from now; null: to what the worker's leases have. */
  async heartbeat(
    tenant: string,
    leaseId: string,
    extendMs: number | null,
    progress: Progress | null,
  ): Promise<ExtendAnswer> {
    const { store } = this.#thread;
    const ms = extendMs ?? (await this.#workersLeaseMs(tenant, leaseId));
    return store.extend(tenant, leaseId, ms, progress);
  }

  /** Ends the attempt that has the lease. */
  async end(tenant: string, leaseId: string, outcome: PullOutcome, actor: Actor): Promise<SettleAnswer> {
    const settle = (ending: Partial<Ending> & Pick<Ending, 'event'>): Promise<SettleAnswer> =>
      this.#settle(tenant, leaseId, actor, { ...NOTHING, ...ending });
    switch (outcome.kind) {
      case 'complete':
        return settle({ event: 'succeeded', result: outcome.result });
      case 'release':
        return settle({ event: 'released', delayMs: outcome.delayMs });
      case 'fail': {
        const { error, retry, retryAfterMs } = outcome;
        if (!retry) return settle({ event: 'no_retry', error });
        const task = await this.#thread.store.leased(tenant, leaseId);
        const wait = task === null ? {} : this.#wait(task, retryAfterMs);
        return settle({ ...wait, event: 'attempt_failed', error });
      }
    }
  }

  /** The task of a live lease. */
  leased(tenant: string, leaseId: string): Promise<Task | null> {
    return this.#thread.store.leased(tenant, leaseId);
  }

  async #workersLeaseMs(tenant: string, leaseId: string): Promise<number | null> {
    const { store, directory } = this.#thread;
    const task = await store.leased(tenant, leaseId);
    if (task === null) return null;
    return (await directory.worker(tenant, task.workerId))?.body.leaseMs ?? null;
  }

  #wait(task: Task, retryAfterMs: number | null): Pick<Ending, 'delayMs' | 'last'> {
    const { random, clock } = this.#thread;
    const delayMs = Math.max(retryWaitMs(task.retry, task.attempt, random), retryAfterMs ?? 0);
    return { delayMs, last: isPolicyOver(task.retry, task.startedAt, clock.nowMs() + delayMs) };
  }

  async #settle(tenant: string, leaseId: string, actor: Actor, ending: Ending): Promise<SettleAnswer> {
    const { store, signals, statistics, clock } = this.#thread;
    const settlement: Settlement = { ...ending, leaseId, http: null, throttleMs: 0, actor };
    const [answer] = await store.settle(tenant, [settlement]);
    if (answer.kind === 'lost') statistics.settleRejected.add(1);
    else if (answer.kind === 'settled') tellEnd(signals, tenant, answer.task, clock.nowMs());
    return answer;
  }
}

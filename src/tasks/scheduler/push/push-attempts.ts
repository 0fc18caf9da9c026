import { asError } from '../../../base/fault.ts';
import type { Deliveries } from '../../delivery/delivery.ts';
import { targetOf, traceOf } from '../../model/task-headers.ts';
import type { ClaimedTask } from '../../store/requests.ts';
import type { TasksThread } from '../thread/tasks-thread.ts';
import type { ReadyPage } from '../workers/worker-book.ts';
import type { SecretUses } from '../workers/worker-secrets.ts';
import type { PushResults } from './push-results.ts';
import type { PushSlots } from './push-slots.ts';

/** What attempts use of the thread with the engine. */
type PushingThread = Pick<TasksThread, 'clock' | 'logger'> & {
  readonly deliveries: Deliveries;
  /** `drainMs`: how long attempts may go on after a stop was asked for. */
  readonly options: { readonly drainMs: number };
};

/** An attempt that is being made. */
export interface PushAttempt {
  readonly tenant: string;
  /** Without its body, which may be large and is not needed while the attempt goes on. */
  readonly claimed: Pick<ClaimedTask, 'task' | 'leaseId' | 'leaseUntil'>;
  readonly beganMs: number;
  /** A cancel was requested. */
  canceled: boolean;
}

/** How long the outcomes of attempts that were aborted at the end of a drain are waited for. */
const ABORTED_MS = 1_000;

/** The attempts of this process, from the claim to the result. */
export class PushAttempts {
  readonly slots: PushSlots;
  readonly #thread: PushingThread;
  readonly #deliveries: Deliveries;
  readonly #results: PushResults;
  readonly #secretUses: SecretUses;
  /** By lease. */
  readonly #attempts = new Map<string, PushAttempt>();
  #idle: (() => void) | null = null;

  constructor(thread: PushingThread, slots: PushSlots, results: PushResults, secretUses: SecretUses) {
    this.#thread = thread;
    this.#deliveries = thread.deliveries;
    this.slots = slots;
    this.#results = results;
    this.#secretUses = secretUses;
  }

  get count(): number {
    return this.#attempts.size;
  }

  /**
   * How many more attempts may begin, beside `reserved` ones that may begin already. Results that are not stored yet use
   * slots as well, once there are as many of them as slots.
   */
  roomBeside(reserved: number): number {
    return Math.min(
      this.#deliveries.free - reserved,
      2 * this.slots.count - this.slots.used - this.#results.unstored,
    );
  }

  /** Makes an attempt at each of the tasks of a worker, in slots that were kept for them. */
  begin(tenant: string, tasks: readonly ClaimedTask[], page: ReadyPage): void {
    if (tasks.length === 0) return;
    for (const claimed of tasks) this.#begin(tenant, claimed, page);
    this.#secretUses.used(tenant, page.secrets.used(this.#thread.clock.nowMs()));
  }

  #begin(tenant: string, claimed: ClaimedTask, page: ReadyPage): void {
    const { clock, logger } = this.#thread;
    const { task, leaseId, leaseUntil, body } = claimed;
    const nowMs = clock.nowMs();
    const attempt = { tenant, claimed: { task, leaseId, leaseUntil }, beganMs: nowMs, canceled: false };
    this.#attempts.set(leaseId, attempt);
    const slot = this.slots.begin(tenant, body.payload?.length ?? 0);
    const { taskUrls = false } = page.worker;
    this.#deliveries
      .deliver({
        tenant,
        task,
        payload: body.payload,
        headers: body.headers,
        worker: taskUrls ? { ...page.worker, url: targetOf(body.headers) } : page.worker,
        signing: page.secrets.signing(nowMs),
        // Otherwise anyone who may create tasks could have the secrets sent to their own server.
        secretHeaders: taskUrls ? {} : page.secrets.headers(nowMs),
        trace: traceOf(body.headers),
      })
      .then(outcome => {
        // After a drain the task has been handed back already.
        if (this.#attempts.has(leaseId)) this.#results.ended(attempt, page, outcome);
      })
      .catch((failure: unknown) => {
        const reason = asError(failure).message;
        logger.error(
          'Could not record the result of a delivery; the task will be retried when its lease expires',
          { task: task.id, reason },
        );
      })
      .finally(() => {
        this.#attempts.delete(leaseId);
        this.slots.end(slot);
        if (this.#attempts.size === 0) this.#idle?.();
      });
  }

  /** Aborts the attempt at this task, if this process is making one. */
  cancel(tenant: string, taskId: string): void {
    for (const attempt of this.#attempts.values()) {
      if (attempt.tenant !== tenant || attempt.claimed.task.id !== taskId) continue;
      attempt.canceled = true;
      this.#deliveries.abort(tenant, taskId);
    }
  }

  /** Attempts that have taken longer than this and were not asked to stop, by tenant. */
  lasting(longerThanMs: number): Map<string, PushAttempt[]> {
    const beganBeforeMs = this.#thread.clock.nowMs() - longerThanMs;
    const found = new Map<string, PushAttempt[]>();
    for (const attempt of this.#attempts.values()) {
      if (attempt.canceled || attempt.beganMs > beganBeforeMs) continue;
      const others = found.get(attempt.tenant);
      if (others === undefined) found.set(attempt.tenant, [attempt]);
      else others.push(attempt);
    }
    return found;
  }

  /** Waits for attempts up to the drain time, then aborts those that are left and hands their tasks back. */
  async drain(): Promise<void> {
    await this.#finish();
    this.slots.stop();
  }

  async #finish(): Promise<void> {
    const { logger, options } = this.#thread;
    await this.#untilIdle(options.drainMs);
    if (this.count === 0) return;
    logger.warning(
      'The drain time is over; running attempts are aborted and their tasks returned to the queue',
      { count: this.count },
    );
    for (const { tenant, claimed } of this.#attempts.values())
      this.#deliveries.abort(tenant, claimed.task.id);
    await this.#untilIdle(ABORTED_MS);
    for (const { tenant, claimed } of this.#attempts.values()) this.#results.handBack(tenant, claimed);
    this.#attempts.clear();
  }

  #untilIdle(boundMs: number): Promise<void> {
    if (this.#attempts.size === 0) return Promise.resolve();
    return new Promise(resolve => {
      const bound = this.#thread.clock.after(boundMs, resolve);
      this.#idle = () => {
        bound.cancel();
        resolve();
      };
    });
  }
}

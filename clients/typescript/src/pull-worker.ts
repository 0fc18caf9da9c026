import { setTimeout as sleep } from 'node:timers/promises';
import type { OptionsOf } from './calls.ts';
import type { SluiceClient } from './client.ts';
import { SluiceProblem } from './failures.ts';
import { LeasedTask, type TaskHandler } from './leased-task.ts';
import { delayBefore } from './repeated.ts';
import type { Lease } from './schemas.ts';
import { messageOf } from './task-failed.ts';

export interface PullWorkerOptions {
  readonly client: SluiceClient;
  /** Name or id of the worker whose tasks are leased. */
  readonly worker: string;
  /** Does the work. Its result is stored with the task, as JSON of up to 16 KiB; if it throws, the attempt has failed. */
  readonly handle: TaskHandler;
  /** Maximum number of tasks at the same time, at least 1. Default: 4. */
  readonly concurrency?: number;
  /**
   * How long a lease lasts without a heartbeat, in milliseconds: at least 5 s. If this process dies, other workers get
   * its tasks after this time. Default: 60 s.
   */
  readonly leaseMs?: number;
  /** How long a call waits for a task, in milliseconds: at most 30 s. Default: 20 s. */
  readonly waitMs?: number;
  /** How long running tasks may take to finish after a stop, in milliseconds. They are then returned. Default: 10 s. */
  readonly graceMs?: number;
  /** Name of this process in the history of tasks. */
  readonly instance?: string;
  /**
   * Called when a handler has thrown, or when the service did not accept or answer a call; the worker continues in both
   * cases. Default: a warning of the process.
   */
  readonly onError?: (error: unknown, taskId: string | null) => void;
}

const LEASES = '/v1/workers/{id}/leases';

/** Time in addition to `waitMs` in which the service has to answer a call for tasks. */
const ANSWER_MS = 15_000;
/** Delays between calls for tasks that have failed. */
const AGAIN = { baseMs: 200, maxDelayMs: 10_000 };
/**
 * How a stopping worker asks for leases whose answer it has not received. A service that has noticed the end of the call
 * answers at once. Kept connections may be as dead as that of the call.
 */
const MISSED = { timeoutMs: 1_000, retry: { attempts: 3, withinMs: 3_000 } };
/** Maximum delay between calls for tasks, also if `Retry-After` is longer: a proxy may not know when the service returns. */
const MAX_DELAY_MS = 60_000;
/** Maximum number of tasks that the service leases in one call. */
const MAX_LEASES = 100;

/**
 * Leases tasks of a pull worker and runs a handler for each, until the signal is aborted. It then leases no more tasks,
 * waits for the running ones, and returns those that are not done after the grace period. Several processes can do this
 * for the same worker.
 *
 * Resolves when the worker has stopped.
 *
 * @throws (rejects with) SluiceProblem if the service refuses to lease tasks, for example because the token was deleted
 *   or the worker does not exist. Running tasks finish first.
 * @throws (rejects with) RangeError if the concurrency is below 1
 */
export async function runPullWorker(options: PullWorkerOptions, signal: AbortSignal): Promise<void> {
  const worker = new PullWorker(options);
  const wake = (): void => worker.wake();
  signal.addEventListener('abort', wake);
  try {
    await worker.leaseUntil(signal);
  } finally {
    signal.removeEventListener('abort', wake);
    await worker.finish();
  }
}

class PullWorker {
  readonly #options: PullWorkerOptions;
  readonly #concurrency: number;
  readonly #leaseMs: number;
  readonly #onError: (error: unknown, taskId: string | null) => void;
  readonly #running = new Map<LeasedTask, Promise<void>>();
  #wake = (): void => {};

  constructor(options: PullWorkerOptions) {
    this.#options = options;
    const { concurrency = 4, leaseMs = 60_000, onError = warn } = options;
    if (!(concurrency >= 1)) throw new RangeError('The concurrency of a pull worker must be at least 1.');
    this.#concurrency = Math.floor(concurrency);
    this.#leaseMs = leaseMs;
    this.#onError = (error, taskId) => {
      // The outcome of a task must be reported although this callback fails.
      try {
        onError(error, taskId);
      } catch (thrown) {
        warn(thrown, taskId);
      }
    };
  }

  /** Ends the wait for a task that ends. */
  wake(): void {
    this.#wake();
  }

  async leaseUntil(signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted; ) {
      const room = this.#concurrency - this.#running.size;
      if (room <= 0) {
        await new Promise<void>(resolve => {
          this.#wake = resolve;
        });
        continue;
      }
      try {
        await this.#lease(Math.min(room, MAX_LEASES), signal);
        failures = 0;
      } catch (failure) {
        if (signal.aborted) return;
        if (isFinal(failure)) throw failure;
        this.#onError(failure, null);
        const asked = failure instanceof SluiceProblem ? failure.retryAfterMs : null;
        const delayMs = delayBefore(++failures + 1, asked, AGAIN, Math.random);
        await sleep(Math.min(delayMs, MAX_DELAY_MS), undefined, { signal }).catch(() => {});
      }
    }
  }

  /** Waits for running tasks, and returns them when the grace period is over. */
  async finish(): Promise<void> {
    const { graceMs = 10_000 } = this.#options;
    const done = new AbortController();
    const isOver = sleep(graceMs, undefined, { signal: done.signal }).catch(() => {});
    await Promise.race([Promise.all(this.#running.values()), isOver]);
    done.abort();
    await Promise.all([...this.#running.keys()].map(task => task.giveBack()));
  }

  /** Leases up to `max` tasks and starts them. */
  async #lease(max: number, signal: AbortSignal): Promise<void> {
    const { client, worker, waitMs = 20_000, instance } = this.#options;
    const options = {
      params: { id: worker },
      body: {
        max,
        wait: `${waitMs}ms`,
        lease: `${this.#leaseMs}ms`,
        ...(instance !== undefined && { instance }),
      },
      // If the answer gets lost, a call with the same key gets the same leases.
      idempotencyKey: crypto.randomUUID(),
    };
    try {
      const { body, headers } = await client.send('post', LEASES, {
        ...options,
        timeoutMs: waitMs + ANSWER_MS,
        signal,
      });
      for (const lease of body.leases) this.#start(this.#leased(lease, headers.has('idempotency-replayed')));
    } catch (failure) {
      if (signal.aborted) await this.#returnMissed(options);
      throw failure;
    }
  }

  /**
   * Returns tasks that the service has leased to a call whose answer did not arrive before the stop. They would wait until
   * their leases end.
   */
  async #returnMissed(call: OptionsOf<typeof LEASES, 'post'>): Promise<void> {
    const { client } = this.#options;
    try {
      const { leases } = await client.post(LEASES, { ...call, ...MISSED });
      await Promise.all(leases.map(lease => this.#leased(lease, true).giveBack()));
    } catch {
      // The service has no such leases, or does not answer.
    }
  }

  #leased(lease: Lease, isOlder: boolean): LeasedTask {
    const { client } = this.#options;
    const failed = (failure: unknown): void => this.#onError(failure, lease.task.id);
    return new LeasedTask({ client, lease, leaseMs: this.#leaseMs, isOlder, failed });
  }

  #start(task: LeasedTask): void {
    const running = task.run(this.#options.handle).finally(() => {
      this.#running.delete(task);
      this.#wake();
    });
    this.#running.set(task, running);
  }
}

/** Whether repeating a call for tasks cannot help. Answers that are not of Sluice, such as those of a proxy, may end. */
function isFinal(failure: unknown): boolean {
  if (!(failure instanceof SluiceProblem) || failure.code === '') return false;
  const { status, code } = failure;
  return status < 500 && status !== 429 && status !== 408 && code !== 'idempotency_in_progress';
}

function warn(error: unknown, taskId: string | null): void {
  const message = messageOf(error);
  process.emitWarning(taskId === null ? message : `${taskId}: ${message}`, 'SluiceWorkerWarning');
}

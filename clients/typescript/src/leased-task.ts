import { setTimeout as sleep } from 'node:timers/promises';
import type { SluiceClient } from './client.ts';
import { SluiceProblem, SluiceUnreachable } from './failures.ts';
import { Heartbeats } from './heartbeats.ts';
import type { Lease, Task } from './schemas.ts';
import { failureBody, messageOf, TaskFailed } from './task-failed.ts';

/** Why the signal of a task is aborted, as `signal.reason.name`. */
export type AbortName = 'TaskCanceled' | 'LeaseLost' | 'WorkerStopped';

/** Passed to the handler with its task. */
export interface TaskContext {
  /**
   * Aborted if the work should end: the task was canceled, its lease was lost, so that another worker may get the task,
   * or this worker stops and its grace period is over. The name of the reason is an {@link AbortName}.
   */
  readonly signal: AbortSignal;
  /** The trace context of the call that created the task; null if it sent none. */
  readonly traceparent: string | null;
  readonly tracestate: string | null;
  /**
   * Shows the progress, from 0 to 100, and a note of up to 200 characters in the history of the task. It is sent at
   * most once per second; of several values, the last one is sent.
   */
  progress(percent: number, note?: string): void;
}

/** Does the work of a task. Its result is stored with the task; if it throws, the attempt has failed. */
export type TaskHandler = (task: Task, context: TaskContext) => unknown;

interface LeasedTaskParts {
  readonly client: SluiceClient;
  readonly lease: Lease;
  /** How long the lease lasts from each heartbeat on, unless the timeout of the task ends it before. */
  readonly leaseMs: number;
  /** Whether some time of the lease may have passed already, so that it is extended at once. */
  readonly isOlder: boolean;
  readonly failed: (failure: unknown) => void;
}

type Outcome = 'complete' | 'fail' | 'release';

/** How long a stopping worker tries to report an outcome. */
const LAST_REPORT_MS = 5_000;

/**
 * A task that this worker has leased. Heartbeats extend the lease until the handler has ended and its outcome is
 * reported. There is one outcome: a result, a failure, the return of the task, or none if the lease was lost.
 */
export class LeasedTask {
  readonly #parts: LeasedTaskParts;
  readonly #controller = new AbortController();
  readonly #heartbeats: Heartbeats;
  #isOpen = true;
  #reported: Promise<void> = Promise.resolve();

  constructor(parts: LeasedTaskParts) {
    this.#parts = parts;
    const { client, lease, leaseMs, failed } = parts;
    this.#heartbeats = new Heartbeats({
      ...{ client, lease, leaseMs, failed },
      canceled: () => this.#abort('TaskCanceled', 'The cancellation of the task was requested.'),
      lost: why => this.#lost(why),
    });
  }

  /** Runs the handler and reports its outcome. Never rejects. */
  async run(handle: TaskHandler): Promise<void> {
    const { lease, isOlder, failed } = this.#parts;
    const { task, traceparent, tracestate } = lease;
    const { signal } = this.#controller;
    this.#heartbeats.begin(isOlder);
    const progress: TaskContext['progress'] = (percent, note) => this.#heartbeats.progress(percent, note);
    let report: readonly [Outcome, object];
    try {
      const result = await handle(task, { signal, traceparent, tracestate, progress });
      report = ['complete', { result: result ?? null }];
    } catch (thrown) {
      if (!signal.aborted) failed(thrown);
      report = ['fail', failureBody(thrown)];
    }
    await this.#end(...report, this.#parts.leaseMs);
  }

  /** Returns the task, which does not count as an attempt, and aborts the signal of the handler. Never rejects. */
  async giveBack(): Promise<void> {
    // If the handler has just ended, its outcome is on its way.
    const returned = this.#end('release', {}, LAST_REPORT_MS);
    this.#abort('WorkerStopped', 'The worker stops; the task was returned.');
    await Promise.race([returned, sleep(LAST_REPORT_MS, undefined, { ref: false })]);
  }

  /** Reports the outcome unless there is one already. Resolves when the first one was reported. */
  #end(outcome: Outcome, body: object, withinMs: number): Promise<void> {
    if (this.#isOpen) {
      this.#isOpen = false;
      this.#reported = this.#report(outcome, body, withinMs);
    }
    return this.#reported;
  }

  async #report(outcome: Outcome, body: object, withinMs: number): Promise<void> {
    const { failed } = this.#parts;
    try {
      await this.#send(outcome, body, withinMs).catch(failure => {
        if (outcome === 'release' || !isRejected(failure)) throw failure;
        failed(failure);
        // The only part of a failure that the service may not accept.
        if (outcome === 'fail') return this.#send('fail', { ...body, retry_after: undefined }, withinMs);
        // Another attempt would have the same result, for example one that is too large.
        const reason = new TaskFailed(messageOf(failure), { code: 'result_rejected', retry: false });
        return this.#send('fail', failureBody(reason), withinMs);
      });
    } catch (failure) {
      failed(failure);
    } finally {
      this.#heartbeats.end();
    }
  }

  async #send(outcome: Outcome, body: object, withinMs: number): Promise<void> {
    const { client, lease } = this.#parts;
    await client.post(`/v1/leases/{lease_id}/${outcome}` as '/v1/leases/{lease_id}/complete', {
      params: { lease_id: lease.lease_id },
      body,
      // The service recognizes a repeated outcome by its lease.
      idempotencyKey: null,
      retry: { attempts: Number.POSITIVE_INFINITY, withinMs },
    });
  }

  /** Another worker may have the task, so nothing is reported. */
  #lost(why: string): void {
    this.#isOpen = false;
    this.#abort('LeaseLost', why);
  }

  #abort(name: AbortName, message: string): void {
    if (this.#controller.signal.aborted) return;
    const reason = new Error(message);
    reason.name = name;
    this.#controller.abort(reason);
  }
}

/** Whether the service has read an outcome and does not accept it, or a result cannot be serialized as JSON. */
function isRejected(failure: unknown): boolean {
  if (failure instanceof SluiceProblem) return [400, 413, 422].includes(failure.status);
  return !(failure instanceof SluiceUnreachable);
}

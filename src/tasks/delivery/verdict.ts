import { DAY_MS } from '../../base/clock.ts';
import type { Worker } from '../model/documents.ts';
import { isPolicyOver, retryWaitMs } from '../model/retry-policy.ts';
import type { Task, TaskError } from '../model/task.ts';
import type { Settlement } from '../store/requests.ts';
import type { DeliveryOutcome } from './delivery.ts';

/** The result of a delivery for its task and its worker. The lease and the actor are added later. */
export interface Verdict extends Omit<Settlement, 'leaseId' | 'actor'> {
  /** The worker answered 410 Gone, and is to be paused until a person resumes it. */
  readonly pauseWorker: boolean;
}

/** Everything that a verdict depends on, except the outcome. */
export interface VerdictGrounds {
  /** As it was claimed: this attempt is counted in `attempt`. */
  readonly task: Pick<Task, 'retry' | 'attempt' | 'startedAt'>;
  readonly worker: Pick<Worker, 'noRetryOn'>;
  /** By the store's clock, as `startedAt` is. */
  readonly nowMs: number;
  /** From 0 to below 1. */
  readonly random: () => number;
}

/** Minimum delay after a timeout, or a 429 without `Retry-After`, so that an overloaded worker can recover. */
const OVERRUN_WAIT_MS = 60_000;
const LONGEST_DEFERRAL_MS = DAY_MS;

/** Statuses with a meaning of their own (specification 3.5.1). */
const GONE = 410;
const TOO_MANY_REQUESTS = 429;
const NO_RETRY = 489;
const UNAVAILABLE = 503;

/**
 * Decides the next step of a task from the outcome of a delivery (specification 3.5.1 and 3.6). The first match applies:
 *
 * - aborted by the service: `released`, which is not counted. If the task is to be canceled, the store makes it `canceled`
 * - 410, `task-no-retry`, 489, a status of `noRetryOn`: `no_retry`; 410 pauses the worker as well
 * - 2xx: `succeeded`
 * - 429 or 503 with `Retry-After`: `deferred`, and the worker is throttled until then
 * - all others: `timed_out` or `attempt_failed`, which count
 *
 * If the next attempt would begin after the maximum age of the policy, the failure or deferral is final.
 */
export function verdictOn(outcome: DeliveryOutcome, grounds: VerdictGrounds): Verdict {
  const { task, random } = grounds;
  const { kind, status } = outcome;
  const waitMs = retryWaitMs(task.retry, task.attempt, random);
  if (kind === 'aborted') {
    // The task may have crashed the thread, and must not crash the next one at once.
    return verdict(outcome, 'released', { delayMs: outcome.error?.code === 'thread_lost' ? waitMs : 0 });
  }
  if (kind === 'answered') {
    if (status === GONE) return verdict(outcome, 'no_retry', { pauseWorker: true });
    if (outcome.noRetry || status === NO_RETRY) return verdict(outcome, 'no_retry');
    if (isSuccess(status)) return verdict(outcome, 'succeeded', { result: outcome.result });
    if (grounds.worker.noRetryOn.includes(status)) return verdict(outcome, 'no_retry');
    const { retryAfterMs } = outcome;
    if (retryAfterMs !== null && (status === TOO_MANY_REQUESTS || status === UNAVAILABLE)) {
      return deferral(outcome, Math.min(retryAfterMs, LONGEST_DEFERRAL_MS), waitMs, grounds);
    }
  }
  const overrun = kind === 'timed_out' || status === TOO_MANY_REQUESTS;
  const delayMs = overrun ? Math.max(waitMs, OVERRUN_WAIT_MS) : waitMs;
  const last = isTooOld(grounds, delayMs);
  return verdict(outcome, kind === 'timed_out' ? 'timed_out' : 'attempt_failed', { delayMs, last });
}

/** True for a status that says that the task is done. */
function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

function deferral(
  outcome: DeliveryOutcome,
  throttleMs: number,
  waitMs: number,
  grounds: VerdictGrounds,
): Verdict {
  const delayMs = Math.min(Math.max(waitMs, throttleMs), LONGEST_DEFERRAL_MS);
  const last = isTooOld(grounds, delayMs);
  // The store ends a task only with an attempt that counts.
  return verdict(outcome, last ? 'attempt_failed' : 'deferred', { delayMs, last, throttleMs });
}

/** Whether the age of the policy is over when the next attempt would begin. */
function isTooOld({ task, nowMs }: VerdictGrounds, delayMs: number): boolean {
  return isPolicyOver(task.retry, task.startedAt, nowMs + delayMs);
}

function verdict(
  outcome: DeliveryOutcome,
  event: Verdict['event'],
  but: Partial<Omit<Verdict, 'event'>> = {},
): Verdict {
  const error = event === 'succeeded' ? null : taskError(outcome);
  const { http } = outcome;
  return {
    event,
    delayMs: 0,
    last: false,
    result: null,
    error,
    http,
    throttleMs: 0,
    pauseWorker: false,
    ...but,
  };
}

function taskError({ error, kind, status }: DeliveryOutcome): Omit<TaskError, 'at'> | null {
  if (kind !== 'answered') return error;
  // A successful response can also ask for no retry.
  const { code, message } = error ?? {
    code: 'no_retry',
    message: `the worker answered ${status} and asked for no retry`,
  };
  return { code, message, httpStatus: status };
}

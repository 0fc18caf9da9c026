import { isFinal, type Task } from '../../../src/tasks/model/task.ts';
import type { Settlement } from '../../../src/tasks/store/requests.ts';
import type { TaskChanged } from './known-tasks.ts';
import type { Report } from './violations.ts';

/** What a worker says about an attempt. */
export interface SaidByWorker {
  /** Whether a receiver answered this attempt with success. */
  readonly pushed: (tenant: string, taskId: string, attempt: number) => boolean;
  /** Whether a pull worker reported, or is about to report, the lease as completed. */
  readonly pulled: (leaseId: string) => boolean;
}

const FAILURES: readonly string[] = ['attempt_failed', 'timed_out', 'lease_expired'];
/** So many ends of attempts are not counted. */
const MOST_DEFERRALS = 100;
/** The wait after a timeout, or when a worker is overloaded. */
const OVERRUN_MS = 60_000;

/** Looks at each end of an attempt: whether it is what the worker said, and whether the policy is followed. */
export class EndChecks {
  readonly #said: SaidByWorker;
  readonly #report: Report;

  constructor(said: SaidByWorker, report: Report) {
    this.#said = said;
    this.#report = report;
  }

  heard({ tenant, before, after, by, leaseId, happened }: TaskChanged): void {
    const { operation, at } = happened;
    if (operation.name !== 'settle' || leaseId === null || before === null || after === null) return;
    if (before.status !== 'running') {
      this.#report('one attempt at a time', `${after.id} ended with ${by} while it was ${before.status}`);
      return;
    }
    const settlement = operation.args[1].find(each => each.leaseId === leaseId)!;
    if (after.status === 'succeeded') this.#success(tenant, before, after, settlement);
    if (by === 'succeeded' && after.status !== 'succeeded')
      this.#report('results are those of the worker', `${after.id} succeeded, and is ${after.status}`);
    if (before.cancelRequestedAt !== null && by !== 'succeeded') {
      if (after.status !== 'canceled')
        this.#report(
          'results are those of the worker',
          `${after.id} was to be canceled, and is ${after.status}`,
        );
      return;
    }
    if (FAILURES.includes(by)) this.#failure(before, after, settlement, at);
    if (by === 'released' || by === 'deferred') this.#handedBack(before, after);
  }

  #success(tenant: string, before: Task, after: Task, { event, leaseId }: Settlement): void {
    if (event !== 'succeeded')
      this.#report('results are those of the worker', `${after.id} has succeeded with ${event}`);
    const { id, attempt } = before;
    if (!this.#said.pushed(tenant, id, attempt) && !this.#said.pulled(leaseId))
      this.#report(
        'results are those of the worker',
        `${id} has succeeded in attempt ${attempt}, and no worker said so`,
      );
  }

  #failure(before: Task, after: Task, { event, delayMs, last }: Settlement, at: number): void {
    const { id, retry, attempt } = after;
    const report = (text: string) => this.#report('attempts follow the policy', `${id}: ${text}`);
    if (attempt !== before.attempt) report(`attempt ${before.attempt} ended as ${attempt}`);
    const isOver = attempt >= retry.maxAttempts;
    if (after.status === 'failed' && !isOver && !last)
      report(`failed after ${attempt} of ${retry.maxAttempts} attempts`);
    if (last && retry.maxAgeMs === null) report('failed because of its age, which has no bound');
    if (after.status !== 'retry') {
      if (!isFinal(after.status)) report(`is ${after.status} after ${event}`);
      return;
    }
    if (isOver) report(`is to be retried after ${attempt} of ${retry.maxAttempts} attempts`);
    if (after.dueAt !== at + delayMs) report(`is due at ${after.dueAt}, not ${delayMs} ms after ${at}`);
    const wait =
      retry.scheduleMs?.[Math.min(attempt, retry.scheduleMs.length) - 1] ??
      Math.min(retry.maxMs, retry.baseMs * retry.factor ** (attempt - 1));
    const spread = retry.scheduleMs === null ? retry.jitter : 0;
    const least = event === 'timed_out' ? OVERRUN_MS : Math.floor(wait * (1 - spread));
    const most = Math.max(Math.ceil(wait * (1 + spread)), OVERRUN_MS, retry.baseMs);
    if (delayMs < least || delayMs > most)
      report(`waits ${delayMs} ms after attempt ${attempt}, not ${least} to ${most}`);
  }

  #handedBack(before: Task, after: Task): void {
    if (after.deferrals > MOST_DEFERRALS) return;
    if (after.attempt !== before.attempt - 1 || after.deferrals !== before.deferrals + 1)
      this.#report('attempts follow the policy', `${after.id}: an attempt that was handed back was counted`);
  }
}

import type { StartLimit } from '../../model/documents.ts';
import type { TaskStatistics } from '../../model/task-statistics.ts';
import type { ClaimAnswer } from '../../store/requests.ts';
import type { LimitedWorker, StartLimits } from '../attempts/start-limits.ts';
import type { ReadyPage, WorkerBook } from '../workers/worker-book.ts';
import { MAX_TURN, NOTHING_STARTED, type Turn, type TurnOutcome } from './fair-queue.ts';
import type { PushAttempts } from './push-attempts.ts';
import type { PushClaims } from './push-claims.ts';
import type { WaitingWorkers } from './waiting-workers.ts';

/**
 * Starts the tasks of a turn: claims them and begins their attempts.
 *
 * The decision service may limit the starts of a worker. It is asked between two turns, so that it cannot delay tasks of
 * other workers, and not before a task is due.
 */
export class PushStarts {
  readonly #book: WorkerBook;
  readonly #claims: PushClaims;
  readonly #attempts: Pick<PushAttempts, 'begin'>;
  readonly #waiting: WaitingWorkers;
  readonly #startLimits: StartLimits;
  readonly #statistics: TaskStatistics;
  #stopped = false;

  constructor(
    book: WorkerBook,
    claims: PushClaims,
    attempts: Pick<PushAttempts, 'begin'>,
    waiting: WaitingWorkers,
    statistics: TaskStatistics,
  ) {
    this.#book = book;
    this.#claims = claims;
    this.#attempts = attempts;
    this.#waiting = waiting;
    this.#startLimits = waiting.startLimits;
    this.#statistics = statistics;
  }

  /** From now on tasks that a turn has claimed are handed back. */
  stop(): void {
    this.#stopped = true;
  }

  /** The worker, or one of its secrets, has changed. */
  workerChanged(tenant: string, workerId: string): void {
    this.#book.drop(tenant, workerId);
  }

  /** @throws (rejects with) Fault when the store fails */
  async take(turn: Turn): Promise<TurnOutcome> {
    const { tenant, workerId } = turn;
    const page = await this.#book.page(tenant, workerId);
    if (page.kind !== 'ready') {
      await this.#waiting.leaveAlone(tenant, workerId, page);
      return NOTHING_STARTED;
    }
    this.#waiting.release(tenant, workerId);
    if (this.#stopped) return NOTHING_STARTED;
    const { limit = null } = page.worker;
    return limit === null ? this.#unlimited(turn, page) : this.#limited(limit, turn, page);
  }

  async #unlimited(turn: Turn, page: ReadyPage): Promise<TurnOutcome> {
    const answer = await this.#claims.claim(turn, page);
    return { started: this.#begin(turn, page, answer), more: this.#waiting.claimed(turn, answer) };
  }

  async #limited(limit: StartLimit, turn: Turn, page: ReadyPage): Promise<TurnOutcome> {
    const { tenant, workerId } = turn;
    this.#startLimits.limitIs({ tenant, workerId, limit });
    if (this.#startLimits.isAsking(tenant, workerId) || this.#startLimits.waitMs(tenant, workerId) > 0) {
      this.#waiting.passOn(tenant);
      this.#waiting.ready(tenant, workerId);
      return NOTHING_STARTED;
    }
    // Without a permission, the claim is for no task and only finds out whether one is due.
    const granted = this.#startLimits.take(tenant, workerId, turn.max);
    const answer = await this.#startLimits.during(tenant, workerId, () =>
      this.#claims.claim({ ...turn, max: granted }, page),
    );
    const started = this.#begin(turn, page, answer);
    const more = isMore(answer);
    if (granted > 0) this.#startLimits.started(tenant, workerId, started, more);
    if (!more) return { started, more: this.#waiting.claimed(turn, answer) };
    this.#waiting.passOn(tenant);
    if (this.#startLimits.granted(tenant, workerId) > 0) return { started, more };
    if (this.#startLimits.waitMs(tenant, workerId) > 0) this.#waiting.sleep(tenant, workerId);
    // The next turn finds out whether another task may start: the worker may be at its concurrency limit now.
    else if (started > 0) return { started, more };
    else void this.#ask({ tenant, workerId, limit }, page.worker.concurrency);
    return { started, more: false };
  }

  async #ask(worker: LimitedWorker, concurrency: number | null): Promise<void> {
    const { tenant, workerId } = worker;
    await this.#startLimits.ask(worker, Math.min(MAX_TURN, concurrency ?? MAX_TURN));
    if (this.#startLimits.waitMs(tenant, workerId) > 0) this.#waiting.sleep(tenant, workerId);
    else this.#waiting.ready(tenant, workerId);
  }

  /** Begins the attempts of a claim, and returns how many. */
  #begin({ tenant }: Turn, page: ReadyPage, { tasks, now }: ClaimAnswer): number {
    if (this.#stopped) {
      this.#claims.handBack(tenant, tasks);
      return 0;
    }
    for (const { dueAt } of tasks) this.#statistics.dispatchLag.record(Math.max(0, now - dueAt));
    this.#attempts.begin(tenant, tasks, page);
    return tasks.length;
  }
}

/** Whether a claim of more tasks would start some. */
function isMore({ blocked, nextAt, now }: ClaimAnswer): boolean {
  return blocked === null && nextAt !== null && nextAt <= now;
}

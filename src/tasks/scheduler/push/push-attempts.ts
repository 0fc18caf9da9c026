import type { Clock } from '../../../base/clock.ts';
import { asError } from '../../../base/fault.ts';
import type { Logger } from '../../../base/logger.ts';
import type { Deliveries, DeliveryOutcome } from '../../delivery/delivery.ts';
import { type Verdict, verdictOn } from '../../delivery/verdict.ts';
import { targetOf } from '../../model/headers.ts';
import { idTimeMs } from '../../model/ids.ts';
import { type Signals, tellEnd } from '../../model/signals.ts';
import type { Actor } from '../../model/task.ts';
import type { TaskStatistics } from '../../model/task-statistics.ts';
import type { ClaimedTask, SettleAnswer, Settlement } from '../../store/requests.ts';
import type { TaskStore } from '../../store/task-store.ts';
import type { EndedAttempt, Settler } from '../attempts/settler.ts';
import type { WorkerPage } from '../workers/worker-book.ts';
import type { WorkerPauses } from '../workers/worker-pauses.ts';

interface PushAttemptsParts {
  readonly deliveries: Deliveries;
  readonly settler: Settler;
  readonly pauses: WorkerPauses;
  readonly signals: Signals;
  readonly statistics: TaskStatistics;
  readonly clock: Clock;
  /** From 0 to below 1. */
  readonly random: () => number;
  readonly logger: Logger;
  /** This process, as history names it. */
  readonly actor: Actor;
}

/** A worker that can be pushed to. */
export type ReadyPage = Extract<WorkerPage, { readonly kind: 'ready' }>;

/** An attempt that is being made. */
interface PushAttempt {
  readonly tenant: string;
  /** Without its body, which may be large and is not needed while the attempt goes on. */
  readonly claimed: Pick<ClaimedTask, 'task' | 'leaseId' | 'leaseUntil'>;
  readonly beganMs: number;
  /** A cancel was requested. */
  canceled: boolean;
}

type HandBack = Pick<ClaimedTask, 'leaseId' | 'leaseUntil'> & Pick<EndedAttempt, 'uncertain'>;

/** How long the outcomes of attempts that were ended at the end of a drain are waited for. */
const ABORTED_MS = 1_000;

const NOTHING: Omit<Settlement, 'leaseId' | 'event' | 'actor'> = {
  delayMs: 0,
  last: false,
  result: null,
  error: null,
  http: null,
  throttleMs: 0,
};

/** The attempts of this process, from the claim to the result for the store. */
export class PushAttempts {
  readonly #parts: PushAttemptsParts;
  /** By lease. */
  readonly #attempts = new Map<string, PushAttempt>();
  #idle: (() => void) | null = null;

  constructor(parts: PushAttemptsParts) {
    this.#parts = parts;
  }

  get count(): number {
    return this.#attempts.size;
  }

  /** Makes an attempt. `over` is called when its delivery has ended, in whatever way. */
  begin(tenant: string, claimed: ClaimedTask, page: ReadyPage, over: () => void): void {
    const { clock, deliveries, logger } = this.#parts;
    const { task, leaseId, leaseUntil } = claimed;
    const nowMs = clock.nowMs();
    const attempt = { tenant, claimed: { task, leaseId, leaseUntil }, beganMs: nowMs, canceled: false };
    this.#attempts.set(leaseId, attempt);
    const { taskUrls = false } = page.worker;
    deliveries
      .deliver({
        tenant,
        task,
        payload: claimed.body.payload,
        headers: claimed.body.headers,
        worker: taskUrls ? { ...page.worker, url: targetOf(claimed.body.headers) } : page.worker,
        signing: page.secrets.signing(nowMs),
        // Otherwise anyone who may create tasks could have the secrets sent to their own server.
        secretHeaders: taskUrls ? {} : page.secrets.headers(nowMs),
        traceparent: null,
      })
      .then(outcome => this.#ended(attempt, page, outcome))
      .catch((failure: unknown) => {
        const reason = asError(failure).message;
        logger.error(
          'Could not record the result of a delivery; the task will be retried when its lease expires',
          { task: task.id, reason },
        );
      })
      .finally(() => {
        this.#attempts.delete(leaseId);
        over();
        if (this.#attempts.size === 0) this.#idle?.();
      });
  }

  /** Hands a task back that was claimed and not begun, or may have been: the attempt is not counted. */
  handBack(tenant: string, { leaseId, leaseUntil, uncertain }: HandBack): void {
    this.#parts.settler.add(tenant, {
      ...(uncertain && { uncertain }),
      settlement: { ...NOTHING, leaseId, event: 'released', actor: this.#parts.actor },
      leaseUntil,
      onRecorded: answer => {
        if (answer?.kind === 'settled') this.#tell(tenant, answer);
      },
    });
  }

  /** Ends the attempt at this task, if one is made here. */
  cancel(tenant: string, taskId: string): void {
    for (const attempt of this.#attempts.values()) {
      if (attempt.tenant !== tenant || attempt.claimed.task.id !== taskId) continue;
      attempt.canceled = true;
      this.#parts.deliveries.abort(tenant, taskId);
    }
  }

  /** Attempts that have taken longer than this and were not asked to stop, by tenant. */
  lasting(longerThanMs: number): Map<string, PushAttempt[]> {
    const beganBeforeMs = this.#parts.clock.nowMs() - longerThanMs;
    const found = new Map<string, PushAttempt[]>();
    for (const attempt of this.#attempts.values()) {
      if (attempt.canceled || attempt.beganMs > beganBeforeMs) continue;
      const others = found.get(attempt.tenant);
      if (others === undefined) found.set(attempt.tenant, [attempt]);
      else others.push(attempt);
    }
    return found;
  }

  /** Waits for attempts at most `boundMs`, then ends and hands back those that are left. */
  async drain(boundMs: number): Promise<void> {
    await this.#untilIdle(boundMs);
    if (this.count === 0) return;
    this.#parts.logger.warning(
      'The drain time is over; running attempts are aborted and their tasks returned to the queue',
      {
        count: this.count,
      },
    );
    for (const { tenant, claimed } of this.#attempts.values()) {
      this.#parts.deliveries.abort(tenant, claimed.task.id);
    }
    await this.#untilIdle(ABORTED_MS);
    for (const { tenant, claimed } of this.#attempts.values()) this.handBack(tenant, claimed);
    this.#attempts.clear();
  }

  #untilIdle(boundMs: number): Promise<void> {
    if (this.#attempts.size === 0) return Promise.resolve();
    return new Promise(resolve => {
      const bound = this.#parts.clock.after(boundMs, resolve);
      this.#idle = () => {
        bound.cancel();
        resolve();
      };
    });
  }

  #ended(attempt: PushAttempt, page: ReadyPage, outcome: DeliveryOutcome): void {
    const { tenant, claimed, canceled } = attempt;
    const { task, leaseId, leaseUntil } = claimed;
    // Handed back already.
    if (!this.#attempts.has(leaseId)) return;
    const { settler, pauses, statistics, random, actor, clock } = this.#parts;
    statistics.attemptDuration.record(outcome.durationMs);
    const grounds = { task, worker: page.worker, nowMs: clock.nowMs(), random };
    const { pauseWorker, ...verdict } = page.worker.taskUrls
      ? forOneUrl(verdictOn(outcome, grounds))
      : verdictOn(outcome, grounds);
    const stopped = canceled && outcome.kind === 'aborted';
    const settlement: Settlement = stopped
      ? { ...NOTHING, leaseId, event: 'canceled', actor }
      : { ...verdict, leaseId, actor };
    settler.add(tenant, { settlement, leaseUntil, onRecorded: answer => this.#tell(tenant, answer) });
    const pushed = { tenant, workerId: task.workerId, worker: page.worker };
    if (pauseWorker) pauses.gone(pushed);
    else pauses.ended(pushed, settlement.event);
  }

  #tell(tenant: string, answer: SettleAnswer | null): void {
    const { signals, statistics, clock } = this.#parts;
    if (answer === null || answer.kind === 'lost') statistics.settleRejected.add(1);
    else tellEnd(signals, tenant, answer.task, clock.nowMs());
  }
}

/** A receiver's answer about itself must not stop tasks of the same worker that go to other receivers. */
function forOneUrl(verdict: Verdict): Verdict {
  return { ...verdict, throttleMs: 0, pauseWorker: false };
}

/** Attempts that end sooner are not looked after: most do. */
const LASTING_MS = 1_000;

const PAGE = 200;
/** Pages of running tasks that are read of one tenant; its bound on attempts keeps their number far below. */
const MAX_PAGES = 50;

/**
 * Finds requests to cancel that other processes took: reads the running tasks of those tenants of which this process is
 * making an attempt that lasts. To be run every second or so; asks nothing where there is none.
 */
export async function findCanceled(store: Pick<TaskStore, 'list'>, attempts: PushAttempts): Promise<void> {
  for (const [tenant, lasting] of attempts.lasting(LASTING_MS)) {
    for (const id of await canceledOf(store, tenant, lasting)) attempts.cancel(tenant, id);
  }
}

async function canceledOf(
  store: Pick<TaskStore, 'list'>,
  tenant: string,
  lasting: readonly PushAttempt[],
): Promise<string[]> {
  const ids = lasting.map(({ claimed }) => claimed.task.id).sort();
  const ours = new Set(ids);
  const last = ids[ids.length - 1];
  const canceled: string[] = [];
  let after: string | null = null;
  for (let page = 0; page < MAX_PAGES; page++) {
    const running = await store.list(tenant, {
      workerId: null,
      statuses: ['running'],
      scheduleId: null,
      createdFrom: idTimeMs(ids[0]),
      createdBefore: null,
      after,
      limit: PAGE,
      order: 'asc',
    });
    for (const { id, cancelRequestedAt } of running) {
      if (cancelRequestedAt !== null && ours.has(id)) canceled.push(id);
    }
    after = running.at(-1)?.id ?? last;
    if (running.length < PAGE || after >= last) break;
  }
  return canceled;
}

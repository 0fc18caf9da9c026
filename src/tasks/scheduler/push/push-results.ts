import type { DeliveryOutcome } from '../../delivery/delivery.ts';
import { type Verdict, verdictOn } from '../../delivery/verdict.ts';
import { tellEnd } from '../../model/signals.ts';
import type { Actor } from '../../model/task.ts';
import type { ClaimedTask, SettleAnswer, Settlement } from '../../store/requests.ts';
import type { EndedAttempt, Settler } from '../attempts/settler.ts';
import type { TasksThread } from '../thread/tasks-thread.ts';
import type { ReadyPage } from '../workers/worker-book.ts';
import type { WorkerPauses } from '../workers/worker-pauses.ts';

/** An attempt whose delivery has ended. */
interface DeliveredAttempt {
  readonly tenant: string;
  readonly claimed: Pick<ClaimedTask, 'task' | 'leaseId' | 'leaseUntil'>;
  /** A cancel was requested. */
  readonly canceled: boolean;
}

type HandBack = Pick<ClaimedTask, 'leaseId' | 'leaseUntil'> & Pick<EndedAttempt, 'uncertain'>;

const NOTHING: Omit<Settlement, 'leaseId' | 'event' | 'actor'> = {
  delayMs: 0,
  last: false,
  result: null,
  error: null,
  http: null,
  throttleMs: 0,
};

/** Turns the outcomes of deliveries into results for the store, and pauses workers because of them. */
export class PushResults {
  readonly #thread: Pick<TasksThread, 'signals' | 'statistics' | 'clock' | 'random'>;
  readonly #settler: Settler;
  readonly #pauses: WorkerPauses;
  readonly #actor: Actor;

  /** @param actor this process, as history names it */
  constructor(
    thread: Pick<TasksThread, 'signals' | 'statistics' | 'clock' | 'random'>,
    settler: Settler,
    pauses: WorkerPauses,
    actor: Actor,
  ) {
    this.#thread = thread;
    this.#settler = settler;
    this.#pauses = pauses;
    this.#actor = actor;
  }

  /** Number of results that are not stored yet. */
  get unstored(): number {
    return this.#settler.unstored;
  }

  /** The delivery of an attempt has ended. */
  ended({ tenant, claimed, canceled }: DeliveredAttempt, page: ReadyPage, outcome: DeliveryOutcome): void {
    const { task, leaseId, leaseUntil } = claimed;
    const { statistics, random, clock } = this.#thread;
    statistics.attemptDuration.record(outcome.durationMs);
    const grounds = { task, worker: page.worker, nowMs: clock.nowMs(), random };
    const { pauseWorker, ...verdict } = page.worker.taskUrls
      ? forOneUrl(verdictOn(outcome, grounds))
      : verdictOn(outcome, grounds);
    const stopped = canceled && outcome.kind === 'aborted';
    const settlement: Settlement = stopped
      ? { ...NOTHING, leaseId, event: 'canceled', actor: this.#actor }
      : { ...verdict, leaseId, actor: this.#actor };
    this.#settler.add(tenant, {
      settlement,
      leaseUntil,
      onRecorded: answer => this.#recorded(tenant, answer),
    });
    const pushed = { tenant, workerId: task.workerId, worker: page.worker };
    if (pauseWorker) this.#pauses.gone(pushed);
    else this.#pauses.ended(pushed, settlement.event);
  }

  /** Hands a task back that was claimed, or may have been, and not begun: the attempt is not counted. */
  handBack(tenant: string, { leaseId, leaseUntil, uncertain }: HandBack): void {
    this.#settler.add(tenant, {
      ...(uncertain && { uncertain }),
      settlement: { ...NOTHING, leaseId, event: 'released', actor: this.#actor },
      leaseUntil,
      onRecorded: answer => {
        if (answer?.kind === 'settled') this.#recorded(tenant, answer);
      },
    });
  }

  #recorded(tenant: string, answer: SettleAnswer | null): void {
    const { signals, statistics, clock } = this.#thread;
    if (answer === null || answer.kind === 'lost') statistics.settleRejected.add(1);
    else tellEnd(signals, tenant, answer.task, clock.nowMs());
  }
}

/** The response of a receiver about itself must not stop tasks of the same worker that go to other receivers. */
function forOneUrl(verdict: Verdict): Verdict {
  return { ...verdict, throttleMs: 0, pauseWorker: false };
}

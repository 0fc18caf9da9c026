import type { Clock } from '../../../base/clock.ts';
import { Fault } from '../../../base/fault.ts';
import type { StartLimit } from '../../model/documents.ts';
import { leaseIds } from '../../model/ids.ts';
import type { Actor } from '../../model/task.ts';
import type { ClaimAnswer } from '../../store/requests.ts';
import type { TaskStore } from '../../store/task-store.ts';
import type { LimitedWorker, StartLimits } from '../attempts/start-limits.ts';
import type { StoreOutage } from '../health/store-outage.ts';
import { MAX_TURN, NOTHING_STARTED, type Turn, type TurnOutcome } from './fair-queue.ts';
import type { PushAttempts, ReadyPage } from './push-attempts.ts';

interface PushClaimsParts {
  readonly store: Pick<TaskStore, 'claim'>;
  readonly attempts: Pick<PushAttempts, 'handBack'>;
  readonly outage: StoreOutage;
  readonly clock: Clock;
  readonly randomBytes: (count: number) => Buffer;
  /** This process, as history names it. */
  readonly actor: Actor;
}

/** How much longer than the timeout the lease lasts, for the delivery itself and for writing the result. */
const LEASE_MARGIN_MS = 15_000;

/** Claims tasks that are to be pushed. */
export class PushClaims {
  readonly #parts: PushClaimsParts;

  constructor(parts: PushClaimsParts) {
    this.#parts = parts;
  }

  /** @throws (rejects with) Fault if the store fails; tasks that it may have claimed anyway are handed back later */
  async claim({ tenant, workerId, max }: Turn, { worker, limits }: ReadyPage): Promise<ClaimAnswer> {
    const { store, outage, actor, randomBytes } = this.#parts;
    const leases = leaseIds(Math.min(max, worker.concurrency ?? max), randomBytes);
    try {
      const answer = await store.claim(tenant, {
        workerId,
        leaseIds: leases,
        lease: { mode: 'push', ms: LEASE_MARGIN_MS },
        concurrency: worker.concurrency,
        rate: worker.rate,
        groups: worker.groups ?? null,
        tenantInFlight: limits.inFlight,
        tenantPerSecond: limits.dispatchPerSecond,
        actor,
      });
      outage.answered();
      return answer;
    } catch (failure) {
      if (failure instanceof Fault && failure.code === 'store_failed') {
        this.#handBack(tenant, leases, worker.timeoutMs);
      }
      throw failure;
    }
  }

  /** A task with a single attempt must not lose it to a claim whose answer was lost. */
  #handBack(tenant: string, leases: readonly string[], timeoutMs: number): void {
    const leaseUntil = this.#parts.clock.nowMs() + timeoutMs + LEASE_MARGIN_MS;
    for (const leaseId of leases) {
      this.#parts.attempts.handBack(tenant, { leaseId, leaseUntil, uncertain: true });
    }
  }
}

interface LimitedTurnsParts {
  readonly startLimits: StartLimits;
  readonly claims: PushClaims;
  /** Begins the attempts of a claim, and returns how many. */
  readonly begin: (turn: Turn, page: ReadyPage, answer: ClaimAnswer) => number;
  /** Whether the worker waits for another turn at once, after a claim that left nothing to start now. */
  readonly comesAgain: (turn: Turn, answer: ClaimAnswer) => boolean;
  /** The worker does not use what its tenant may start now. */
  readonly room: (tenant: string) => void;
  /** The worker may start tasks: it waits for a turn. */
  readonly ready: (tenant: string, workerId: string) => void;
  /** The worker must not start tasks for a while, as {@link StartLimits} says. */
  readonly sleep: (tenant: string, workerId: string) => void;
}

/**
 * Turns of workers whose starts the decision service limits. It is asked between two turns, so that it cannot hold up
 * tasks of others, and not before a task is due.
 */
export class LimitedTurns {
  readonly #parts: LimitedTurnsParts;

  constructor(parts: LimitedTurnsParts) {
    this.#parts = parts;
  }

  /** @throws (rejects with) Fault when the store fails */
  async claim(limit: StartLimit, turn: Turn, page: ReadyPage): Promise<TurnOutcome> {
    const { startLimits, claims, begin, comesAgain, room, ready, sleep } = this.#parts;
    const { tenant, workerId } = turn;
    if (startLimits.isAsking(tenant, workerId) || startLimits.waitMs(tenant, workerId) > 0) {
      room(tenant);
      ready(tenant, workerId);
      return NOTHING_STARTED;
    }
    // Without a permission, a claim of nothing tells whether a task is due.
    const granted = startLimits.take(tenant, workerId, turn.max);
    const answer = await startLimits.during(tenant, workerId, () =>
      claims.claim({ ...turn, max: granted }, page),
    );
    const started = begin(turn, page, answer);
    const more = isMore(answer);
    if (granted > 0) startLimits.started(tenant, workerId, started, more);
    if (!more) return { started, more: comesAgain(turn, answer) };
    room(tenant);
    if (startLimits.granted(tenant, workerId) > 0) return { started, more };
    if (startLimits.waitMs(tenant, workerId) > 0) sleep(tenant, workerId);
    // The next turn finds out whether another task may start: the worker may have its concurrency now.
    else if (started > 0) return { started, more };
    else void this.#ask({ tenant, workerId, limit }, page.worker.concurrency);
    return { started, more: false };
  }

  async #ask(worker: LimitedWorker, concurrency: number | null): Promise<void> {
    const { startLimits, ready, sleep } = this.#parts;
    const { tenant, workerId } = worker;
    await startLimits.ask(worker, Math.min(MAX_TURN, concurrency ?? MAX_TURN));
    if (startLimits.waitMs(tenant, workerId) > 0) sleep(tenant, workerId);
    else ready(tenant, workerId);
  }
}

/** Whether a claim of more tasks would start some. */
function isMore({ blocked, nextAt, now }: ClaimAnswer): boolean {
  return blocked === null && nextAt !== null && nextAt <= now;
}

import { LRUCache } from 'lru-cache';
import type { Clock, Timer } from '../../../base/clock.ts';
import { asError } from '../../../base/fault.ts';
import type { Service } from '../../../base/lifecycle.ts';
import type { Logger } from '../../../base/logger.ts';
import type { Deliveries } from '../../delivery/delivery.ts';
import type { Signals } from '../../model/signals.ts';
import type { TaskStatistics } from '../../model/task-statistics.ts';
import type { ClaimAnswer } from '../../store/requests.ts';
import type { TaskStore } from '../../store/task-store.ts';
import type { Settler } from '../attempts/settler.ts';
import type { StartLimits } from '../attempts/start-limits.ts';
import { isOutage, type StoreOutage } from '../health/store-outage.ts';
import type { WorkerBook, WorkerPage } from '../workers/worker-book.ts';
import type { WorkerPauses } from '../workers/worker-pauses.ts';
import type { SecretUses } from '../workers/worker-secrets.ts';
import { FairQueue, MAX_TURN, NOTHING_STARTED, type Turn, type TurnOutcome } from './fair-queue.ts';
import { findCanceled, type PushAttempts, type ReadyPage } from './push-attempts.ts';
import { LimitedTurns, type PushClaims } from './push-claims.ts';
import { type PushSlot, PushSlots } from './push-slots.ts';
import { DueWorkers, TenantWaiters, WakeList } from './waiting-workers.ts';

interface DispatcherParts {
  readonly store: Pick<TaskStore, 'wakeups' | 'setWakeup' | 'list'>;
  readonly deliveries: Pick<Deliveries, 'free'>;
  readonly book: WorkerBook;
  readonly claims: PushClaims;
  readonly attempts: PushAttempts;
  readonly settler: Pick<Settler, 'unstored'>;
  readonly pauses: Pick<WorkerPauses, 'settled'>;
  readonly secretUses: SecretUses;
  readonly startLimits: StartLimits;
  readonly outage: StoreOutage;
  readonly signals: Signals;
  readonly statistics: TaskStatistics;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Attempts that may be short at the same time. */
  readonly slots: number;
  /** How long attempts may go on after a stop was asked for. */
  readonly drainMs: number;
}

/** Number of tasks that a tenant may start before the next tenant has its turn. */
const QUANTUM = 16;
/** Claims that are asked of the store at a time. */
const MAX_TURNS = 16;

/** How often the hints of the store are read: how long a task that another process made may go unnoticed. */
const LOOK_MS = 1_000;
/** Hints of the near future are read as well, so that their tasks start to the millisecond. */
const LOOK_AHEAD_MS = 1_500;
const MAX_HINTS = 5_000;

/** How long a worker that nothing may be sent to is left alone. */
const HELD_MS = 10_000;
/** How long a worker is left alone whose claim failed with a bug, or was empty although the store announced tasks. */
const ODD_MS = 1_000;
const MAX_HELD = 50_000;

/**
 * Starts due tasks of push workers (specification 4.4). It sleeps until a worker has a due task, according to hints of the
 * store and signals of this process. Tenants take turns, and no more is claimed than can be delivered.
 *
 * Every process runs one: the store decides which tasks are claimed and within which bounds.
 */
export class Dispatcher implements Service {
  readonly name = 'task dispatcher';
  readonly #parts: DispatcherParts;
  readonly #slots: PushSlots;
  readonly #queue: FairQueue;
  readonly #wakeList: WakeList;
  readonly #due = new DueWorkers();
  readonly #tenantWaiters: TenantWaiters;
  readonly #limited: LimitedTurns;
  /** Workers at their own bound on attempts. */
  readonly #full = new Set<string>();
  /** Workers that are left alone in spite of signals, and until when by the store's clock. */
  readonly #held = new LRUCache<string, number>({ max: MAX_HELD });
  #turns = 0;
  /** Slots of turns that are not over. */
  #reserved = 0;
  #turnsOver: (() => void) | null = null;
  #timer: Timer | null = null;
  #unlisten: () => void = () => {};
  #state: 'new' | 'running' | 'stopping' | 'stopped' = 'new';

  constructor(parts: DispatcherParts) {
    this.#parts = parts;
    const after = parts.clock.after.bind(parts.clock);
    this.#slots = new PushSlots({ slots: parts.slots, after, roomier: () => this.#pump() });
    this.#queue = new FairQueue({ slots: this.#slots, quantum: QUANTUM, maxTurn: MAX_TURN });
    this.#wakeList = new WakeList({
      clock: parts.clock,
      due: ({ tenant, workerId, at }) => this.#ready(tenant, workerId, at),
    });
    this.#tenantWaiters = new TenantWaiters({
      clock: parts.clock,
      wake: (tenant, workerId) => this.#ready(tenant, workerId, parts.clock.nowMs()),
    });
    this.#limited = new LimitedTurns({
      ...parts,
      begin: (turn, page, answer) => this.#begin(turn, page, answer),
      comesAgain: (turn, answer) => this.#comesAgain(turn, answer),
      room: tenant => this.#tenantWaiters.room(tenant),
      ready: (tenant, workerId) => this.#ready(tenant, workerId, parts.clock.nowMs()),
      sleep: (tenant, workerId) => this.#sleep(tenant, workerId),
    });
    parts.outage.onOver(() => this.#pump());
    parts.statistics.readInFlight(() => parts.attempts.count);
    parts.statistics.readOldestDueMs(() => this.#due.oldestMs(parts.clock.nowMs()));
  }

  async start(): Promise<void> {
    if (this.#state !== 'new') return;
    this.#state = 'running';
    this.#unlisten = this.#parts.signals.listen({
      taskDue: (tenant, workerId, at) => this.#dueAt(tenant, workerId, at),
      roomFor: (tenant, workerId) => this.#roomFor(tenant, workerId),
      cancelRequested: (tenant, taskId) => this.#parts.attempts.cancel(tenant, taskId),
      workerChanged: (tenant, workerId) => this.#workerChanged(tenant, workerId),
      accountChanged: tenant => this.#accountChanged(tenant),
    });
    void this.#look();
  }

  /** Stops claiming, waits for attempts up to the drain time, and hands the rest back. */
  async stop(): Promise<void> {
    if (this.#state === 'stopped' || this.#state === 'stopping') return;
    this.#state = 'stopping';
    this.#timer?.cancel();
    this.#wakeList.clear();
    this.#tenantWaiters.clear();
    if (this.#turns > 0) {
      await new Promise<void>(resolve => {
        this.#turnsOver = resolve;
      });
    }
    const watch = this.#watchCancels();
    await this.#parts.attempts.drain(this.#parts.drainMs);
    watch.cancel();
    this.#slots.stop();
    this.#parts.startLimits.stop();
    await this.#parts.pauses.settled();
    await this.#parts.secretUses.settled();
    this.#unlisten();
    this.#state = 'stopped';
  }

  readonly #look = async (): Promise<void> => {
    const { store, outage, clock, attempts, startLimits } = this.#parts;
    if (!outage.down) {
      try {
        const hints = await store.wakeups(clock.nowMs() + LOOK_AHEAD_MS, MAX_HINTS);
        for (const { tenant, workerId, at } of hints) {
          // The hint of a worker that is left alone was postponed. A new hint means that the worker was resumed.
          if (startLimits.waitMs(tenant, workerId) > 0) this.#sleep(tenant, workerId);
          else if (at <= clock.nowMs()) this.#ready(tenant, workerId, at);
          else this.#dueAt(tenant, workerId, at);
        }
        await findCanceled(store, attempts);
      } catch (failure) {
        outage.failed(failure);
      }
    }
    for (const tenant of this.#queue.heldBack()) this.#parts.signals.tell('shareUsed', tenant);
    if (this.#state === 'running') this.#timer = clock.after(LOOK_MS, () => void this.#look());
  };

  /** Handles cancel requests until the last attempt is over. */
  #watchCancels(): Timer {
    const { store, clock, attempts, outage } = this.#parts;
    let timer: Timer;
    const later = (): void => {
      timer = clock.after(LOOK_MS, () => {
        if (!outage.down) findCanceled(store, attempts).catch(failure => outage.failed(failure));
        later();
      });
    };
    later();
    return { cancel: () => timer.cancel() };
  }

  #dueAt(tenant: string, workerId: string, at: number): void {
    const nowMs = this.#parts.clock.nowMs();
    const heldMs = (this.#held.get(keyOf(tenant, workerId)) ?? 0) - nowMs;
    // A clock that is set back must not make it last.
    if (heldMs > 0 && heldMs <= HELD_MS) return;
    if (at <= nowMs) this.#ready(tenant, workerId, at);
    else if (at <= nowMs + LOOK_AHEAD_MS && this.#state === 'running') {
      this.#wakeList.add({ tenant, workerId, at });
    }
  }

  #ready(tenant: string, workerId: string, since: number): void {
    if (this.#state !== 'running') return;
    this.#full.delete(keyOf(tenant, workerId));
    this.#due.add(keyOf(tenant, workerId), since);
    const { startLimits } = this.#parts;
    if (startLimits.isAsking(tenant, workerId)) return;
    const waitMs = startLimits.waitMs(tenant, workerId);
    if (waitMs > 0) {
      this.#wakeList.add({ tenant, workerId, at: this.#parts.clock.nowMs() + waitMs });
      return;
    }
    this.#queue.add(tenant, workerId);
    this.#pump();
  }

  #roomFor(tenant: string, workerId: string): void {
    if (this.#full.has(keyOf(tenant, workerId))) {
      this.#ready(tenant, workerId, this.#parts.clock.nowMs());
    }
    this.#tenantWaiters.room(tenant);
  }

  #workerChanged(tenant: string, workerId: string): void {
    this.#parts.book.drop(tenant, workerId);
    this.#parts.startLimits.forget(tenant, workerId);
    this.#held.delete(keyOf(tenant, workerId));
    this.#ready(tenant, workerId, this.#parts.clock.nowMs());
  }

  #accountChanged(tenant: string): void {
    for (const key of [...this.#held.keys()]) {
      if (key.startsWith(`${tenant}\n`)) this.#workerChanged(tenant, key.slice(tenant.length + 1));
    }
  }

  /** Gives turns while there are free slots and waiting workers. */
  #pump(): void {
    while (this.#state === 'running' && !this.#parts.outage.down && this.#turns < MAX_TURNS) {
      const turn = this.#queue.next(this.#free());
      if (turn === null) return;
      void this.#take(turn);
    }
  }

  /** Results that are not stored yet use slots as well, once there are as many of them as slots. */
  #free(): number {
    const { deliveries, settler, slots } = this.#parts;
    return Math.min(deliveries.free - this.#reserved, 2 * slots - this.#slots.used - settler.unstored);
  }

  async #take(turn: Turn): Promise<void> {
    this.#turns++;
    this.#reserved += turn.max;
    let outcome: TurnOutcome;
    try {
      outcome = await this.#startTasks(turn);
    } catch (failure) {
      outcome = this.#turnFailed(turn, failure);
    }
    this.#turns--;
    this.#reserved -= turn.max;
    this.#queue.done(turn, outcome.started, outcome.more);
    if (this.#turns === 0) this.#turnsOver?.();
    this.#pump();
  }

  async #startTasks(turn: Turn): Promise<TurnOutcome> {
    const { tenant, workerId } = turn;
    const page = await this.#parts.book.page(tenant, workerId);
    if (page.kind !== 'ready') {
      await this.#leaveAlone(tenant, workerId, page);
      return NOTHING_STARTED;
    }
    this.#held.delete(keyOf(tenant, workerId));
    if (this.#state !== 'running') return NOTHING_STARTED;
    const { limit = null } = page.worker;
    return limit === null ? this.#claim(turn, page) : this.#limited.claim(limit, turn, page);
  }

  async #claim(turn: Turn, page: ReadyPage): Promise<TurnOutcome> {
    const answer = await this.#parts.claims.claim(turn, page);
    return { started: this.#begin(turn, page, answer), more: this.#comesAgain(turn, answer) };
  }

  /** The worker must not start a task for a while: wakes it then, here and, should this process have ended, elsewhere. */
  #sleep(tenant: string, workerId: string): void {
    if (this.#state !== 'running') return;
    const { startLimits, store, outage, clock } = this.#parts;
    const at = Math.ceil(clock.nowMs() + startLimits.waitMs(tenant, workerId));
    this.#wakeList.add({ tenant, workerId, at });
    store.setWakeup(tenant, workerId, at).catch(failure => outage.failed(failure));
  }

  /** Begins the attempts of a claim, and returns how many. */
  #begin(turn: Turn, page: ReadyPage, answer: ClaimAnswer): number {
    const { tenant } = turn;
    const started = this.#state === 'running' ? answer.tasks.length : 0;
    for (const claimed of answer.tasks) {
      if (started === 0) this.#parts.attempts.handBack(tenant, claimed);
      else {
        this.#parts.statistics.dispatchLag.record(Math.max(0, answer.now - claimed.dueAt));
        const slot = this.#slots.begin(tenant, claimed.body.payload?.length ?? 0);
        this.#parts.attempts.begin(tenant, claimed, page, () => this.#ended(slot));
      }
    }
    if (started > 0) this.#parts.secretUses.used(tenant, page.secrets.used(this.#parts.clock.nowMs()));
    return started;
  }

  /** Whether the worker waits for another turn at once; if not, sees to it that it has one when it may start tasks. */
  #comesAgain({ tenant, workerId }: Turn, answer: ClaimAnswer): boolean {
    const { tasks, now, nextAt, blocked } = answer;
    const key = keyOf(tenant, workerId);
    if (blocked === 'tenant_in_flight' || blocked === 'tenant_rate') {
      this.#tenantWaiters.wait(tenant, workerId, (nextAt ?? now) - now);
      return false;
    }
    this.#tenantWaiters.room(tenant);
    const isFull = blocked === 'concurrency' || blocked === 'group';
    if (isFull) this.#full.add(key);
    const isDue = isFull || (nextAt !== null && nextAt <= now);
    if (isDue) this.#due.renew(key, tasks.at(-1)?.dueAt);
    else this.#due.delete(key);
    if (nextAt === null) return false;
    if (nextAt <= now && tasks.length > 0) return true;
    // Later times are left to the hint of the store, which the claim has set.
    const at = nextAt <= now ? now + ODD_MS : nextAt;
    if (at <= now + LOOK_AHEAD_MS && this.#state === 'running') {
      // Relative to the answer: this clock may be ahead of the store's, and the worker would come back too early.
      this.#wakeList.add({ tenant, workerId, at: this.#parts.clock.nowMs() + (at - now) });
    }
    return false;
  }

  /** Nothing may be sent to the worker: postpones its hint. A pull worker sets its own hint. */
  async #leaveAlone(
    tenant: string,
    workerId: string,
    page: Exclude<WorkerPage, { readonly kind: 'ready' }>,
  ): Promise<void> {
    const nowMs = this.#parts.clock.nowMs();
    const resumeAt = page.kind === 'held' && page.resumeAt !== null ? page.resumeAt : nowMs + HELD_MS;
    const until = Math.max(nowMs + ODD_MS, Math.min(resumeAt, nowMs + HELD_MS));
    this.#held.set(keyOf(tenant, workerId), until);
    this.#due.delete(keyOf(tenant, workerId));
    this.#tenantWaiters.room(tenant);
    if (page.kind === 'not_pushed') return;
    await this.#parts.store.setWakeup(tenant, workerId, page.kind === 'gone' ? null : until);
  }

  #turnFailed({ tenant, workerId }: Turn, failure: unknown): TurnOutcome {
    const { outage, logger, clock } = this.#parts;
    if (isOutage(failure)) {
      outage.failed(failure);
      if (outage.down) return { started: 0, more: true };
      // The tenant's part of the store may be unavailable, and with it the hints about its workers.
      if (this.#state === 'running') this.#wakeList.add({ tenant, workerId, at: clock.nowMs() + ODD_MS });
      return NOTHING_STARTED;
    }
    const reason = asError(failure).message;
    logger.error('Could not start tasks of a worker; retrying in a second', {
      tenant,
      worker: workerId,
      reason,
    });
    this.#held.set(keyOf(tenant, workerId), clock.nowMs() + ODD_MS);
    return NOTHING_STARTED;
  }

  #ended(slot: PushSlot): void {
    this.#slots.end(slot);
    this.#pump();
  }
}

function keyOf(tenant: string, workerId: string): string {
  return `${tenant}\n${workerId}`;
}

import type { Clock, Timer } from '../../../base/clock.ts';
import { recentlyUsed } from '../../../base/collections/recently-used.ts';
import type { ClaimAnswer } from '../../store/requests.ts';
import type { StartLimits } from '../attempts/start-limits.ts';
import type { StoreOutage } from '../health/store-outage.ts';
import type { ThreadPart } from '../thread/tasks-thread.ts';
import type { WorkerPage } from '../workers/worker-book.ts';
import type { Turn } from './fair-queue.ts';
import { WakeList } from './wake-list.ts';

/** Workers of one tenant that wait, in order, and when the first is tried next. */
interface Line {
  readonly workers: Set<string>;
  timer: Timer | null;
}

/** A bucket of the tenant fills meanwhile, so waiting longer than for one token loses nothing and saves claims. */
const LEAST_WAIT_MS = 20;

/**
 * Workers with due tasks that a bound of their tenant keeps from starting. They try one after the other: one that finds
 * room wakes the next, and one that finds none waits again. So a tenant at its bound costs one claim, no matter how many
 * workers it has.
 */
class TenantWaiters {
  readonly #clock: Pick<Clock, 'after'>;
  readonly #wake: (tenant: string, workerId: string) => void;
  readonly #lines = new Map<string, Line>();

  /** @param wake called when it is the turn of a worker to try again */
  constructor(clock: Pick<Clock, 'after'>, wake: (tenant: string, workerId: string) => void) {
    this.#clock = clock;
    this.#wake = wake;
  }

  /** The worker found no room; it may find some in `delayMs`. */
  wait(tenant: string, workerId: string, delayMs: number): void {
    let line = this.#lines.get(tenant);
    if (line === undefined) {
      line = { workers: new Set(), timer: null };
      this.#lines.set(tenant, line);
    }
    line.workers.add(workerId);
    line.timer ??= this.#clock.after(Math.max(LEAST_WAIT_MS, delayMs), () => this.room(tenant));
  }

  /** There may be room for one. */
  room(tenant: string): void {
    const line = this.#lines.get(tenant);
    if (line === undefined) return;
    line.timer?.cancel();
    line.timer = null;
    const [workerId] = line.workers;
    line.workers.delete(workerId);
    if (line.workers.size === 0) this.#lines.delete(tenant);
    this.#wake(tenant, workerId);
  }

  clear(): void {
    for (const line of this.#lines.values()) line.timer?.cancel();
    this.#lines.clear();
  }
}

/** Workers with tasks that are due and wait, and since when: for the statistics, exact to within the claims in between. */
class DueWorkers {
  readonly #since = new Map<string, number>();

  /** The worker may have tasks that are due since then. */
  add(worker: string, since: number): void {
    if (!this.#since.has(worker)) this.#since.set(worker, since);
  }

  /** Tasks were started, the last of which had been due since `since`; more are due. */
  renew(worker: string, since: number | undefined): void {
    if (since !== undefined) this.#since.set(worker, since);
  }

  delete(worker: string): void {
    this.#since.delete(worker);
  }

  /** How long the oldest has waited; 0 when none waits. */
  oldestMs(nowMs: number): number {
    let oldest = nowMs;
    for (const since of this.#since.values()) if (since < oldest) oldest = since;
    return nowMs - oldest;
  }
}

/** Hints of the near future are read as well, so that their tasks start to the millisecond. */
export const LOOK_AHEAD_MS = 1_500;
/** How long a worker that nothing may be sent to is left alone. */
const HELD_MS = 10_000;
/** How long a worker is left alone whose claim failed with a bug, or was empty although the store announced tasks. */
const ODD_MS = 1_000;
const MAX_HELD = 50_000;

/**
 * Push workers that may have due tasks but cannot start them now, and what each of them waits for: the time at which a
 * task is due, room within a bound of the worker or its tenant, a permission of the decision service, or the end of a
 * pause.
 */
export class WaitingWorkers {
  readonly #thread: ThreadPart<'setWakeup', 'clock'>;
  /** Permissions of the decision service that workers wait for. */
  readonly startLimits: StartLimits;
  readonly #outage: StoreOutage;
  readonly #wakeList: WakeList;
  readonly #tenantWaiters: TenantWaiters;
  readonly #due = new DueWorkers();
  /** Workers at their own bound on attempts. */
  readonly #full = new Set<string>();
  /** Workers that are left alone in spite of signals, and until when by the store's clock. */
  readonly #held = recentlyUsed<string, number>(MAX_HELD);
  #onReady: (tenant: string, workerId: string) => void = () => {};
  #closed = false;

  constructor(thread: ThreadPart<'setWakeup', 'clock'>, startLimits: StartLimits, outage: StoreOutage) {
    this.#thread = thread;
    this.startLimits = startLimits;
    this.#outage = outage;
    const { clock } = thread;
    this.#wakeList = new WakeList(clock, ({ tenant, workerId, at }) => this.ready(tenant, workerId, at));
    this.#tenantWaiters = new TenantWaiters(clock, (tenant, workerId) => this.ready(tenant, workerId));
  }

  /** Sets what is called when a worker may start tasks. */
  onReady(run: (tenant: string, workerId: string) => void): void {
    this.#onReady = run;
  }

  /** From now on no worker becomes ready. */
  close(): void {
    this.#closed = true;
    this.#wakeList.clear();
    this.#tenantWaiters.clear();
  }

  /** How long the oldest due task has waited, in milliseconds; 0 if none waits. */
  oldestMs(): number {
    return this.#due.oldestMs(this.#thread.clock.nowMs());
  }

  /** A hint of the store. A worker that is left alone has its hint postponed, so a new hint means that it was resumed. */
  hinted(tenant: string, workerId: string, at: number): void {
    const { clock } = this.#thread;
    if (this.startLimits.waitMs(tenant, workerId) > 0) this.sleep(tenant, workerId);
    else if (at <= clock.nowMs()) this.ready(tenant, workerId, at);
    else this.dueAt(tenant, workerId, at);
  }

  /** The worker has a task that is due at this time. */
  dueAt(tenant: string, workerId: string, at: number): void {
    const nowMs = this.#thread.clock.nowMs();
    const heldMs = (this.#held.get(keyOf(tenant, workerId)) ?? 0) - nowMs;
    // A clock that is set back must not make it last.
    if (heldMs > 0 && heldMs <= HELD_MS) return;
    if (at <= nowMs) this.ready(tenant, workerId, at);
    else if (at <= nowMs + LOOK_AHEAD_MS) this.#wakeAt(tenant, workerId, at);
  }

  /**
   * The worker may start tasks, unless the decision service does not permit it yet.
   *
   * @param since when the first of them was due
   */
  ready(tenant: string, workerId: string, since = this.#thread.clock.nowMs()): void {
    if (this.#closed) return;
    this.#full.delete(keyOf(tenant, workerId));
    this.#due.add(keyOf(tenant, workerId), since);
    const { clock } = this.#thread;
    if (this.startLimits.isAsking(tenant, workerId)) return;
    const waitMs = this.startLimits.waitMs(tenant, workerId);
    if (waitMs > 0) this.#wakeAt(tenant, workerId, clock.nowMs() + waitMs);
    else this.#onReady(tenant, workerId);
  }

  /** An attempt of the worker has ended. */
  roomFor(tenant: string, workerId: string): void {
    if (this.#full.has(keyOf(tenant, workerId))) this.ready(tenant, workerId);
    this.#tenantWaiters.room(tenant);
  }

  /** The worker does not use what its tenant may start now: another worker of the tenant may. */
  passOn(tenant: string): void {
    this.#tenantWaiters.room(tenant);
  }

  /** The document of the worker has changed. */
  changed(tenant: string, workerId: string): void {
    this.startLimits.forget(tenant, workerId);
    this.#held.delete(keyOf(tenant, workerId));
    this.ready(tenant, workerId);
  }

  /** Limits of the decision service may have changed: workers that wait for one ask again. */
  limitsChanged(): void {
    for (const { tenant, workerId } of this.startLimits.limitsChanged()) this.ready(tenant, workerId);
  }

  /** Workers of the tenant that are left alone. */
  heldOf(tenant: string): string[] {
    return [...this.#held.keys()]
      .filter(key => key.startsWith(`${tenant}\n`))
      .map(key => key.slice(tenant.length + 1));
  }

  /** Tasks may be sent to the worker. */
  release(tenant: string, workerId: string): void {
    this.#held.delete(keyOf(tenant, workerId));
  }

  /**
   * The decision service permits no task of the worker for a while. Wakes the worker after that time: here, and through
   * the store, because this process may have ended by then.
   */
  sleep(tenant: string, workerId: string): void {
    if (this.#closed) return;
    const { store, clock } = this.#thread;
    const at = Math.ceil(clock.nowMs() + this.startLimits.waitMs(tenant, workerId));
    this.#wakeList.add({ tenant, workerId, at });
    store.setWakeup(tenant, workerId, at).catch(() => this.#outage.failed());
  }

  /** Tries the worker again soon. Its tenant's part of the store may be unavailable, and with it the worker's hints. */
  retry(tenant: string, workerId: string): void {
    this.#wakeAt(tenant, workerId, this.#thread.clock.nowMs() + ODD_MS);
  }

  /** Ignores signals about the worker for a while, after a failure that is a bug. */
  ignore(tenant: string, workerId: string): void {
    this.#held.set(keyOf(tenant, workerId), this.#thread.clock.nowMs() + ODD_MS);
  }

  /**
   * Nothing may be sent to the worker: postpones its hint. A pull worker sets its own hint.
   *
   * @throws (rejects with) Fault when the store fails
   */
  async leaveAlone(
    tenant: string,
    workerId: string,
    page: Exclude<WorkerPage, { readonly kind: 'ready' }>,
  ): Promise<void> {
    const nowMs = this.#thread.clock.nowMs();
    const resumeAt = page.kind === 'held' && page.resumeAt !== null ? page.resumeAt : nowMs + HELD_MS;
    const until = Math.max(nowMs + ODD_MS, Math.min(resumeAt, nowMs + HELD_MS));
    this.#held.set(keyOf(tenant, workerId), until);
    this.#due.delete(keyOf(tenant, workerId));
    this.#tenantWaiters.room(tenant);
    if (page.kind === 'not_pushed') return;
    await this.#thread.store.setWakeup(tenant, workerId, page.kind === 'gone' ? null : until);
  }

  /**
   * Notes what a claim says about further tasks of the worker.
   *
   * @returns whether the worker is to have another turn at once; otherwise it waits here until it may start tasks
   */
  claimed({ tenant, workerId }: Turn, answer: ClaimAnswer): boolean {
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
    if (at <= now + LOOK_AHEAD_MS) {
      // Relative to the answer: this clock may be ahead of the store's, and the worker would come back too early.
      this.#wakeAt(tenant, workerId, this.#thread.clock.nowMs() + (at - now));
    }
    return false;
  }

  #wakeAt(tenant: string, workerId: string, at: number): void {
    if (!this.#closed) this.#wakeList.add({ tenant, workerId, at });
  }
}

function keyOf(tenant: string, workerId: string): string {
  return `${tenant}\n${workerId}`;
}

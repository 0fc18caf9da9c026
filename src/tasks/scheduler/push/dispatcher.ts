import type { Timer } from '../../../base/clock.ts';
import type { Service } from '../../../base/lifecycle.ts';
import type { StoreOutage } from '../health/store-outage.ts';
import type { ThreadPart } from '../thread/tasks-thread.ts';
import type { PushAttempts } from './push-attempts.ts';
import type { PushTurns } from './push-turns.ts';
import { LOOK_AHEAD_MS, type WaitingWorkers } from './waiting-workers.ts';

/** How often the hints of the store are read: how long a task that another process made may go unnoticed. */
const LOOK_MS = 1_000;
const MAX_HINTS = 5_000;

/**
 * Starts due tasks of push workers (specification 4.4). It sleeps until a worker has a due task, according to hints of the
 * store and signals of this process. Tenants take turns, and no more is claimed than can be delivered.
 *
 * Every process runs one: the store decides which tasks are claimed and within which bounds.
 */
export class Dispatcher implements Service {
  readonly name = 'task dispatcher';
  readonly #thread: ThreadPart<'wakeups', 'signals' | 'clock'>;
  readonly #waiting: WaitingWorkers;
  readonly #turns: PushTurns;
  readonly #attempts: PushAttempts;
  readonly #outage: StoreOutage;
  #timer: Timer | null = null;
  #unlisten: () => void = () => {};
  #state: 'new' | 'running' | 'stopped' = 'new';

  constructor(
    thread: ThreadPart<'wakeups', 'signals' | 'clock'>,
    waiting: WaitingWorkers,
    turns: PushTurns,
    attempts: PushAttempts,
    outage: StoreOutage,
  ) {
    this.#thread = thread;
    this.#waiting = waiting;
    this.#turns = turns;
    this.#attempts = attempts;
    this.#outage = outage;
  }

  async start(): Promise<void> {
    if (this.#state !== 'new') return;
    this.#state = 'running';
    const { signals } = this.#thread;
    this.#unlisten = signals.listen({
      taskDue: (tenant, workerId, at) => this.#waiting.dueAt(tenant, workerId, at),
      roomFor: (tenant, workerId) => this.#waiting.roomFor(tenant, workerId),
      cancelRequested: (tenant, taskId) => this.#attempts.cancel(tenant, taskId),
      workerChanged: (tenant, workerId) => this.#workerChanged(tenant, workerId),
      limitsChanged: () => this.#waiting.limitsChanged(),
      accountChanged: tenant => {
        for (const workerId of this.#waiting.heldOf(tenant)) this.#workerChanged(tenant, workerId);
      },
    });
    void this.#look();
  }

  /** Stops claiming, waits for attempts up to the drain time, and hands the rest back. */
  async stop(): Promise<void> {
    if (this.#state === 'stopped') return;
    this.#state = 'stopped';
    this.#timer?.cancel();
    this.#waiting.close();
    await this.#turns.stop();
    await this.#attempts.drain();
    this.#unlisten();
  }

  readonly #look = async (): Promise<void> => {
    const { store, signals, clock } = this.#thread;
    if (!this.#outage.down) {
      try {
        const hints = await store.wakeups(clock.nowMs() + LOOK_AHEAD_MS, MAX_HINTS);
        for (const { tenant, workerId, at } of hints) this.#waiting.hinted(tenant, workerId, at);
      } catch {
        this.#outage.failed();
      }
    }
    for (const tenant of this.#turns.heldBack()) signals.tell('shareUsed', tenant);
    if (this.#state === 'running') this.#timer = clock.after(LOOK_MS, () => void this.#look());
  };

  #workerChanged(tenant: string, workerId: string): void {
    this.#turns.workerChanged(tenant, workerId);
    this.#waiting.changed(tenant, workerId);
  }
}

import type { Clock, Timer } from '../../../base/clock.ts';
import type { Service } from '../../../base/lifecycle.ts';
import type { Signals } from '../../model/signals.ts';
import type { TaskStore } from '../../store/task-store.ts';
import type { StoreOutage } from '../health/store-outage.ts';
import type { PushAttempts } from './push-attempts.ts';
import type { PushTurns } from './push-turns.ts';
import { LOOK_AHEAD_MS, type WaitingWorkers } from './waiting-workers.ts';

interface DispatcherParts {
  readonly store: Pick<TaskStore, 'wakeups'>;
  readonly signals: Signals;
  readonly waiting: WaitingWorkers;
  readonly turns: PushTurns;
  readonly attempts: PushAttempts;
  readonly outage: StoreOutage;
  readonly clock: Clock;
}

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
  readonly #parts: DispatcherParts;
  #timer: Timer | null = null;
  #unlisten: () => void = () => {};
  #state: 'new' | 'running' | 'stopped' = 'new';

  constructor(parts: DispatcherParts) {
    this.#parts = parts;
  }

  async start(): Promise<void> {
    if (this.#state !== 'new') return;
    this.#state = 'running';
    const { signals, waiting, attempts } = this.#parts;
    this.#unlisten = signals.listen({
      taskDue: (tenant, workerId, at) => waiting.dueAt(tenant, workerId, at),
      roomFor: (tenant, workerId) => waiting.roomFor(tenant, workerId),
      cancelRequested: (tenant, taskId) => attempts.cancel(tenant, taskId),
      workerChanged: (tenant, workerId) => this.#workerChanged(tenant, workerId),
      limitsChanged: () => waiting.limitsChanged(),
      accountChanged: tenant => {
        for (const workerId of waiting.heldOf(tenant)) this.#workerChanged(tenant, workerId);
      },
    });
    void this.#look();
  }

  /** Stops claiming, waits for attempts up to the drain time, and hands the rest back. */
  async stop(): Promise<void> {
    if (this.#state === 'stopped') return;
    this.#state = 'stopped';
    this.#timer?.cancel();
    this.#parts.waiting.close();
    await this.#parts.turns.stop();
    await this.#parts.attempts.drain();
    this.#unlisten();
  }

  readonly #look = async (): Promise<void> => {
    const { store, waiting, turns, signals, outage, clock } = this.#parts;
    if (!outage.down) {
      try {
        const hints = await store.wakeups(clock.nowMs() + LOOK_AHEAD_MS, MAX_HINTS);
        for (const { tenant, workerId, at } of hints) waiting.hinted(tenant, workerId, at);
      } catch {
        outage.failed();
      }
    }
    for (const tenant of turns.heldBack()) signals.tell('shareUsed', tenant);
    if (this.#state === 'running') this.#timer = clock.after(LOOK_MS, () => void this.#look());
  };

  #workerChanged(tenant: string, workerId: string): void {
    this.#parts.turns.workerChanged(tenant, workerId);
    this.#parts.waiting.changed(tenant, workerId);
  }
}

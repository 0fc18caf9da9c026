import { LRUCache } from 'lru-cache';
import { asError } from '../../../base/fault.ts';
import type { Logger } from '../../../base/logger.ts';
import type { Worker } from '../../model/documents.ts';
import type { Settlement } from '../../store/requests.ts';
import type { TaskStore } from '../../store/task-store.ts';
import type { StoreTime } from '../health/store-time.ts';
import type { WorkerSwitch } from './worker-switch.ts';

interface WorkerPausesParts {
  readonly store: Pick<TaskStore, 'list'>;
  readonly workerSwitch: WorkerSwitch;
  readonly time: StoreTime;
  readonly logger: Logger;
}

/** A worker that was pushed to, as it was then. */
interface PushedWorker {
  readonly tenant: string;
  readonly workerId: string;
  readonly worker: Pick<Worker, 'updatedAt' | 'autoPauseAfterMs'>;
}

const MAX_WORKERS = 10_000;
/** How many of the newest tasks that succeeded are looked at for one that another process pushed. */
const LOOKED_AT = 50;

/**
 * Pauses workers that say that they are gone, and those that have only failed for as long as they allow.
 *
 * Each process knows since when it has seen nothing but failures of a worker, counted from the last change of its
 * document at the earliest. Before it pauses a worker it asks the store whether the attempts of another process went
 * well meanwhile. A process that starts knows of no failures: a worker is paused later than it might be, never sooner.
 */
export class WorkerPauses {
  readonly #parts: WorkerPausesParts;
  readonly #failingSince = new LRUCache<string, number>({ max: MAX_WORKERS });
  /** By worker, so that many attempts that end at once pause it once. */
  readonly #running = new Map<string, Promise<void>>();

  constructor(parts: WorkerPausesParts) {
    this.#parts = parts;
  }

  /** The worker has answered that it is gone. */
  gone(pushed: PushedWorker): void {
    this.#once(pushed, () => this.#pause(pushed, 'the worker answered 410 Gone'));
  }

  /** An attempt has ended. Only the worker's own failures count: not those that say that a task is not to be retried. */
  ended(pushed: PushedWorker, event: Settlement['event']): void {
    const key = keyOf(pushed);
    if (event === 'succeeded') this.#failingSince.delete(key);
    if (event !== 'attempt_failed' && event !== 'timed_out') return;
    const nowMs = this.#parts.time.nowMs();
    const since = Math.max(this.#failingSince.get(key) ?? nowMs, pushed.worker.updatedAt);
    this.#failingSince.set(key, since);
    const { autoPauseAfterMs } = pushed.worker;
    if (autoPauseAfterMs === null || nowMs - since < autoPauseAfterMs) return;
    this.#once(pushed, () => this.#pauseFailing(pushed, since));
  }

  /** Resolves when nothing is being paused. */
  async settled(): Promise<void> {
    await Promise.all(this.#running.values());
  }

  async #pauseFailing(pushed: PushedWorker, since: number): Promise<void> {
    const { tenant, workerId } = pushed;
    if (await this.#hasSucceeded(tenant, workerId, since)) this.#failingSince.delete(keyOf(pushed));
    else await this.#pause(pushed, `only failures since ${new Date(since).toISOString()}`);
  }

  #pause({ tenant, workerId, worker }: PushedWorker, reason: string): Promise<void> {
    return this.#parts.workerSwitch.pause(tenant, workerId, worker, reason);
  }

  async #hasSucceeded(tenant: string, workerId: string, since: number): Promise<boolean> {
    const newest = await this.#parts.store.list(tenant, {
      workerId,
      statuses: ['succeeded'],
      scheduleId: null,
      createdFrom: null,
      createdBefore: null,
      after: null,
      limit: LOOKED_AT,
      order: 'desc',
    });
    return newest.some(({ finishedAt }) => finishedAt !== null && finishedAt > since);
  }

  #once(pushed: PushedWorker, run: () => Promise<void>): void {
    const key = keyOf(pushed);
    if (this.#running.has(key)) return;
    const running = run()
      .catch((failure: unknown) => {
        // The next failure tries again.
        const { tenant, workerId } = pushed;
        const reason = asError(failure).message;
        this.#parts.logger.warning('a worker could not be paused', { tenant, worker: workerId, reason });
      })
      .finally(() => this.#running.delete(key));
    this.#running.set(key, running);
  }
}

function keyOf({ tenant, workerId }: PushedWorker): string {
  return `${tenant}\n${workerId}`;
}

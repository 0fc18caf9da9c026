import { recentlyUsed } from '../../../base/collections/recently-used.ts';
import { asError } from '../../../base/fault.ts';
import type { Worker } from '../../model/documents.ts';
import type { StoredDocument } from '../../store/documents.ts';
import { putAgain } from '../../store/put-document.ts';
import type { Settlement } from '../../store/requests.ts';
import type { ThreadPart } from '../thread/tasks-thread.ts';

/** Maximum number of tries: another process may change the document between the read and the write. */
const ATTEMPTS = 5;

type SwitchThread = ThreadPart<
  'apply' | 'getDocument' | 'setWakeup' | 'now',
  'directory' | 'signals' | 'logger'
>;

/** Pauses and resumes workers on behalf of the service itself. */
export class WorkerSwitch {
  readonly #thread: SwitchThread;

  constructor(thread: SwitchThread) {
    this.#thread = thread;
  }

  /**
   * Pauses a worker until a person resumes it. Does nothing if the worker is paused already, was deleted, or has changed
   * since `seen`, because its earlier failures say nothing about its new configuration.
   * @throws (rejects with) Fault when the store fails
   */
  async pause(
    tenant: string,
    workerId: string,
    seen: Pick<Worker, 'updatedAt'>,
    reason: string,
  ): Promise<void> {
    const paused = await this.#change(tenant, workerId, ({ body }) =>
      body.paused || body.updatedAt !== seen.updatedAt
        ? null
        : { paused: true, pauseReason: reason, resumeAt: null },
    );
    if (!paused) return;
    this.#thread.logger.warning('Worker paused', { tenant, worker: workerId, reason });
    this.#changed(tenant, workerId);
  }

  /**
   * Resumes a worker whose time to resume has come by the store's clock; its tasks are due at once. Does nothing if that
   * time has changed in the meantime. Safe to be called by several processes at once.
   * @throws (rejects with) Fault when the store fails
   */
  async resume(tenant: string, workerId: string): Promise<void> {
    const nowMs = await this.#thread.store.now();
    const resumed = await this.#change(tenant, workerId, ({ dueAt, body }) => {
      if (dueAt === null || dueAt > nowMs) return null;
      // One that waits for a later time, or for none, is written all the same: it would be due for ever.
      if (body.paused && (body.resumeAt === null || body.resumeAt > nowMs)) return {};
      return { paused: false, pauseReason: null, resumeAt: null };
    });
    if (!resumed) return;
    this.#thread.logger.info('Worker resumed', { tenant, worker: workerId });
    await this.#thread.store.setWakeup(tenant, workerId, nowMs);
    this.#changed(tenant, workerId);
  }

  /** @returns false if `change` returns null, or the worker was deleted */
  async #change(
    tenant: string,
    workerId: string,
    change: (document: StoredDocument<'worker'>) => Partial<Worker> | null,
  ): Promise<boolean> {
    const { store } = this.#thread;
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const document = await store.getDocument(tenant, 'worker', workerId);
      const changes = document === null ? null : change(document);
      if (document === null || changes === null) return false;
      const body = { ...document.body, ...changes, updatedAt: await store.now() };
      const answer = await store.apply(tenant, [putAgain(document, body)]);
      if (answer.kind === 'done') return true;
    }
    return false;
  }

  #changed(tenant: string, workerId: string): void {
    this.#thread.directory.changed(tenant);
    this.#thread.signals.tell('workerChanged', tenant, workerId);
  }
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
 * Pauses workers that answer 410 Gone, and workers that have only failed for longer than they allow.
 *
 * Each process knows since when it has seen nothing but failures of a worker, counted from the last change of its
 * document at the earliest. Before it pauses a worker it asks the store whether the attempts of another process went
 * well meanwhile. A process that starts knows of no failures: a worker is paused later than it might be, never sooner.
 */
export class WorkerPauses {
  readonly #thread: ThreadPart<'list', 'clock' | 'logger'>;
  readonly #workerSwitch: WorkerSwitch;
  readonly #failingSince = recentlyUsed<string, number>(MAX_WORKERS);
  /** By worker, so that many attempts that end at once pause it once. */
  readonly #running = new Map<string, Promise<void>>();

  constructor(thread: ThreadPart<'list', 'clock' | 'logger'>, workerSwitch: WorkerSwitch) {
    this.#thread = thread;
    this.#workerSwitch = workerSwitch;
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
    const nowMs = this.#thread.clock.nowMs();
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
    return this.#workerSwitch.pause(tenant, workerId, worker, reason);
  }

  async #hasSucceeded(tenant: string, workerId: string, since: number): Promise<boolean> {
    const newest = await this.#thread.store.list(tenant, {
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
        this.#thread.logger.warning('Could not pause a failing worker; the next failure tries again', {
          tenant,
          worker: workerId,
          reason,
        });
      })
      .finally(() => this.#running.delete(key));
    this.#running.set(key, running);
  }
}

function keyOf({ tenant, workerId }: PushedWorker): string {
  return `${tenant}\n${workerId}`;
}

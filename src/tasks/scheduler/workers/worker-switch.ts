import type { Logger } from '../../../base/logger.ts';
import type { Worker } from '../../model/documents.ts';
import type { Signals } from '../../model/signals.ts';
import type { Directory } from '../../store/directory.ts';
import type { StoredDocument } from '../../store/documents.ts';
import type { TaskStore } from '../../store/task-store.ts';

interface WorkerSwitchParts {
  readonly store: Pick<TaskStore, 'apply' | 'getDocument' | 'setWakeup' | 'now'>;
  readonly directory: Directory;
  readonly signals: Signals;
  readonly logger: Logger;
}

/** Somebody else may change the document between reading and writing it. */
const ATTEMPTS = 5;

/** Pauses workers, and lets them go on, on behalf of the service itself. */
export class WorkerSwitch {
  readonly #parts: WorkerSwitchParts;

  constructor(parts: WorkerSwitchParts) {
    this.#parts = parts;
  }

  /**
   * Pauses a worker until somebody lets it go on; nothing happens when it is paused already, gone, or was changed since
   * it was as `seen`: what it did before says nothing of what it does now.
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
    this.#parts.logger.warning('worker paused', { tenant, worker: workerId, reason });
    this.#changed(tenant, workerId);
  }

  /**
   * Lets a worker go on whose time to resume has come by the store's clock; its tasks are due at once. Nothing happens
   * when that time has been changed meanwhile. Safe to be called by several processes at once.
   * @throws (rejects with) Fault when the store fails
   */
  async resume(tenant: string, workerId: string): Promise<void> {
    const nowMs = await this.#parts.store.now();
    const resumed = await this.#change(tenant, workerId, ({ dueAt, body }) => {
      if (dueAt === null || dueAt > nowMs) return null;
      // One that waits for a later time, or for none, is written all the same: it would be due for ever.
      if (body.paused && (body.resumeAt === null || body.resumeAt > nowMs)) return {};
      return { paused: false, pauseReason: null, resumeAt: null };
    });
    if (!resumed) return;
    this.#parts.logger.info('worker resumed', { tenant, worker: workerId });
    await this.#parts.store.setWakeup(tenant, workerId, nowMs);
    this.#changed(tenant, workerId);
  }

  /** @returns false where `change` says that there is nothing to do, or the worker is gone */
  async #change(
    tenant: string,
    workerId: string,
    change: (document: StoredDocument<'worker'>) => Partial<Worker> | null,
  ): Promise<boolean> {
    const { store } = this.#parts;
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const document = await store.getDocument(tenant, 'worker', workerId);
      const changes = document === null ? null : change(document);
      if (document === null || changes === null) return false;
      const body = { ...document.body, ...changes, updatedAt: await store.now() };
      const answer = await store.apply(tenant, [
        {
          op: 'put',
          kind: 'worker',
          id: workerId,
          expect: document.version,
          parent: document.parent,
          dueAt: body.paused ? body.resumeAt : null,
          unique: [`name:worker:${body.name}`],
          body,
        },
      ]);
      if (answer.kind === 'done') return true;
    }
    return false;
  }

  #changed(tenant: string, workerId: string): void {
    this.#parts.directory.changed(tenant);
    this.#parts.signals.tell('workerChanged', tenant, workerId);
  }
}

import { asError } from '../../../base/fault.ts';
import type { Service } from '../../../base/lifecycle.ts';
import type { Logger } from '../../../base/logger.ts';
import type { Signals } from '../../model/signals.ts';
import type { TaskStore } from '../../store/task-store.ts';

/**
 * For a process that pushes nothing itself: lets those that do look at a worker that was changed here, which may be one
 * that goes on after a pause.
 */
export class WorkerNews implements Service {
  readonly name = 'news of workers';
  readonly #store: Pick<TaskStore, 'now' | 'setWakeup'>;
  readonly #signals: Signals;
  readonly #logger: Logger;
  #unlisten: (() => void) | null = null;
  readonly #running = new Set<Promise<void>>();

  constructor(store: Pick<TaskStore, 'now' | 'setWakeup'>, signals: Signals, logger: Logger) {
    this.#store = store;
    this.#signals = signals;
    this.#logger = logger;
  }

  async start(): Promise<void> {
    this.#unlisten ??= this.#signals.listen({
      workerChanged: (tenant, workerId) => {
        const running = this.#pass(tenant, workerId).finally(() => this.#running.delete(running));
        this.#running.add(running);
      },
    });
  }

  async stop(): Promise<void> {
    this.#unlisten?.();
    this.#unlisten = null;
    await Promise.all(this.#running);
  }

  async #pass(tenant: string, workerId: string): Promise<void> {
    try {
      await this.#store.setWakeup(tenant, workerId, await this.#store.now());
    } catch (failure) {
      // They look at a paused worker every few seconds anyway.
      const reason = asError(failure).message;
      this.#logger.warning('other processes hear of a worker late', { tenant, worker: workerId, reason });
    }
  }
}

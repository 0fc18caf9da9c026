import type { Timer } from '../../../base/clock.ts';
import type { Service } from '../../../base/lifecycle.ts';
import { idTimeMs } from '../../model/ids.ts';
import type { TaskStore } from '../../store/task-store.ts';
import type { StoreOutage } from '../health/store-outage.ts';
import type { ThreadPart } from '../thread/tasks-thread.ts';
import type { PushAttempt, PushAttempts } from './push-attempts.ts';

/** How long a request to cancel that another process took may go unnoticed. */
const LOOK_MS = 1_000;
/** Shorter attempts are not looked up in the store: most end within this time. */
const LASTING_MS = 1_000;

const PAGE = 200;
/** Pages of running tasks that are read of one tenant; its bound on attempts keeps their number far below. */
const MAX_PAGES = 50;

/**
 * Aborts attempts of this process whose tasks were canceled through another process. Reads the running tasks of those
 * tenants only that have a long attempt here. It runs until the last attempt of a drain has ended.
 */
export class CancelWatch implements Service {
  readonly name = 'watch for canceled tasks';
  readonly #thread: ThreadPart<'list', 'clock'>;
  readonly #attempts: Pick<PushAttempts, 'lasting' | 'cancel'>;
  readonly #outage: StoreOutage;
  #timer: Timer | null = null;
  #stopped = false;

  constructor(
    thread: ThreadPart<'list', 'clock'>,
    attempts: Pick<PushAttempts, 'lasting' | 'cancel'>,
    outage: StoreOutage,
  ) {
    this.#thread = thread;
    this.#attempts = attempts;
    this.#outage = outage;
  }

  async start(): Promise<void> {
    this.#lookLater();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  #lookLater(): void {
    if (!this.#stopped) this.#timer = this.#thread.clock.after(LOOK_MS, () => void this.#look());
  }

  async #look(): Promise<void> {
    const { store } = this.#thread;
    try {
      const lasting = this.#outage.down ? [] : this.#attempts.lasting(LASTING_MS);
      for (const [tenant, ours] of lasting) {
        for (const id of await canceledOf(store, tenant, ours)) this.#attempts.cancel(tenant, id);
      }
    } catch {
      this.#outage.failed();
    }
    this.#lookLater();
  }
}

async function canceledOf(
  store: Pick<TaskStore, 'list'>,
  tenant: string,
  lasting: readonly PushAttempt[],
): Promise<string[]> {
  const ids = lasting.map(({ claimed }) => claimed.task.id).sort();
  const ours = new Set(ids);
  const last = ids[ids.length - 1];
  const canceled: string[] = [];
  let after: string | null = null;
  for (let page = 0; page < MAX_PAGES; page++) {
    const running = await store.list(tenant, {
      workerId: null,
      statuses: ['running'],
      scheduleId: null,
      createdFrom: idTimeMs(ids[0]),
      createdBefore: null,
      after,
      limit: PAGE,
      order: 'asc',
    });
    for (const { id, cancelRequestedAt } of running) {
      if (cancelRequestedAt !== null && ours.has(id)) canceled.push(id);
    }
    after = running.at(-1)?.id ?? last;
    if (running.length < PAGE || after >= last) break;
  }
  return canceled;
}

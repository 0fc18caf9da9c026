import { MINUTE_MS } from '../../../base/clock.ts';
import type { StoredDocument } from '../../store/documents.ts';
import type { ThreadPart } from '../thread/tasks-thread.ts';

/** Interval between two passes. */
export const LOOK_EVERY_MS = 30_000;

/** While no task is due, workers are looked at so often, for those that are new. */
const FULL_EVERY_MS = 30 * MINUTE_MS;

const TENANTS_AT_ONCE = 100;
const WORKERS_AT_ONCE = 100;

/**
 * Shows in the statistics how long the oldest due task of each worker has waited, also of pull workers whose tasks
 * nobody leases. The statistics never wait for the store: they show what the last pass has found, and it grows older.
 */
export class OldestDue {
  readonly #thread: ThreadPart<'tenants' | 'listDocuments' | 'search' | 'countDue', 'statistics' | 'clock'>;
  /** When the oldest due task of a worker became due, by the id of the worker. */
  readonly #since = new Map<string, number>();
  /** When all workers were last looked at. */
  #fullMs = Number.NEGATIVE_INFINITY;

  constructor(
    thread: ThreadPart<'tenants' | 'listDocuments' | 'search' | 'countDue', 'statistics' | 'clock'>,
  ) {
    this.#thread = thread;
  }

  /**
   * One pass over the workers with statistics of their own. It reads only one task of each.
   *
   * @param stopped returns true when the pass is to be aborted
   * @throws (rejects with) Fault when the store fails
   */
  async look(stopped: () => boolean): Promise<void> {
    const startMs = this.#thread.clock.nowMs();
    if (Math.abs(startMs - this.#fullMs) < FULL_EVERY_MS && (await this.#thread.store.countDue(1)) === 0) {
      this.#since.clear();
      return;
    }
    const before = new Set(this.#since.keys());
    let after: string | null = null;
    let tenants: readonly string[];
    do {
      tenants = await this.#thread.store.tenants(after, TENANTS_AT_ONCE);
      for (const tenant of tenants) {
        if (stopped()) return;
        if (await this.#lookAt(tenant, before, stopped)) continue;
        this.#fullMs = startMs;
        return;
      }
      after = tenants.at(-1) ?? null;
    } while (tenants.length === TENANTS_AT_ONCE);
    this.#fullMs = startMs;
    // What was not met is gone.
    for (const id of before) this.#since.delete(id);
  }

  /** Looks at the workers of a tenant. Returns false if no further worker can have statistics of its own. */
  async #lookAt(tenant: string, before: Set<string>, stopped: () => boolean): Promise<boolean> {
    let after: string | null = null;
    let workers: readonly StoredDocument<'worker'>[];
    do {
      const query = { kind: 'worker', after, limit: WORKERS_AT_ONCE, order: 'asc' } as const;
      workers = (await this.#thread.store.listDocuments(tenant, query)) as typeof workers;
      for (const worker of workers) {
        if (stopped()) return true;
        before.delete(worker.id);
        if (!(await this.#lookAtWorker(tenant, worker))) return false;
      }
      after = workers.at(-1)?.id ?? null;
    } while (workers.length === WORKERS_AT_ONCE);
    return true;
  }

  async #lookAtWorker(tenant: string, { id, body }: StoredDocument<'worker'>): Promise<boolean> {
    const { store, statistics, clock } = this.#thread;
    const isShown = statistics.readOldestDueMsOf(tenant, body.name, () => {
      const since = this.#since.get(id);
      return since === undefined ? 0 : Math.max(0, clock.nowMs() - since);
    });
    if (!isShown) return false;
    const { tasks } = await store.search(tenant, {
      ...OLDEST,
      workerId: id,
      createdBefore: clock.nowMs() + 1,
    });
    const since = tasks[0]?.dueAt ?? null;
    if (since === null) this.#since.delete(id);
    else this.#since.set(id, since);
    return true;
  }
}

/** Finds the task of a worker that has been due for the longest time. */
const OLDEST = {
  by: 'run_at',
  statuses: ['scheduled', 'retry'],
  scheduleId: null,
  createdFrom: null,
  after: null,
  limit: 1,
  order: 'asc',
  key: null,
  type: null,
  tag: null,
  group: null,
  error: null,
} as const;

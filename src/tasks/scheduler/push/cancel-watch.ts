import { idTimeMs } from '../../model/ids.ts';
import type { TaskStore } from '../../store/task-store.ts';
import type { PushAttempt, PushAttempts } from './push-attempts.ts';

/** Attempts that end sooner are not looked after: most do. */
const LASTING_MS = 1_000;

const PAGE = 200;
/** Pages of running tasks that are read of one tenant; its bound on attempts keeps their number far below. */
const MAX_PAGES = 50;

/**
 * Finds requests to cancel that other processes took: reads the running tasks of those tenants of which this process is
 * making an attempt that lasts. To be run every second or so; asks nothing where there is none.
 */
export async function findCanceled(store: Pick<TaskStore, 'list'>, attempts: PushAttempts): Promise<void> {
  for (const [tenant, lasting] of attempts.lasting(LASTING_MS)) {
    for (const id of await canceledOf(store, tenant, lasting)) attempts.cancel(tenant, id);
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

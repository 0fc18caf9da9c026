import type { Account, DocumentKind } from '../model/documents.ts';
import type { Signals } from '../model/signals.ts';
import { type Actor, TASK_STATUSES } from '../model/task.ts';
import type { DeleteDocument, StoredDocument } from '../store/documents.ts';
import type { TaskStore } from '../store/task-store.ts';
import { runAll } from './run-all.ts';

export interface AccountDeletionParts {
  readonly store: Pick<
    TaskStore,
    'apply' | 'listDocuments' | 'list' | 'change' | 'purge' | 'counts' | 'setWakeup' | 'now'
  >;
  readonly signals: Signals;
}

/** How long the domain of a deleted account cannot be taken by another one. */
export const DOMAIN_KEPT_MS = 30 * 86_400_000;
/** How much one look removes at most. The account stays due, so the next look goes on. */
const DOCUMENTS_AT_ONCE = 100;
const TASKS_AT_ONCE = 200;
const PURGED_AT_ONCE = 500;
const JOBS_AT_ONCE = 16;
/** How long until the next look while only running tasks are left. */
const RUNNING_MS = 1_000;

/** Workers first: without its worker, no task can be created. A table, so that no kind is forgotten. */
const BELONGINGS: Readonly<Record<Exclude<DocumentKind, 'account'>, true>> = {
  worker: true,
  schedule: true,
  secret: true,
  token: true,
  user: true,
  removal: true,
  audit: true,
};
const KINDS = Object.keys(BELONGINGS) as readonly DocumentKind[];
const OPEN = ['scheduled', 'retry', 'paused', 'running'] as const;
const DELETION: Actor = { type: 'system', id: 'deletion' };

/**
 * Goes on with the deletion of an account whose document is due: removes some of what it holds. If nothing is left, only
 * the account itself stays, without limits and keys, so that nobody takes its domain too early. When that time is over it
 * goes as well. Several processes may do this at once, and a crash at any moment leaves an account that is still due.
 *
 * @throws (rejects with) Fault of the store
 */
export async function deleteSome(
  parts: AccountDeletionParts,
  tenant: string,
  account: StoredDocument<'account'>,
): Promise<void> {
  const { store } = parts;
  const { kind, id, version, body } = account;
  if (body.deletion === undefined) return put(parts, tenant, account, body, null);
  if (body.status === 'deleted') {
    await store.apply(tenant, [{ op: 'delete', kind, id, expect: version }]);
    return;
  }
  for (const each of KINDS) if (await deleteDocuments(parts, tenant, each)) return;
  await cancelTasks(parts, tenant);
  // Of the tasks that have ended, all are to go.
  const { more } = await store.purge(tenant, { succeededMs: -1, otherMs: -1 }, PURGED_AT_ONCE);
  if (more) return;
  const counts = await store.counts(tenant, null);
  const left = TASK_STATUSES.reduce((sum, status) => sum + counts[status], 0);
  const now = await store.now();
  if (left > counts.running) return;
  if (left > 0) return put(parts, tenant, account, body, now + RUNNING_MS);
  const deletion = { ...body.deletion, finishedAt: now };
  const rest = { ...body, status: 'deleted', owners: 0, limits: {}, dataKey: null, deletion } as const;
  await put(parts, tenant, account, rest, now + DOMAIN_KEPT_MS);
}

/** Where somebody else was faster, the next look goes on. */
async function put(
  { store, signals }: AccountDeletionParts,
  tenant: string,
  { kind, id, version, parent }: StoredDocument<'account'>,
  body: Account,
  dueAt: number | null,
): Promise<void> {
  await store.apply(tenant, [{ op: 'put', kind, id, expect: version, parent, dueAt, unique: [], body }]);
  signals.tell('documentsChanged', tenant);
}

/** @returns whether there were any */
async function deleteDocuments(
  { store }: AccountDeletionParts,
  tenant: string,
  kind: DocumentKind,
): Promise<boolean> {
  const query = { kind, after: null, limit: DOCUMENTS_AT_ONCE, order: 'asc' } as const;
  const found = await store.listDocuments(tenant, query);
  if (found.length === 0) return false;
  const changes = found.map(({ id }): DeleteDocument => ({ op: 'delete', kind, id, expect: 'any' }));
  await store.apply(tenant, changes);
  if (kind === 'worker') {
    await runAll(
      found.map(
        ({ id }) =>
          () =>
            store.setWakeup(tenant, id, null),
      ),
      JOBS_AT_ONCE,
    );
  }
  return true;
}

/** Ends what has not ended. A running attempt is asked to stop; it ends, at the latest, with its lease. */
async function cancelTasks({ store, signals }: AccountDeletionParts, tenant: string): Promise<void> {
  const open = await store.list(tenant, {
    workerId: null,
    statuses: OPEN,
    scheduleId: null,
    createdFrom: null,
    createdBefore: null,
    after: null,
    limit: TASKS_AT_ONCE,
    order: 'asc',
  });
  const change = { action: 'cancel', patch: {}, expectVersion: null, actor: DELETION } as const;
  await runAll(
    open.map(({ id }) => async () => {
      const { task } = await store.change(tenant, id, change);
      if (task?.status === 'running') signals.tell('cancelRequested', tenant, id);
    }),
    JOBS_AT_ONCE,
  );
}

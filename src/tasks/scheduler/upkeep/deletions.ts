import { DAY_MS } from '../../../base/clock.ts';
import { forEachLimited } from '../../../base/for-each-limited.ts';
import type { AccountDeletion, DocumentKind } from '../../model/documents.ts';
import { type Actor, TASK_STATUSES } from '../../model/task.ts';
import type { DeleteDocument, StoredDocument } from '../../store/documents.ts';
import { putAgain } from '../../store/put-document.ts';
import type { TaskStore } from '../../store/task-store.ts';
import type { ThreadPart } from '../thread/tasks-thread.ts';

/** What the deletion of an account uses of its thread. */
export type DeletingThread = ThreadPart<
  'apply' | 'listDocuments' | 'list' | 'change' | 'purge' | 'forgetTenant' | 'counts' | 'setWakeup' | 'now',
  'signals'
>;

/** How long the domain of a deleted account cannot be taken by another one. */
export const DOMAIN_KEPT_MS = 30 * DAY_MS;
/**
 * How long after the first sweep the second one is. No request lasts as long: its body and its wait for tasks have
 * shorter bounds.
 */
const SECOND_SWEEP_MS = 10 * 60_000;
/** How much one look removes at most. The account stays due, so the next look goes on. */
const DOCUMENTS_AT_ONCE = 100;
const TASKS_AT_ONCE = 200;
const PURGED_AT_ONCE = 500;
/** Calls of `forgetTenant` in one look. */
const PARTS_AT_ONCE = 20;
const JOBS_AT_ONCE = 16;
/** How long until the next look while only running tasks are left. */
const RUNNING_MS = 1_000;

/** Workers first: without its worker, no task can be created. A table, so that no kind is forgotten. */
const BELONGINGS: Readonly<Record<Exclude<DocumentKind, 'account' | 'master_keys' | 'move'>, true>> = {
  worker: true,
  schedule: true,
  secret: true,
  token: true,
  user: true,
  removal: true,
  audit: true,
  callback: true,
};
const KINDS = Object.keys(BELONGINGS) as readonly DocumentKind[];
const OPEN = ['scheduled', 'retry', 'paused', 'running'] as const;
const DELETION: Actor = { type: 'system', id: 'deletion' };

/**
 * Goes on with the deletion of an account whose document is due: removes some of what it holds. If nothing is left, only
 * the account itself stays, without limits and keys, so that its domain is not taken too early. Writes of requests that
 * began before the deletion are removed by a second sweep, and by a third one when the domain becomes free. Then the
 * account goes as well. Several processes may do this at once, and a crash at any moment leaves an account that is due.
 *
 * @throws (rejects with) Fault of the store
 */
export async function deleteSome(
  thread: DeletingThread,
  tenant: string,
  account: StoredDocument<'account'>,
): Promise<void> {
  const { store } = thread;
  const { kind, id, version, body } = account;
  const { deletion } = body;
  if (deletion === undefined) return put(thread, tenant, { ...account, dueAt: null });
  const left = await sweep(thread, tenant, deletion);
  if (left === 'more') return;
  const now = await store.now();
  const { place: _, ...rest } = deletion;
  if (left === 'running') return put(thread, tenant, { ...account, dueAt: now + RUNNING_MS });
  if (left !== null) {
    return put(thread, tenant, { ...account, body: { ...body, deletion: { ...rest, ...left } } });
  }
  if (rest.finishedAt === null) {
    const ended = { ...rest, finishedAt: now };
    const shown = {
      ...body,
      status: 'deleted',
      owners: 0,
      limits: {},
      dataKey: null,
      deletion: ended,
    } as const;
    return put(thread, tenant, { ...account, body: shown, dueAt: now + SECOND_SWEEP_MS });
  }
  const freeAt = rest.finishedAt + DOMAIN_KEPT_MS;
  if (now < freeAt) {
    return put(thread, tenant, { ...account, body: { ...body, deletion: rest }, dueAt: freeAt });
  }
  await store.apply(tenant, [{ op: 'delete', kind, id, expect: version }]);
}

/** The remainder after a part of a sweep: more of it, running tasks, the rest behind a place of the store, or nothing. */
type Left = 'more' | 'running' | { readonly place: string } | null;

async function sweep(thread: DeletingThread, tenant: string, deletion: AccountDeletion): Promise<Left> {
  const { store } = thread;
  for (const kind of KINDS) if (await deleteDocuments(thread, tenant, kind)) return 'more';
  await cancelTasks(thread, tenant);
  // Of the tasks that have ended, all are to go.
  const { more } = await store.purge(tenant, { succeededMs: -1, otherMs: -1 }, PURGED_AT_ONCE);
  if (more) return 'more';
  const counts = await store.counts(tenant, null);
  const left = TASK_STATUSES.reduce((sum, status) => sum + counts[status], 0);
  if (left > counts.running) return 'more';
  if (left > 0) return 'running';
  // Tasks that have ended since may have left more of them.
  if (await deleteDocuments(thread, tenant, 'callback')) return 'more';
  let place = await store.forgetTenant(tenant, deletion.place ?? null);
  for (let part = 1; part < PARTS_AT_ONCE && place !== null; part++) {
    place = await store.forgetTenant(tenant, place);
  }
  return place === null ? null : { place };
}

/** If another process was faster, the next look continues. */
async function put(
  { store, signals }: DeletingThread,
  tenant: string,
  account: StoredDocument<'account'>,
): Promise<void> {
  await store.apply(tenant, [putAgain(account, account.body)]);
  signals.tell('documentsChanged', tenant);
}

/** @returns whether there were any */
async function deleteDocuments(
  { store }: DeletingThread,
  tenant: string,
  kind: DocumentKind,
): Promise<boolean> {
  const query = { kind, after: null, limit: DOCUMENTS_AT_ONCE, order: 'asc' } as const;
  const found = await store.listDocuments(tenant, query);
  if (found.length === 0) return false;
  const changes = found.map(({ id }): DeleteDocument => ({ op: 'delete', kind, id, expect: 'any' }));
  await store.apply(tenant, changes);
  if (kind === 'worker') {
    await forEachLimited(found, JOBS_AT_ONCE, ({ id }) => store.setWakeup(tenant, id, null));
  }
  return true;
}

/** Ends what has not ended. A running attempt is asked to stop; it ends, at the latest, with its lease. */
async function cancelTasks({ store, signals }: DeletingThread, tenant: string): Promise<void> {
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
  await forEachLimited(open, JOBS_AT_ONCE, async ({ id }) => {
    const { task } = await store.change(tenant, id, change);
    if (task?.status === 'running') signals.tell('cancelRequested', tenant, id);
  });
}

/** How long until a removal is looked at first: a push that is to stop ends within this. */
export const FIRST_REMOVAL_LOOK_MS = 1_000;
/** And then every so often: a pull worker learns of it with its next heartbeat. */
const NEXT_REMOVAL_LOOK_MS = 5_000;

/**
 * Looks at a removal that is due: removes the task if it has ended, and puts the removal off while it runs. Several
 * processes may look at the same one at once.
 *
 * @throws (rejects with) Fault of the store
 */
export async function lookAtRemoval(
  store: Pick<TaskStore, 'remove' | 'apply' | 'now'>,
  tenant: string,
  document: StoredDocument<'removal'>,
): Promise<void> {
  const { kind, id, body } = document;
  const answer = await store.remove(tenant, id, null);
  if (answer === 'running') {
    const dueAt = (await store.now()) + NEXT_REMOVAL_LOOK_MS;
    await store.apply(tenant, [putAgain(document, body, { dueAt })]);
    return;
  }
  await store.apply(tenant, [{ op: 'delete', kind, id, expect: 'any' }]);
}

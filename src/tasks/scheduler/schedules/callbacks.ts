import type { Account, Callback } from '../../model/documents.ts';
import { type IdMaker, idTimeMs } from '../../model/ids.ts';
import type { TaskError } from '../../model/task.ts';
import { newContent } from '../../model/task-content.ts';
import { callbackHeaders } from '../../model/task-headers.ts';
import { formatTime } from '../../model/time.ts';
import type { DeleteDocument, StoredDocument } from '../../store/documents.ts';
import { putAgain } from '../../store/put-document.ts';
import type { NewTask } from '../../store/requests.ts';
import type { ThreadPart } from '../thread/tasks-thread.ts';

/** What callbacks use of their thread. */
export type CallbackThread = ThreadPart<
  'getDocument' | 'create' | 'apply',
  'directory' | 'signals' | 'limits' | 'logger'
> & { readonly ids: IdMaker };

/**
 * How long callbacks wait that cannot be created for a reason that may pass: an account that is suspended, or more open
 * tasks than {@link maxOpenOf} allows.
 */
const POSTPONE_MS = 60_000;
const CREATOR = { type: 'system', id: 'callbacks' } as const;

/** An ended task, and the worker to notify. */
interface Telling {
  readonly document: StoredDocument<'callback'>;
  /** Null: there is no such worker (any more). */
  readonly worker: StoredDocument<'worker'> | null;
}

/**
 * Creates the tasks that notify workers of the ends of other tasks. The document of each callback is deleted in the step
 * that creates its task, so each callback happens once, even with several processes and crashes. Callbacks for deleted
 * workers are dropped, with a line in the log.
 *
 * @param documents of one tenant, all due
 * @param now by the store's clock
 * @returns how many of the documents are not due any more
 * @throws (rejects with) Fault when the store fails; what was not written is still due
 */
export async function createCallbacks(
  thread: CallbackThread,
  tenant: string,
  documents: readonly StoredDocument<'callback'>[],
  now: number,
): Promise<number> {
  const account = (await thread.directory.account(tenant))?.body;
  if (account?.status !== 'active') return postpone(thread, tenant, documents, now);
  const tellings = await Promise.all(
    documents.map(async document => ({ document, worker: await workerOf(thread, tenant, document.parent) })),
  );
  const gone = tellings.filter(({ worker }) => worker === null);
  const left = tellings.filter(({ worker }) => worker !== null);
  const dropped = gone.length === 0 ? 0 : await drop(thread, tenant, gone);
  return dropped + (left.length === 0 ? 0 : await create(thread, tenant, left, { account, now }));
}

interface Step {
  readonly account: Account;
  readonly now: number;
}

/**
 * Creates all in one step. If tasks are refused, none is created, and the store says which are refused: those are dropped
 * or postponed together. The number of writes therefore does not depend on the number of callbacks, and other tenants do
 * not wait for long.
 */
async function create(
  thread: CallbackThread,
  tenant: string,
  tellings: readonly Telling[],
  step: Step,
): Promise<number> {
  const answer = await thread.store.create(tenant, {
    tasks: tellings.flatMap(telling => taskOf(thread, telling)),
    atomic: true,
    maxOpen: maxOpenOf(thread, step.account),
    documents: tellings.map(deletionOf),
    actor: CREATOR,
  });
  if (answer.kind !== 'done') return createPresent(thread, tenant, tellings, step);
  const refusedFor = (reason: string) => {
    return tellings.filter((_, i) => {
      const result = answer.results[i];
      return result.kind === 'refused' && result.reason === reason;
    });
  };
  const gone = refusedFor('worker_missing');
  const beyond = refusedFor('quota_exceeded');
  if (gone.length + beyond.length === 0) {
    tellDue(thread, tenant, tellings, step.now);
    return tellings.length;
  }
  const others = refusedFor('not_created');
  const created = others.length === 0 ? 0 : await create(thread, tenant, others, step);
  const dropped = gone.length === 0 ? 0 : await drop(thread, tenant, gone);
  const waiting = beyond.map(({ document }) => document);
  return created + dropped + (beyond.length === 0 ? 0 : await postpone(thread, tenant, waiting, step.now));
}

/** Another process may have created some or all of them: those are left out. */
async function createPresent(
  thread: CallbackThread,
  tenant: string,
  tellings: readonly Telling[],
  step: Step,
): Promise<number> {
  const present = await Promise.all(
    tellings.map(async ({ document: { id, version } }) => {
      return (await thread.store.getDocument(tenant, 'callback', id))?.version === version;
    }),
  );
  const left = tellings.filter((_, i) => present[i]);
  // If all are present, they are tried again when the store is read next.
  if (left.length === 0 || left.length === tellings.length) return 0;
  return create(thread, tenant, left, step);
}

/**
 * A callback takes the place of the task that has ended, so it is created at the quota, too. Tasks of callers may have
 * taken that place first; they are refused from the quota on, which leaves room for callbacks up to twice as many.
 */
function maxOpenOf({ limits }: CallbackThread, account: Account): number {
  return 2 * (account.limits.openTasks ?? limits.openTasks);
}

function taskOf({ ids }: CallbackThread, { document, worker }: Telling): NewTask[] {
  return worker === null ? [] : [callbackTask(ids, document.body, worker)];
}

function deletionOf({ document: { kind, id, version } }: Telling): DeleteDocument {
  return { op: 'delete', kind, id, expect: version };
}

function tellDue(
  { signals }: CallbackThread,
  tenant: string,
  tellings: readonly Telling[],
  at: number,
): void {
  for (const workerId of new Set(tellings.map(({ document }) => document.parent))) {
    signals.tell('taskDue', tenant, workerId, at);
  }
}

async function workerOf(
  { directory, store }: CallbackThread,
  tenant: string,
  id: string,
): Promise<StoredDocument<'worker'> | null> {
  // The directory also caches for a second that a worker is missing, and the worker may be newer.
  return (await directory.worker(tenant, id)) ?? store.getDocument(tenant, 'worker', id);
}

/** Drops all in one step. If another process has handled one of them, the others are still due. */
async function drop(
  { store, logger }: CallbackThread,
  tenant: string,
  tellings: readonly Telling[],
): Promise<number> {
  if ((await store.apply(tenant, tellings.map(deletionOf))).kind !== 'done') return 0;
  for (const { document } of tellings) {
    logger.warning('Callback dropped because its worker was deleted', {
      tenant,
      task: document.body.taskId,
      worker: document.parent,
    });
  }
  return tellings.length;
}

async function postpone(
  { store }: CallbackThread,
  tenant: string,
  documents: readonly StoredDocument<'callback'>[],
  now: number,
): Promise<number> {
  const dueAt = now + POSTPONE_MS;
  const answer = await store.apply(
    tenant,
    documents.map(document => putAgain(document, document.body, { dueAt })),
  );
  return answer.kind === 'done' ? documents.length : 0;
}

/**
 * The task that notifies a worker of the end of another task. It has no callback itself, so workers that name each other do
 * not cause an endless loop.
 *
 * @param worker the worker to notify
 */
function callbackTask(ids: IdMaker, callback: Callback, worker: StoredDocument<'worker'>): NewTask {
  const defaults = worker.body;
  const id = ids.next('task');
  return {
    task: {
      id,
      workerId: worker.id,
      worker: defaults.name,
      ...newContent({ type: `task.${callback.status}` }, defaults),
      runAt: { afterMs: 0 },
      expiresAt: null,
      key: null,
      keyTtlMs: 0,
      group: null,
      scheduleId: null,
      scheduledFor: null,
      heldBy: null,
      onFinish: null,
      createdBy: { type: 'task', id: callback.taskId },
      createdAt: idTimeMs(id),
    },
    body: { payload: payloadOf(callback), headers: callbackHeaders(callback.trace) },
    onConflict: 'return',
    wake: defaults.mode === 'push',
  };
}

/** The payload for the worker; described in `docs/tasks/receivers.md`. The result is JSON already, and stays as it is. */
function payloadOf(callback: Callback): string {
  const { taskId, status, lastError, result } = callback;
  const path = `/api/v1/tasks/${taskId}`;
  const notice = {
    id: taskId,
    worker: callback.worker,
    worker_id: callback.workerId,
    type: callback.type,
    key: callback.key,
    tags: callback.tags,
    status,
    attempts: callback.attempt,
    // One that has succeeded keeps the error of the attempt before.
    error: status === 'succeeded' || lastError === null ? null : errorOf(lastError),
    finished_at: formatTime(callback.finishedAt),
    links: { task: path, history: `${path}/history` },
    result_omitted: callback.resultOmitted,
  };
  return `${JSON.stringify(notice).slice(0, -1)},"result":${result}}`;
}

function errorOf({ code, message, httpStatus, at }: TaskError): object {
  return { code, message, ...(httpStatus !== undefined && { http_status: httpStatus }), at: formatTime(at) };
}

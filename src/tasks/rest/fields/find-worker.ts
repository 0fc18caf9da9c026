import { isId } from '../../model/ids.ts';
import type { Directory } from '../../store/directory.ts';
import type { StoredDocument } from '../../store/documents.ts';
import type { TaskStore } from '../../store/task-store.ts';
import { Problem } from '../checks/problem.ts';

/** What a worker can be named. An id is no name, so that one is never taken for the other. */
const WORKER_NAME = /^(?!wrk_)[a-z0-9][a-z0-9._-]{0,62}$/;

/** True when a text can be the id or the name of a worker: everything else is not looked for. */
function canBeWorker(idOrName: string): boolean {
  return isId('worker', idOrName) || WORKER_NAME.test(idOrName);
}

/** A worker by id or name, at most a second old; null when there is none. */
export async function findWorker(
  directory: Directory,
  tenant: string,
  idOrName: string,
): Promise<StoredDocument<'worker'> | null> {
  return canBeWorker(idOrName) ? directory.worker(tenant, idOrName) : null;
}

/**
 * A worker by id or name, as it is in the store now.
 *
 * @throws Problem not_found
 */
export async function readWorker(
  store: TaskStore,
  tenant: string,
  idOrName: string,
): Promise<StoredDocument<'worker'>> {
  const found = canBeWorker(idOrName) ? await lookUp(store, tenant, idOrName) : null;
  if (found === null) throw noSuchWorker(idOrName);
  return found;
}

async function lookUp(
  store: TaskStore,
  tenant: string,
  idOrName: string,
): Promise<StoredDocument<'worker'> | null> {
  if (isId('worker', idOrName)) return store.getDocument(tenant, 'worker', idOrName);
  const found = await store.findDocument(tenant, `name:worker:${idOrName}`);
  return found?.kind === 'worker' ? (found as StoredDocument<'worker'>) : null;
}

export function noSuchWorker(idOrName: string): Problem {
  return new Problem(
    'not_found',
    `there is no worker ${JSON.stringify(idOrName.slice(0, 64))}: give the name or the id of one`,
  );
}

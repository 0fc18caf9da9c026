import type { DocumentKind } from '../../model/documents.ts';
import { isId } from '../../model/ids.ts';
import type { Directory } from '../../store/directory.ts';
import type { StoredDocument } from '../../store/documents.ts';
import { documentName } from '../../store/put-document.ts';
import type { TaskStore } from '../../store/task-store.ts';
import { Problem } from '../checks/problem.ts';

type Reads = Pick<TaskStore, 'getDocument' | 'findDocument'>;

/** Names that a document can have. An id is never a valid name, so the two cannot be confused. */
const NAMES = {
  worker: /^(?!wrk_)[a-z0-9][a-z0-9._-]{0,62}$/,
  schedule: /^(?!sch_)[a-z0-9][a-z0-9._-]{0,62}$/,
} as const satisfies Partial<Record<DocumentKind, RegExp>>;

type NamedKind = keyof typeof NAMES;

/** Looks up a worker by id or name. The result may be one second old; null if there is no such worker. */
export async function findWorker(
  directory: Directory,
  tenant: string,
  idOrName: string,
): Promise<StoredDocument<'worker'> | null> {
  const isPossible = isId('worker', idOrName) || NAMES.worker.test(idOrName);
  return isPossible ? directory.worker(tenant, idOrName) : null;
}

/**
 * Reads the current version of a worker by id or name.
 *
 * @throws Problem `not_found`
 */
export async function readWorker(
  store: Reads,
  tenant: string,
  idOrName: string,
): Promise<StoredDocument<'worker'>> {
  const found = await lookUp(store, tenant, 'worker', idOrName);
  if (found === null) throw noSuchWorker(idOrName);
  return found;
}

/**
 * Reads the current version of a schedule by id or name.
 *
 * @throws Problem `not_found`
 */
export async function readSchedule(
  store: Reads,
  tenant: string,
  idOrName: string,
): Promise<StoredDocument<'schedule'>> {
  const found = await lookUp(store, tenant, 'schedule', idOrName);
  if (found === null) throw noSuchSchedule(idOrName);
  return found;
}

async function lookUp<K extends NamedKind>(
  store: Reads,
  tenant: string,
  kind: K,
  idOrName: string,
): Promise<StoredDocument<K> | null> {
  if (isId(kind, idOrName)) return store.getDocument(tenant, kind, idOrName);
  if (!NAMES[kind].test(idOrName)) return null;
  const found = await store.findDocument(tenant, documentName(kind, idOrName));
  return found?.kind === kind ? (found as StoredDocument<K>) : null;
}

export function noSuchWorker(idOrName: string): Problem {
  return notFound('worker', idOrName);
}

export function noSuchSchedule(idOrName: string): Problem {
  return notFound('schedule', idOrName);
}

function notFound(kind: NamedKind, idOrName: string): Problem {
  const shown = JSON.stringify(idOrName.slice(0, 64));
  return new Problem('not_found', `There is no ${kind} ${shown}.`);
}

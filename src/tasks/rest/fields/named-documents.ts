import type { DocumentKind } from '../../model/documents.ts';
import { isId } from '../../model/ids.ts';
import type { Directory } from '../../store/directory.ts';
import type { StoredDocument } from '../../store/documents.ts';
import { documentName } from '../../store/put-document.ts';
import type { TaskStore } from '../../store/task-store.ts';
import { Problem } from '../checks/problem.ts';
import type { Call } from '../http/route.ts';

/** Names that a document can have. An id is never a valid name, so the two cannot be confused. */
const NAMES = {
  worker: /^(?!wrk_)[a-z0-9][a-z0-9._-]{0,62}$/,
  schedule: /^(?!sch_)[a-z0-9][a-z0-9._-]{0,62}$/,
} as const satisfies Partial<Record<DocumentKind, RegExp>>;

/** The kinds of documents that have names. */
export type NamedKind = keyof typeof NAMES;

/** Whether a document of this kind can have this name. */
export function isNameOf(kind: NamedKind, text: string): boolean {
  return NAMES[kind].test(text);
}

/** Looks up a worker by id or name. The result may be one second old; null if there is no such worker. */
export async function findWorker(
  directory: Directory,
  tenant: string,
  idOrName: string,
): Promise<StoredDocument<'worker'> | null> {
  const isPossible = isId('worker', idOrName) || isNameOf('worker', idOrName);
  return isPossible ? directory.worker(tenant, idOrName) : null;
}

/**
 * Reads the current version of the worker or schedule whose id or name is `:id` in the path of a call.
 *
 * @throws Problem `not_found`
 */
export async function readNamed<K extends NamedKind>(
  store: Pick<TaskStore, 'getDocument' | 'findDocument'>,
  { tenant, params }: Pick<Call, 'tenant' | 'params'>,
  kind: K,
): Promise<StoredDocument<K>> {
  const idOrName = params['id'];
  if (isId(kind, idOrName)) {
    const found = await store.getDocument(tenant, kind, idOrName);
    if (found !== null) return found;
  } else if (isNameOf(kind, idOrName)) {
    const found = await store.findDocument(tenant, documentName(kind, idOrName));
    if (found?.kind === kind) return found as StoredDocument<K>;
  }
  throw noSuch(kind, idOrName);
}

/** The response if there is no worker or schedule with this id or name. */
export function noSuch(kind: NamedKind, idOrName: string): Problem {
  const shown = JSON.stringify(idOrName.slice(0, 64));
  return new Problem('not_found', `There is no ${kind} ${shown}.`);
}

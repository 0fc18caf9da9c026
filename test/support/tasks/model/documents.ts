import { isFinal } from '../../../../src/tasks/model/task.ts';
import {
  type DeleteDocument,
  type DocumentChange,
  type DocumentQuery,
  type DocumentRefusal,
  MAX_DROPPED,
  type PutDocument,
  type StoredDocument,
} from '../../../../src/tasks/store/documents.ts';
import { compareText, documentName, type TenantState } from './state.ts';

type Applied =
  | { readonly kind: 'done'; readonly versions: readonly number[] }
  | { readonly kind: 'refused'; readonly index: number; readonly reason: DocumentRefusal };

/** Applies the changes, in order, up to the first that is refused: to be called with a copy of the state. */
export function applyChanges(state: TenantState, changes: readonly DocumentChange[]): Applied {
  const versions: number[] = [];
  for (const [index, change] of changes.entries()) {
    const reason = change.op === 'put' ? putRefusal(state, change) : deleteRefusal(state, change);
    if (reason !== null) return { kind: 'refused', index, reason };
    versions.push(change.op === 'put' ? put(state, change) : remove(state, change));
  }
  return { kind: 'done', versions };
}

function putRefusal(state: TenantState, change: PutDocument): DocumentRefusal | null {
  const name = documentName(change.kind, change.id);
  const present = state.documents.get(name)?.document;
  if (change.expect === 'absent' && present !== undefined) return 'exists';
  if (typeof change.expect === 'number') {
    if (present === undefined) return 'missing';
    if (present.version !== change.expect) return 'version';
  }
  for (const [other, { unique }] of state.documents) {
    if (other !== name && unique.some(text => change.unique.includes(text))) return 'name_taken';
  }
  if (present === undefined && change.atMost !== undefined) {
    const siblings = all(state).filter(
      ({ kind, parent }) => kind === change.kind && parent === change.parent,
    );
    if (siblings.length >= change.atMost) return 'too_many';
  }
  return null;
}

function put(state: TenantState, change: PutDocument): number {
  const { kind, id, parent, dueAt, body, unique, keepNewest } = change;
  const name = documentName(kind, id);
  const version = (state.documents.get(name)?.document.version ?? 0) + 1;
  state.documents.set(name, { document: { kind, id, version, parent, dueAt, body }, unique });
  if (version > 1 || keepNewest === undefined) return version;
  const siblings = all(state).filter(other => other.kind === kind && other.parent === parent);
  const excess = Math.max(0, siblings.length - keepNewest);
  for (const old of siblings.slice(0, Math.min(excess, MAX_DROPPED))) {
    state.documents.delete(documentName(kind, old.id));
  }
  return version;
}

function deleteRefusal(state: TenantState, change: DeleteDocument): DocumentRefusal | null {
  const present = state.documents.get(documentName(change.kind, change.id))?.document;
  if (present === undefined) return 'missing';
  if (change.expect !== 'any' && present.version !== change.expect) return 'version';
  const open = [...state.tasks.values()].some(
    ({ task }) => task.workerId === change.noOpenTasksOf && !isFinal(task.status),
  );
  return open ? 'has_tasks' : null;
}

function remove(state: TenantState, { kind, id, children }: DeleteDocument): number {
  state.documents.delete(documentName(kind, id));
  if (kind === 'worker') {
    state.buckets.delete(id);
    state.throttles.delete(id);
  }
  for (const child of all(state)) {
    if (child.kind === children && child.parent === id)
      state.documents.delete(documentName(child.kind, child.id));
  }
  return 0;
}

/** All documents, by id. */
function all(state: TenantState): StoredDocument[] {
  return [...state.documents.values()]
    .map(({ document }) => document)
    .sort((a, b) => compareText(a.id, b.id));
}

export function findByName(state: TenantState, name: string): StoredDocument | null {
  for (const { document, unique } of state.documents.values()) if (unique.includes(name)) return document;
  return null;
}

export function listDocuments(state: TenantState, query: DocumentQuery): StoredDocument[] {
  const { kind, parent, after, limit, order } = query;
  const found = all(state).filter(
    document => document.kind === kind && (parent === undefined || document.parent === parent),
  );
  if (order === 'desc') found.reverse();
  const beyond = found.filter(({ id }) => after === null || (order === 'asc' ? id > after : id < after));
  return beyond.slice(0, limit);
}

export function dueDocuments(state: TenantState, now: number): StoredDocument[] {
  return all(state).filter(({ dueAt }) => dueAt !== null && dueAt <= now);
}

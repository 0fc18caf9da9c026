import type { DocumentBodies, DocumentKind } from '../model/documents.ts';
import {
  FINAL_STATUSES,
  type FinalStatus,
  isFinal,
  type OnFinish,
  type Task,
  type TaskBody,
} from '../model/task.ts';
import { traceTextOf } from '../model/task-headers.ts';

/** Maximum number of documents that one `keepNewest` deletes. */
export const MAX_DROPPED = 10;

/** The id of the single document of kind `account` of a tenant. */
export const ACCOUNT_ID = 'account';

/**
 * The tenant of documents that are about the service itself. It has no account, so it is in no list of tenants, and no
 * account can have its name.
 */
export const SERVICE = '.service';

/** A stored document. */
export interface StoredDocument<K extends DocumentKind = DocumentKind> {
  readonly kind: K;
  readonly id: string;
  /** Starts at 1 and increases by one with each change. */
  readonly version: number;
  /** The id of the document that it belongs to, for example the user of a token; empty for none. */
  readonly parent: string;
  /** When the document is due; null for never. See `TaskStore.dueDocuments`. */
  readonly dueAt: number | null;
  readonly body: DocumentBodies[K];
}

/** A tenant with its account. */
export interface TenantAccount {
  readonly tenant: string;
  readonly account: StoredDocument<'account'> | null;
}

/** Creates or replaces a document. */
export interface PutDocument<K extends DocumentKind = DocumentKind> {
  readonly op: 'put';
  readonly kind: K;
  readonly id: string;
  /** The version to replace. `absent`: the document must not exist. `any`: create or replace it. */
  readonly expect: number | 'absent' | 'any';
  readonly parent: string;
  readonly dueAt: number | null;
  /** All names by which it can be found, instead of its previous names. Names are unique for each tenant. */
  readonly unique: readonly string[];
  readonly body: DocumentBodies[K];
  /** Maximum number of documents of this kind with this parent, including this one. Applies only if the document is new. */
  readonly atMost?: number;
  /**
   * How many documents of this kind with this parent are kept. Those with the lowest ids are deleted in the same step,
   * at most {@link MAX_DROPPED}. Applies only if the document is new.
   */
  readonly keepNewest?: number;
}

/** Deletes a document with its names. */
export interface DeleteDocument {
  readonly op: 'delete';
  readonly kind: DocumentKind;
  readonly id: string;
  readonly expect: number | 'any';
  /** Refused while this worker has tasks in a status that is not final. */
  readonly noOpenTasksOf?: string;
  /** Also deletes all documents of this kind whose parent is the deleted document. */
  readonly children?: DocumentKind;
}

export type DocumentChange = PutDocument | DeleteDocument;

/**
 * Why a change was refused:
 *
 * - `exists`: the document exists and must not
 * - `missing`: the document does not exist
 * - `version`: the document has another version
 * - `name_taken`: another document of the tenant has one of the unique names
 * - `too_many`: `atMost` is reached
 * - `has_tasks`: there are open tasks
 */
export type DocumentRefusal = 'exists' | 'missing' | 'version' | 'name_taken' | 'too_many' | 'has_tasks';

export interface DocumentQuery {
  readonly kind: DocumentKind;
  /** Only documents with this parent; if it is left out, all of the kind. */
  readonly parent?: string;
  /** Only documents after this id, in the order of the query; null for the first ones. */
  readonly after: string | null;
  readonly limit: number;
  /** By id. */
  readonly order: 'asc' | 'desc';
}

/** A tenant with many due documents gets at least this many at a time, because each share is a query of its own. */
export const LEAST_DOCUMENTS = 8;

/** Maximum number and size of due documents: of an answer, or of one tenant in it. */
export interface DueShare {
  readonly documents: number;
  readonly bytes: number;
}

/**
 * Divides an answer between the tenants that have due documents, so that a tenant with very many of them does not delay
 * the schedules of the others.
 *
 * @param tenants number of tenants with due documents; at least 1
 * @param max limits of the whole answer
 */
export function dueShare(tenants: number, max: DueShare): DueShare {
  return {
    documents: Math.min(max.documents, Math.max(LEAST_DOCUMENTS, Math.ceil(max.documents / tenants))),
    bytes: Math.ceil(max.bytes / tenants),
  };
}

/**
 * Sorts tenants for one answer: those that follow `after`, then the others. An answer that starts where the previous one
 * ended reaches every tenant, however few of them fit.
 */
export function inTurnsAfter<T extends string | number>(
  tenants: readonly T[],
  after: T | null,
): readonly T[] {
  const sorted = tenants.toSorted((a, b) => (a < b ? -1 : 1));
  if (after === null) return sorted;
  const first = sorted.findIndex(tenant => tenant > after);
  return first <= 0 ? sorted : [...sorted.slice(first), ...sorted.slice(0, first)];
}

/** A larger result, in bytes of JSON, is not included in a callback. */
export const MAX_CALLBACK_RESULT = 16 * 1024;

/**
 * The document that a store writes when a task reaches a final status; null if the task has no callback for that status.
 *
 * @param task the task in its final status
 */
export function callbackDocument(
  task: Task,
  { result, headers }: Pick<TaskBody, 'result' | 'headers'>,
): StoredDocument<'callback'> | null {
  const { onFinish, status, finishedAt } = task;
  const trace = traceTextOf(headers);
  if (onFinish === null || finishedAt === null || !isFinal(status)) return null;
  if (!onFinish.events.includes(status)) return null;
  const resultOmitted = result !== null && Buffer.byteLength(result) > MAX_CALLBACK_RESULT;
  return {
    kind: 'callback',
    // A replayed task can end again before this callback was delivered.
    id: `${task.id}.${task.version}`,
    version: 1,
    parent: onFinish.workerId,
    dueAt: finishedAt,
    body: {
      taskId: task.id,
      workerId: task.workerId,
      worker: task.worker,
      type: task.type,
      key: task.key,
      tags: task.tags,
      status,
      attempt: task.attempt,
      lastError: task.lastError,
      result: resultOmitted ? null : result,
      resultOmitted,
      finishedAt,
      ...(trace !== null && { trace }),
    },
  };
}

/** The form in stores: `<bits> <id of the worker>`. The lowest bit is the first of {@link FINAL_STATUSES}. */
export function onFinishText(onFinish: OnFinish | null): string | null {
  if (onFinish === null) return null;
  const bits = FINAL_STATUSES.reduce(
    (sum, status, i) => sum + (onFinish.events.includes(status) ? 2 ** i : 0),
    0,
  );
  return `${bits} ${onFinish.workerId}`;
}

/** @param text of {@link onFinishText} */
export function onFinishOf(text: string | null): OnFinish | null {
  if (text === null) return null;
  const space = text.indexOf(' ');
  const bits = Number(text.slice(0, space));
  const events: FinalStatus[] = FINAL_STATUSES.filter((_, i) => Math.floor(bits / 2 ** i) % 2 === 1);
  return { workerId: text.slice(space + 1), events };
}

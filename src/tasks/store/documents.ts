import type { DocumentBodies, DocumentKind } from '../model/documents.ts';

/** How many older documents one `keepNewest` deletes at most. */
export const MAX_DROPPED = 10;

/** The id of the one document of kind `account` that a tenant has. */
export const ACCOUNT_ID = 'account';

/** A document as a store has it. */
export interface StoredDocument<K extends DocumentKind = DocumentKind> {
  readonly kind: K;
  readonly id: string;
  /** Grows by one with each change, from 1. */
  readonly version: number;
  /** The id of the document that it belongs to, such as the user of a token; empty for none. */
  readonly parent: string;
  /** When it wants to be looked at; null for never. See `TaskStore.dueDocuments`. */
  readonly dueAt: number | null;
  readonly body: DocumentBodies[K];
}

/** Writes a document, whole. */
export interface PutDocument<K extends DocumentKind = DocumentKind> {
  readonly op: 'put';
  readonly kind: K;
  readonly id: string;
  /** The version that is to be replaced; `absent`: there must be none; `any`: whatever there is, or nothing. */
  readonly expect: number | 'absent' | 'any';
  readonly parent: string;
  readonly dueAt: number | null;
  /** All names under which it is to be found, in place of those that it had: unique among those of its tenant. */
  readonly unique: readonly string[];
  readonly body: DocumentBodies[K];
  /** Only when there are fewer of this kind, with this parent, than so many. Looked at where the document is new. */
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
  /** Only when no task of this worker is in a status that is not final. */
  readonly noOpenTasksOf?: string;
  /** Documents of this kind whose parent is the deleted one go with it. */
  readonly children?: DocumentKind;
}

export type DocumentChange = PutDocument | DeleteDocument;

/**
 * Why a change was not made:
 *
 * - `exists`: there is one, where there must be none
 * - `missing`: there is none
 * - `version`: it has another version
 * - `name_taken`: another document of the tenant has one of the unique names
 * - `too_many`: `atMost` is reached
 * - `has_tasks`: there are open tasks
 */
export type DocumentRefusal = 'exists' | 'missing' | 'version' | 'name_taken' | 'too_many' | 'has_tasks';

export interface DocumentQuery {
  readonly kind: DocumentKind;
  /** Only those with this parent; without it, all of the kind. */
  readonly parent?: string;
  /** Only those after this id, in the order asked for. */
  readonly after: string | null;
  readonly limit: number;
  /** By id. */
  readonly order: 'asc' | 'desc';
}

import type { DocumentBodies, DocumentKind } from '../model/documents.ts';

/** Maximum number of documents that one `keepNewest` deletes. */
export const MAX_DROPPED = 10;

/** The id of the single document of kind `account` of a tenant. */
export const ACCOUNT_ID = 'account';

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

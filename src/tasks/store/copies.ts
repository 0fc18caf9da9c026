import type { Account, DocumentKind } from '../model/documents.ts';
import { bodyBytes, type HistoryEntry, type Task, type TaskBody } from '../model/task.ts';
import type { UsagePairs, UsageSpan } from '../model/usage.ts';
import type { StoredDocument } from './documents.ts';
import type { CreateResult, Settlement } from './requests.ts';

/**
 * Copies: everything that a store has, record by record, in a form that every store reads and writes. A store that gets the
 * copies of a tenant then answers as the one that they are from. What only makes a store fast, such as hints and
 * the order in which groups are served, is not part of them.
 */
export type Copy = DocumentCopy | TaskCopy | UsageCopy | AnswerCopy;

export interface DocumentCopy {
  readonly kind: 'document';
  readonly document: StoredDocument;
  /** All names by which it can be found, sorted. */
  readonly unique: readonly string[];
  /** Of a worker, or, with the account, of the tenant; null for a full one. */
  readonly bucket: BucketCopy | null;
  /** Of a worker: nothing starts before. */
  readonly throttledUntil: number | null;
}

/** A bucket of starts, and when it was last refilled. */
export interface BucketCopy {
  readonly tokens: number;
  readonly at: number;
}

export interface TaskCopy {
  readonly kind: 'task';
  readonly task: Task;
  readonly body: TaskBody;
  /** The entries that are kept, oldest first, without one for the dropped ones. The last one has the total as its number. */
  readonly history: readonly HistoryEntry[];
  /** Whether the task sets wake-up hints. */
  readonly wake: boolean;
  /** Of the running attempt; null if none runs. */
  readonly lease: LeaseCopy | null;
  /** How the last attempt ended; null while one runs, without one, and after a replay. */
  readonly settled: { readonly leaseId: string; readonly event: Settlement['event'] } | null;
  /** If the task is the holder of its key: when the key becomes free, which is null until the task has ended. */
  readonly holdsKey: { readonly freeAt: number | null } | null;
}

interface LeaseCopy {
  readonly id: string;
  /** Start of the attempt; null if an older version started it. */
  readonly beganAt: number | null;
  readonly until: number;
  /** The latest time to which it can be extended. */
  readonly latest: number;
}

/** What happened in an interval to the tasks of a worker; null for all workers of the tenant. */
export interface UsageCopy {
  readonly kind: 'usage';
  readonly span: UsageSpan;
  readonly at: number;
  readonly workerId: string | null;
  readonly figures: UsagePairs;
}

/** An idempotency record. */
export interface AnswerCopy {
  readonly kind: 'answer';
  readonly scope: string;
  readonly key: string;
  readonly fingerprint: string;
  /** How long it is remembered. */
  readonly until: number;
  readonly note: string;
  /** Empty for requests that created no tasks. */
  readonly results: readonly CreateResult[];
}

/** JSON without halves of surrogate pairs, which servers that store UTF-8 refuse. */
export function jsonOfUnicode(value: unknown): string {
  const text = JSON.stringify(value);
  return MAY_BE_HALF.test(text) ? JSON.stringify(value, wellFormed) : text;
}

/** A half is the only character from U+D800 on that JSON escapes. */
const MAY_BE_HALF = /\\ud/;

function wellFormed(_: string, value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed() : value;
}

/** The parts of a tenant, in the order in which they are copied. */
const PARTS = ['document', 'task', 'usage'] as const;
type CopyPart = (typeof PARTS)[number];

/** Where in a tenant a page of copies begins. */
export interface CopyPlace {
  readonly part: CopyPart;
  /** Where in the part, as the store says it; null for its beginning. */
  readonly after: string | null;
}

export const FIRST_PLACE: CopyPlace = { part: PARTS[0], after: null };

export interface CopyPage {
  readonly copies: readonly Copy[];
  /** Where the next page begins; null after the last one. */
  readonly next: CopyPlace | null;
}

/** Idempotency records of all tenants. */
export interface AnswerPage {
  readonly answers: readonly { readonly tenant: string; readonly answer: AnswerCopy }[];
  /** Where the next page begins; null after the last one. */
  readonly next: string | null;
}

/** Maximum number of copies of a page, by part. A page ends earlier when it reaches `READ_BYTES`, after at least one. */
export const PAGE_SIZES = { document: 500, task: 200, usage: 500, answer: 500 } as const;

/** @param after where in this part the next page begins; null if the part has ended */
export function pageOf({ part }: CopyPlace, copies: readonly Copy[], after: string | null): CopyPage {
  if (after !== null) return { copies, next: { part, after } };
  const following = PARTS[PARTS.indexOf(part) + 1];
  return { copies, next: following === undefined ? null : { part: following, after: null } };
}

/** Approximate memory of the parts of a copy that can be large, in characters. */
export function copySize(copy: Copy): number {
  switch (copy.kind) {
    case 'document':
      return JSON.stringify(copy.document.body).length;
    case 'task':
      return copy.history.reduce((sum, entry) => sum + entrySize(entry), bodyBytes(copy.body));
    case 'usage':
      return copy.figures.length;
    case 'answer':
      return copy.note.length + copy.results.length * RESULT_SIZE;
  }
}

const ENTRY_SIZE = 256;
const RESULT_SIZE = 1_024;

function entrySize({ http, error, note }: HistoryEntry): number {
  return ENTRY_SIZE + (http?.response.length ?? 0) + (error?.message.length ?? 0) + (note?.length ?? 0);
}

/** Which documents are copied: all but the record of the move itself. A table, so that no kind is forgotten. */
const COPIED: Readonly<Record<Exclude<DocumentKind, 'move'>, true>> = {
  account: true,
  user: true,
  token: true,
  worker: true,
  secret: true,
  schedule: true,
  removal: true,
  audit: true,
  callback: true,
  master_keys: true,
};
const KINDS = Object.keys(COPIED) as readonly DocumentKind[];

/** A document without what only the store that it is from understands: how far it has removed what a tenant has left. */
export function neutralDocument(document: StoredDocument): StoredDocument {
  if (document.kind !== 'account') return document;
  const account = document.body as Account;
  if (account.deletion?.place === undefined) return document;
  const { place: _, ...deletion } = account.deletion;
  return { ...document, body: { ...account, deletion } };
}

/** Where a page of documents begins: after this id of the first of these kinds. */
interface DocumentPlace {
  readonly kinds: readonly DocumentKind[];
  readonly id: string;
}

/** @param after `<kind> <id>` of the last document of the previous page; null for none */
export function documentPlace(after: string | null): DocumentPlace {
  if (after === null) return { kinds: KINDS, id: '' };
  const space = after.indexOf(' ');
  return {
    kinds: KINDS.slice(KINDS.indexOf(after.slice(0, space) as DocumentKind)),
    id: after.slice(space + 1),
  };
}

/** The place after a page of documents; null if it was the last one. */
export function placeAfterDocuments(copies: readonly DocumentCopy[], isLast: boolean): string | null {
  const last = copies.at(-1)?.document;
  return isLast || last === undefined ? null : `${last.kind} ${last.id}`;
}

import type { DocumentBodies, DocumentKind } from '../../../model/documents.ts';
import { DOCUMENT, DOCUMENT_CODES } from '../../codes.ts';
import {
  type DeleteDocument,
  type DocumentChange,
  type DocumentQuery,
  type DocumentRefusal,
  dueShare,
  inTurnsAfter,
  MAX_DROPPED,
  type PutDocument,
  type StoredDocument,
  type TenantAccount,
} from '../../documents.ts';
import type { ApplyAnswer, CreateResult, Idempotency } from '../../requests.ts';
import { READ_BYTES } from '../../task-store.ts';
import { LIMIT, type Row, type Statements } from '../file/statements.ts';
import { insertDocument } from '../rows/save.ts';
import { openTasks, type TenantTotals, type View, type Work } from '../rows/work.ts';
import { dropTenant } from './removal.ts';

const PRESENT = 'SELECT no, version FROM doc INDEXED BY doc_id WHERE tenant = ? AND kind = ? AND id = ?';
const NAME_OWNER = 'SELECT doc FROM doc_name WHERE tenant = ? AND name = ?';
const SIBLINGS =
  'SELECT count(*) FROM doc INDEXED BY doc_parent WHERE tenant = ? AND kind = ? AND parent = ?';
const UPDATE = 'UPDATE doc SET parent = ?, version = ?, due_at = ?, body = ? WHERE no = ?';
const ADD_NAME = 'INSERT INTO doc_name (tenant, name, doc) VALUES (?, ?, ?)';
const DROP_NAMES = 'DELETE FROM doc_name WHERE doc = ?';
const DELETE = 'DELETE FROM doc WHERE no = ?';
const CHILDREN = 'SELECT no FROM doc INDEXED BY doc_parent WHERE tenant = ? AND kind = ? AND parent = ?';
const OLDEST =
  'SELECT no FROM doc INDEXED BY doc_parent WHERE tenant = ? AND kind = ? AND parent = ? ORDER BY id LIMIT ?';
const KNOWN = 'UPDATE tenant SET known = ? WHERE no = ?';

const SHOWN = 'doc.kind, doc.id, doc.version, doc.parent, doc.due_at, doc.body';
const BY_ID = `SELECT ${SHOWN} FROM doc INDEXED BY doc_id WHERE tenant = ? AND kind = ? AND id = ?`;
const BY_NAME = `SELECT ${SHOWN} FROM doc_name CROSS JOIN doc ON doc.no = doc_name.doc
  WHERE doc_name.tenant = ? AND doc_name.name = ?`;
const ACCOUNTS = `SELECT tenant.name, ${SHOWN} FROM tenant INDEXED BY tenant_known
  CROSS JOIN doc INDEXED BY doc_id ON doc.tenant = tenant.no AND doc.kind = ${DOCUMENT.account}
  WHERE tenant.known = 1 AND tenant.name > ? ORDER BY tenant.name ${LIMIT}`;
const COUNT = 'SELECT count(*) FROM doc INDEXED BY doc_id WHERE tenant = ? AND kind = ?';
const DUE = `SELECT tenant, ${SHOWN} FROM doc INDEXED BY doc_due WHERE due_at <= ? ORDER BY due_at ${LIMIT}`;
const DUE_OF_TENANT = `SELECT tenant, ${SHOWN} FROM doc INDEXED BY doc_tenant_due
  WHERE tenant = ? AND due_at <= ? ORDER BY due_at ${LIMIT}`;
const TENANTS_WITH_DUE = `SELECT no FROM tenant
  WHERE EXISTS (SELECT 1 FROM doc INDEXED BY doc_tenant_due WHERE doc.tenant = tenant.no AND doc.due_at <= ?)`;

interface Present {
  readonly number: number;
  readonly version: number;
}

type Applied =
  | { readonly kind: 'done'; readonly versions: readonly number[] }
  | { readonly kind: 'refused'; readonly index: number; readonly reason: DocumentRefusal };

export function apply(
  work: Work,
  tenant: string,
  changes: readonly DocumentChange[],
  idempotency?: Idempotency,
): ApplyAnswer {
  const known = lookUp(work, work.numbers.ofTenant(tenant), idempotency);
  if (known.kind === 'replayed') return { kind: 'replayed', note: known.note };
  if (known.kind === 'reused') return { kind: 'reused' };
  const make = (): Applied => {
    const totals = work.tenant(tenant);
    const applied = applyChanges(work, totals, tenant, changes);
    if (applied.kind !== 'done') return applied;
    if (idempotency !== undefined) writeRecord(work, totals.number, idempotency, null);
    if (changes.some(({ op, kind }) => op === 'delete' && kind === 'account')) dropTenant(work, tenant);
    return applied;
  };
  // A single change is checked before anything is written.
  return changes.length > 1 ? work.undoable(make, ({ kind }) => kind === 'done') : make();
}

/** Applies the changes in order, up to the first one that is refused. */
export function applyChanges(
  work: Work,
  tenant: TenantTotals,
  tenantName: string,
  changes: readonly DocumentChange[],
): Applied {
  const versions: number[] = [];
  for (const [index, change] of changes.entries()) {
    const present = presentOf(work, tenant.number, change.kind, change.id);
    const reason =
      change.op === 'put'
        ? putRefusal(work, tenant.number, present, change)
        : deleteRefusal(work, tenant, present, change);
    if (reason !== null) return { kind: 'refused', index, reason };
    versions.push(
      change.op === 'put'
        ? put(work, tenant.number, present, change)
        : remove(work, tenant, present as Present, change),
    );
    if (change.kind === 'account') {
      work.statements.run(KNOWN, change.op === 'put' ? 1 : 0, work.numbers.ofTenant(tenantName));
    }
    work.documentsChanged();
  }
  return { kind: 'done', versions };
}

function presentOf({ statements }: View, tenant: number, kind: DocumentKind, id: string): Present | null {
  const row = statements.one(PRESENT, tenant, DOCUMENT[kind], id);
  return row === undefined ? null : { number: row[0] as number, version: row[1] as number };
}

function putRefusal(
  { statements }: Work,
  tenant: number,
  present: Present | null,
  { kind, parent, expect, unique, atMost }: PutDocument,
): DocumentRefusal | null {
  if (expect === 'absent' && present !== null) return 'exists';
  if (typeof expect === 'number') {
    if (present === null) return 'missing';
    if (present.version !== expect) return 'version';
  }
  for (const name of unique) {
    const owner = statements.one(NAME_OWNER, tenant, name);
    if (owner !== undefined && owner[0] !== present?.number) return 'name_taken';
  }
  if (present === null && atMost !== undefined) {
    const siblings = statements.one(SIBLINGS, tenant, DOCUMENT[kind], parent)![0] as number;
    if (siblings >= atMost) return 'too_many';
  }
  return null;
}

function put(work: Work, tenant: number, present: Present | null, change: PutDocument): number {
  const { statements } = work;
  const { parent, dueAt, unique } = change;
  const version = (present?.version ?? 0) + 1;
  let number: number;
  if (present === null) {
    number = insertDocument(work, tenant, change);
  } else {
    number = present.number;
    statements.run(UPDATE, parent, version, dueAt, JSON.stringify(change.body), number);
    statements.run(DROP_NAMES, number);
  }
  for (const name of new Set(unique)) statements.run(ADD_NAME, tenant, name, number);
  if (present === null && change.keepNewest !== undefined) {
    dropOldest(statements, tenant, change, change.keepNewest);
  }
  return version;
}

function dropOldest(
  statements: Statements,
  tenant: number,
  { kind, parent }: PutDocument,
  keep: number,
): void {
  const place = [tenant, DOCUMENT[kind], parent] as const;
  const excess = (statements.one(SIBLINGS, ...place)![0] as number) - keep;
  if (excess <= 0) return;
  for (const [number] of statements.all(OLDEST, ...place, Math.min(excess, MAX_DROPPED))) {
    statements.run(DROP_NAMES, number as number);
    statements.run(DELETE, number as number);
  }
}

function deleteRefusal(
  work: Work,
  tenant: TenantTotals,
  present: Present | null,
  { expect, noOpenTasksOf }: DeleteDocument,
): DocumentRefusal | null {
  if (present === null) return 'missing';
  if (expect !== 'any' && present.version !== expect) return 'version';
  const worker = noOpenTasksOf === undefined ? null : work.findWorker(tenant, noOpenTasksOf);
  return worker !== null && openTasks(worker) > 0 ? 'has_tasks' : null;
}

function remove(
  work: Work,
  tenant: TenantTotals,
  { number }: Present,
  { kind, id, children }: DeleteDocument,
): number {
  const { statements } = work;
  const numbers = [number];
  if (children !== undefined) {
    for (const row of statements.all(CHILDREN, tenant.number, DOCUMENT[children], id))
      numbers.push(row[0] as number);
  }
  const worker = kind === 'worker' ? work.findWorker(tenant, id) : null;
  if (worker !== null) {
    worker.bucket.tokens = null;
    worker.bucket.at = null;
    worker.throttledUntil = null;
    worker.changed = true;
  }
  for (const each of numbers) {
    statements.run(DROP_NAMES, each);
    statements.run(DELETE, each);
  }
  return 0;
}

/** Whether the worker has a document. */
export function isDocumented(work: Work, tenant: TenantTotals, workerId: string): boolean {
  const look = () => presentOf(work, tenant.number, 'worker', workerId) !== null;
  const worker = work.findWorker(tenant, workerId);
  return worker === null ? look() : work.isDocumented(worker, look);
}

export function getDocument<K extends DocumentKind>(
  { statements, numbers }: View,
  tenant: string,
  kind: K,
  id: string,
): StoredDocument<K> | null {
  const row = statements.one(BY_ID, numbers.ofTenant(tenant), DOCUMENT[kind], id);
  return row === undefined ? null : (documentOf(row) as StoredDocument<K>);
}

export function findDocument(
  { statements, numbers }: View,
  tenant: string,
  name: string,
): StoredDocument | null {
  const row = statements.one(BY_NAME, numbers.ofTenant(tenant), name);
  return row === undefined ? null : documentOf(row);
}

export function listDocuments(
  { statements, numbers }: View,
  tenant: string,
  query: DocumentQuery,
): readonly StoredDocument[] {
  const { kind, parent, after, limit, order } = query;
  const values = [numbers.ofTenant(tenant), DOCUMENT[kind], ...(parent === undefined ? [] : [parent])];
  const bound = after === null ? [] : [after];
  const sql = documentListSql(parent !== undefined, after !== null, order);
  return statements.all(sql, ...values, ...bound, limit).map(documentOf);
}

export function countDocuments({ statements, numbers }: View, tenant: string, kind: DocumentKind): number {
  return statements.one(COUNT, numbers.ofTenant(tenant), DOCUMENT[kind])![0] as number;
}

function documentListSql(byParent: boolean, bounded: boolean, order: 'asc' | 'desc'): string {
  const index = byParent ? 'doc_parent' : 'doc_id';
  const beyond = order === 'asc' ? 'id > ?' : 'id < ?';
  return `SELECT ${SHOWN} FROM doc INDEXED BY ${index} WHERE tenant = ? AND kind = ?${byParent ? ' AND parent = ?' : ''}${
    bounded ? ` AND ${beyond}` : ''
  } ORDER BY id ${order} ${LIMIT}`;
}

export function accounts(
  { statements }: View,
  after: string | null,
  limit: number,
): readonly TenantAccount[] {
  return statements.all(ACCOUNTS, after ?? '', limit).map(([tenant, ...rest]) => ({
    tenant: tenant as string,
    account: documentOf(rest) as StoredDocument<'account'>,
  }));
}

interface DueDocument {
  readonly tenant: string;
  readonly document: StoredDocument;
}

export function dueDocuments(view: View, max: number, after: string | null = null): readonly DueDocument[] {
  const { statements, numbers, now } = view;
  const earliest = readDue(view, statements.each(DUE, now, max), READ_BYTES);
  if (earliest.documents.length < max && earliest.bytes < READ_BYTES) return earliest.documents;
  const tenants = statements.all(TENANTS_WITH_DUE, now).map(([no]) => no as number);
  if (tenants.length === 1) return earliest.documents;
  const share = dueShare(tenants.length, { documents: max, bytes: READ_BYTES });
  const found: DueDocument[] = [];
  let bytes = 0;
  for (const tenant of inTurnsAfter(tenants, after === null ? null : numbers.ofTenant(after))) {
    const limit = Math.min(share.documents, max - found.length);
    const part = readDue(view, statements.each(DUE_OF_TENANT, tenant, now, limit), share.bytes);
    found.push(...part.documents);
    bytes += part.bytes;
    if (found.length >= max || bytes >= READ_BYTES) break;
  }
  return found;
}

/** Reads rows up to the one that reaches `maxBytes`. */
function readDue(
  { numbers }: View,
  rows: Iterable<Row>,
  maxBytes: number,
): { readonly documents: readonly DueDocument[]; readonly bytes: number } {
  const documents: DueDocument[] = [];
  let bytes = 0;
  for (const [tenant, ...rest] of rows) {
    documents.push({ tenant: numbers.tenantName(tenant as number), document: documentOf(rest) });
    bytes += (rest.at(-1) as string).length;
    if (bytes >= maxBytes) break;
  }
  return { documents, bytes };
}

function documentOf([kind, id, version, parent, dueAt, body]: Row): StoredDocument {
  return {
    kind: DOCUMENT_CODES[kind as number],
    id: id as string,
    version: version as number,
    parent: parent as string,
    dueAt: dueAt as number | null,
    body: JSON.parse(body as string) as DocumentBodies[DocumentKind],
  };
}

const RECORD =
  'SELECT fingerprint, until, note, results FROM idem WHERE tenant = ? AND scope = ? AND key = ?';
const WRITE = `INSERT INTO idem (tenant, scope, key, fingerprint, until, note, results) VALUES (?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (tenant, scope, key) DO UPDATE SET
  fingerprint = excluded.fingerprint, until = excluded.until, note = excluded.note, results = excluded.results`;

type Recalled =
  | { readonly kind: 'new' }
  | { readonly kind: 'reused' }
  | { readonly kind: 'replayed'; readonly note: string; readonly results: readonly CreateResult[] };

/** Reads the record of the idempotency key of a request. */
export function lookUp(view: View, tenant: number | null, idempotency: Idempotency | undefined): Recalled {
  if (idempotency === undefined || tenant === null) return { kind: 'new' };
  const row = view.statements.one(RECORD, tenant, idempotency.scope, idempotency.key);
  if (row === undefined || (row[1] as number) <= view.now) return { kind: 'new' };
  const [fingerprint, , note, results] = row;
  if (fingerprint !== idempotency.fingerprint) return { kind: 'reused' };
  return {
    kind: 'replayed',
    note: note as string,
    results: results === null ? [] : (JSON.parse(results as string) as CreateResult[]),
  };
}

export function writeRecord(
  { statements, now }: Work,
  tenant: number,
  { scope, key, fingerprint, keepMs, note }: Idempotency,
  results: readonly CreateResult[] | null,
): void {
  const text = results === null ? null : JSON.stringify(results);
  statements.run(WRITE, tenant, scope, key, fingerprint, now + keepMs, note, text);
}

export function recall(
  view: View,
  tenant: string,
  idempotency: Idempotency,
): { readonly kind: 'new' | 'reused' } | { readonly kind: 'replayed'; readonly note: string } {
  const found = lookUp(view, view.numbers.ofTenant(tenant), idempotency);
  return found.kind === 'replayed' ? { kind: 'replayed', note: found.note } : found;
}

export function remember(work: Work, tenant: string, idempotency: Idempotency): void {
  writeRecord(work, work.tenant(tenant).number, idempotency, null);
}

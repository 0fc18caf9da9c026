import { isUsageOver, USAGE_SPANS, type UsageSpan } from '../../../model/usage.ts';
import { DOCUMENT, EVENT_CODES, STATUS } from '../../codes.ts';
import {
  type AnswerCopy,
  type AnswerPage,
  type BucketCopy,
  type CopyPage,
  type CopyPlace,
  copySize,
  type DocumentCopy,
  documentPlace,
  neutralDocument,
  PAGE_SIZES,
  pageOf,
  placeAfterDocuments,
  type TaskCopy,
  type UsageCopy,
} from '../../copies.ts';
import type { Settlement } from '../../requests.ts';
import { READ_BYTES } from '../../task-store.ts';
import { LIMIT, type Row } from '../file/statements.ts';
import { keptEntries } from '../rows/history.ts';
import { bodyAt, rowOf, shown, TASK_COLUMN_LIST, type TaskRow } from '../rows/task-row.ts';
import { type Bucket, readTenant, readWorker, type View } from '../rows/work.ts';
import { documentOf, SHOWN } from './documents.ts';
import { ALL_WORKERS } from './usage.ts';

export function copyOut(view: View, tenantName: string, place: CopyPlace): CopyPage {
  const tenant = view.numbers.ofTenant(tenantName);
  if (tenant === null) return { copies: [], next: null };
  switch (place.part) {
    case 'document':
      return documentPage(view, tenant, place);
    case 'task':
      return taskPage(view, tenant, place);
    case 'usage':
      return usagePage(view, tenant, place);
  }
}

const DOCUMENTS = `SELECT ${SHOWN}, no FROM doc INDEXED BY doc_id
  WHERE tenant = ? AND kind = ? AND id > ? ORDER BY id ${LIMIT}`;
const NAMES = 'SELECT name FROM doc_name INDEXED BY doc_name_of WHERE doc = ?';

function documentPage(view: View, tenant: number, place: CopyPlace): CopyPage {
  const { kinds, id } = documentPlace(place.after);
  const copies: DocumentCopy[] = [];
  let bytes = 0;
  for (const [i, kind] of kinds.entries()) {
    const left = PAGE_SIZES.document - copies.length;
    for (const row of view.statements.all(DOCUMENTS, tenant, DOCUMENT[kind], i === 0 ? id : '', left)) {
      copies.push(documentCopy(view, tenant, row));
      bytes += (row[5] as string).length;
      if (bytes >= READ_BYTES || copies.length === PAGE_SIZES.document)
        return pageOf(place, copies, placeAfterDocuments(copies, false));
    }
  }
  return pageOf(place, copies, placeAfterDocuments(copies, true));
}

function documentCopy(view: View, tenant: number, row: Row): DocumentCopy {
  const { statements, numbers } = view;
  const document = neutralDocument(documentOf(row));
  const unique = statements
    .all(NAMES, row[6] as number)
    .map(([name]) => name as string)
    .sort();
  const copy = { kind: 'document', document, unique, bucket: null, throttledUntil: null } as const;
  if (document.kind === 'account')
    return { ...copy, bucket: bucketCopy(readTenant(statements, tenant).bucket) };
  const worker = document.kind === 'worker' ? numbers.ofWorker(tenant, document.id) : null;
  if (worker === null) return copy;
  const { bucket, throttledUntil } = readWorker(statements, worker);
  return { ...copy, bucket: bucketCopy(bucket), throttledUntil };
}

function bucketCopy({ tokens, at }: Bucket): BucketCopy | null {
  return tokens === null || at === null ? null : { tokens, at };
}

const TASKS = `SELECT ${TASK_COLUMN_LIST} FROM task INDEXED BY task_id
  WHERE tenant = ? AND id > ? ORDER BY id ${LIMIT}`;
const HOLDER = 'SELECT free_at FROM task_key WHERE worker = ? AND key = ? AND seq = ?';

function taskPage(view: View, tenant: number, place: CopyPlace): CopyPage {
  const rows = view.statements.all(TASKS, tenant, place.after ?? '', PAGE_SIZES.task);
  const copies: TaskCopy[] = [];
  let bytes = 0;
  for (const row of rows.map(rowOf)) {
    if (bytes >= READ_BYTES) return pageOf(place, copies, copies[copies.length - 1].task.id);
    const copy = taskCopy(view, row);
    copies.push(copy);
    bytes += copySize(copy);
  }
  return pageOf(place, copies, rows.length < PAGE_SIZES.task ? null : copies[copies.length - 1].task.id);
}

function taskCopy(view: View, row: TaskRow): TaskCopy {
  const runs = row.status === STATUS.running;
  const holder = row.key === null ? undefined : view.statements.one(HOLDER, row.worker, row.key, row.seq);
  return {
    kind: 'task',
    task: shown(view, row),
    body: bodyAt(view, row.seq),
    history: keptEntries(view, row.seq),
    wake: row.wake === 1,
    lease: runs
      ? {
          id: row.lease as string,
          beganAt: row.began_at,
          until: row.lease_until as number,
          latest: row.lease_cap as number,
        }
      : null,
    settled:
      runs || row.lease === null || row.lease_event === null
        ? null
        : { leaseId: row.lease, event: EVENT_CODES[row.lease_event] as Settlement['event'] },
    holdsKey: holder === undefined ? null : { freeAt: holder[0] as number | null },
  };
}

const USAGE = `SELECT span, at, worker, figures, (SELECT id FROM worker WHERE no = usage.worker) FROM usage
  WHERE tenant = ? AND (span, at, worker) > (?, ?, ?) ORDER BY span, at, worker ${LIMIT}`;
const SPAN_OF = new Map(Object.entries(USAGE_SPANS).map(([name, { ms }]) => [ms, name as UsageSpan]));

function usagePage(view: View, tenant: number, place: CopyPlace): CopyPage {
  const [span, at, worker] = place.after === null ? [0, 0, 0] : place.after.split(' ').map(Number);
  const rows = view.statements.all(USAGE, tenant, span, at, worker, PAGE_SIZES.usage);
  const copies: UsageCopy[] = [];
  for (const row of rows) {
    // The worker is gone already, and its usage follows: the tenant is being deleted.
    if (row[2] !== ALL_WORKERS && row[4] === null) continue;
    const copy: UsageCopy = {
      kind: 'usage',
      span: SPAN_OF.get(row[0] as number) as UsageSpan,
      at: row[1] as number,
      workerId: row[4] as string | null,
      figures: JSON.parse(row[3] as string),
    };
    if (!isUsageOver(copy.span, copy.at, view.now)) copies.push(copy);
  }
  return pageOf(place, copies, rows.length < PAGE_SIZES.usage ? null : rows.at(-1)!.slice(0, 3).join(' '));
}

const ANSWERS = `SELECT rowid, tenant, scope, key, fingerprint, until, note, results FROM idem
  WHERE rowid > ? ORDER BY rowid ${LIMIT}`;

export function recallAll({ statements, numbers, now }: View, place: string | null): AnswerPage {
  const answers: { tenant: string; answer: AnswerCopy }[] = [];
  const rows = statements.all(ANSWERS, Number(place ?? 0), PAGE_SIZES.answer);
  let bytes = 0;
  for (const [rowid, tenant, scope, key, fingerprint, until, note, results] of rows) {
    if ((until as number) > now) {
      const answer = {
        kind: 'answer',
        scope: scope as string,
        key: key as string,
        fingerprint: fingerprint as string,
        until: until as number,
        note: note as string,
        results: results === null ? [] : JSON.parse(results as string),
      } as const;
      answers.push({ tenant: numbers.tenantName(tenant as number), answer });
      bytes += (note as string).length + String(results).length;
    }
    if (bytes >= READ_BYTES) return { answers, next: String(rowid) };
  }
  return { answers, next: rows.length < PAGE_SIZES.answer ? null : String(rows.at(-1)![0]) };
}

import { keptTexts, type OwnField, PRIORITIES } from '../../../model/task-content.ts';
import { USAGE_SPANS } from '../../../model/usage.ts';
import { actorText } from '../../actor-text.ts';
import { EVENT, STATUS } from '../../codes.ts';
import type { AnswerCopy, Copy, DocumentCopy, TaskCopy, UsageCopy } from '../../copies.ts';
import { onFinishText } from '../../documents.ts';
import { copyEntry } from '../rows/history.ts';
import { holdKey } from '../rows/keys.ts';
import { insertDocument, insertRow } from '../rows/save.ts';
import { findTask, mapText, type TaskRow } from '../rows/task-row.ts';
import type { TenantTotals, Work } from '../rows/work.ts';
import { nameDocument, presentOf, setKnown } from './documents.ts';
import { ALL_WORKERS } from './usage.ts';

/** See `TaskStore.copyIn`. */
export function copyIn(work: Work, tenantName: string, copies: readonly Copy[]): void {
  if (copies.length === 0) return;
  const tenant = work.tenant(tenantName);
  for (const copy of copies) {
    switch (copy.kind) {
      case 'document':
        copyDocument(work, tenant, copy);
        break;
      case 'task':
        copyTask(work, tenant, copy);
        break;
      case 'usage':
        copyUsage(work, tenant, copy);
        break;
      case 'answer':
        copyAnswer(work, tenant, copy);
    }
  }
}

function copyDocument(work: Work, tenant: TenantTotals, copy: DocumentCopy): void {
  const { document, unique, bucket, throttledUntil } = copy;
  const { kind, id, version } = document;
  if (presentOf(work, tenant.number, kind, id) !== null) return;
  nameDocument(work, tenant.number, insertDocument(work, tenant.number, document, version), unique);
  if (kind === 'account') {
    setKnown(work, tenant.number, true);
    Object.assign(tenant.bucket, bucket);
    tenant.changed = true;
  }
  if (kind === 'worker') {
    const worker = work.worker(tenant, id);
    Object.assign(worker.bucket, bucket);
    worker.throttledUntil = throttledUntil;
    worker.changed = true;
  }
  work.documentsChanged();
}

const INSERT_BODY = 'INSERT INTO body (seq, payload, headers, result) VALUES (?, ?, ?, ?)';

function copyTask(work: Work, tenant: TenantTotals, copy: TaskCopy): void {
  const { task, body, history, holdsKey } = copy;
  if (findTask(work, tenant.number, task.id) !== null) return;
  const row = rowOfCopy(work, tenant, copy);
  insertRow(work, tenant, row);
  work.statements.run(INSERT_BODY, row.seq, body.payload, mapText(body.headers), body.result);
  for (const entry of history) copyEntry(work, row.seq, entry);
  if (holdsKey !== null) holdKey(work, row, row.seq, holdsKey.freeAt);
}

function rowOfCopy(work: Work, tenant: TenantTotals, copy: TaskCopy): TaskRow {
  const { task, history, wake, lease, settled } = copy;
  return {
    seq: 0,
    tenant: tenant.number,
    id: task.id,
    worker: work.worker(tenant, task.workerId).number,
    status: STATUS[task.status],
    band: PRIORITIES.indexOf(task.priority),
    due_at: task.dueAt,
    run_at: task.runAt,
    expires_at: task.expiresAt,
    attempt: task.attempt,
    deferrals: task.deferrals,
    events: history.at(-1)?.seq ?? 0,
    version: task.version,
    created_at: task.createdAt,
    updated_at: task.updatedAt,
    started_at: task.startedAt,
    finished_at: task.finishedAt,
    cancel_at: task.cancelRequestedAt,
    lease: lease?.id ?? settled?.leaseId ?? null,
    lease_until: lease?.until ?? null,
    lease_cap: lease?.latest ?? null,
    lease_event: settled === null ? null : EVENT[settled.event],
    began_at: lease?.beganAt ?? null,
    key: task.key,
    key_ttl: task.keyTtlMs,
    grp: task.group,
    on_finish: onFinishText(task.onFinish),
    schedule: task.scheduleId,
    scheduled_for: task.scheduledFor,
    held_by: task.heldBy,
    wake: wake ? 1 : 0,
    timeout: task.timeoutMs,
    worker_name: task.worker,
    retry: JSON.stringify(task.retry),
    ...(keptTexts(task) as Record<OwnField, string | null>),
    created_by: actorText(task.createdBy),
    last_error: task.lastError === null ? null : JSON.stringify(task.lastError),
  };
}

const USAGE = 'INSERT OR IGNORE INTO usage (tenant, span, at, worker, figures) VALUES (?, ?, ?, ?, ?)';

function copyUsage(work: Work, tenant: TenantTotals, { span, at, workerId, figures }: UsageCopy): void {
  const worker = workerId === null ? ALL_WORKERS : work.worker(tenant, workerId).number;
  work.statements.run(USAGE, tenant.number, USAGE_SPANS[span].ms, at, worker, JSON.stringify(figures));
}

const ANSWER = `INSERT OR IGNORE INTO idem (tenant, scope, key, fingerprint, until, note, results)
  VALUES (?, ?, ?, ?, ?, ?, ?)`;

function copyAnswer({ statements }: Work, tenant: TenantTotals, answer: AnswerCopy): void {
  const { scope, key, fingerprint, until, note, results } = answer;
  const text = results.length === 0 ? null : JSON.stringify(results);
  statements.run(ANSWER, tenant.number, scope, key, fingerprint, until, note, text);
}

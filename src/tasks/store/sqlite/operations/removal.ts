import { HISTORY_FIRST_KEPT, HISTORY_LAST_KEPT } from '../../../model/task.ts';
import { DOCUMENT, STATUS } from '../../codes.ts';
import type { PurgeAnswer } from '../../requests.ts';
import { LIMIT } from '../file/statements.ts';
import { removeTask } from '../rows/save.ts';
import { rowOf, TASK_COLUMN_LIST } from '../rows/task-row.ts';
import type { TenantTotals, Work } from '../rows/work.ts';
import { dropUsage, forgetUsage, purgeUsage } from './usage.ts';

/** Maximum number of rows of a table that one call of `forgetTenant` removes. */
export const FORGOTTEN_AT_ONCE = 500;
/** Each call removes the first remaining rows, so one value stands for all places except the end. */
const NEXT = 'next';

const RECORDS = `SELECT rowid FROM idem INDEXED BY idem_end WHERE tenant = ? ${LIMIT}`;
const WORKERS = `SELECT no FROM worker WHERE tenant = ? AND NOT EXISTS (
    SELECT 1 FROM doc INDEXED BY doc_id WHERE tenant = worker.tenant AND kind = ${DOCUMENT.worker} AND id = worker.id)
  ${LIMIT}`;
const FILL_WORKERS =
  'UPDATE worker SET tokens = NULL, bucket_at = NULL, throttled_until = NULL, wake_at = NULL WHERE tenant = ?';
const FILL_TENANT = 'UPDATE tenant SET tokens = NULL, bucket_at = NULL WHERE no = ?';
const DROP_TENANT = `DELETE FROM tenant WHERE no = ?1
  AND NOT EXISTS (SELECT 1 FROM doc INDEXED BY doc_id WHERE tenant = ?1)
  AND NOT EXISTS (SELECT 1 FROM task INDEXED BY task_id WHERE tenant = ?1)
  AND NOT EXISTS (SELECT 1 FROM worker WHERE tenant = ?1)
  AND NOT EXISTS (SELECT 1 FROM idem WHERE tenant = ?1)`;

/** Removes the data of a tenant without tasks, except its documents. */
export function forgetTenant(work: Work, tenantName: string, _place: string | null): string | null {
  const { statements } = work;
  const tenant = work.findTenant(tenantName);
  if (tenant === null || tenant.counts.some(count => count > 0)) return null;
  work.flush();
  const records = statements.all(RECORDS, tenant.number, FORGOTTEN_AT_ONCE);
  for (const [rowid] of records) statements.run('DELETE FROM idem WHERE rowid = ?', rowid as number);
  const workers = statements.all(WORKERS, tenant.number, FORGOTTEN_AT_ONCE);
  for (const [number] of workers) {
    statements.run('DELETE FROM task_key WHERE worker = ?', number as number);
    statements.run('DELETE FROM task_group WHERE worker = ?', number as number);
    statements.run('DELETE FROM worker WHERE no = ?', number as number);
  }
  const usages = forgetUsage(work, tenant.number, FORGOTTEN_AT_ONCE);
  statements.run(FILL_WORKERS, tenant.number);
  statements.run(FILL_TENANT, tenant.number);
  work.rowsChanged(workers.length > 0);
  return records.length + workers.length + usages > 0 ? NEXT : null;
}

/** Removes the row of a tenant whose account was deleted, if no other data refers to it. */
export function dropTenant(work: Work, tenantName: string): void {
  const tenant = work.findTenant(tenantName);
  if (tenant === null) return;
  work.flush();
  const { changes } = work.statements.run(DROP_TENANT, tenant.number);
  if (changes === 0) return;
  // Another thread may have written what it counted after the tenant was forgotten.
  dropUsage(work, tenant.number);
  work.rowsChanged(true);
}

const OVER = `SELECT ${TASK_COLUMN_LIST} FROM task INDEXED BY task_end
  WHERE tenant = ? AND status = ? AND status >= 4 AND finished_at < ? ORDER BY finished_at ${LIMIT}`;
const KEYS_OVER = `SELECT worker, key FROM task_key INDEXED BY task_key_end
  WHERE tenant = ? AND free_at <= ? ORDER BY free_at ${LIMIT}`;
const RECORDS_OVER = `SELECT rowid FROM idem INDEXED BY idem_end WHERE tenant = ? AND until <= ? ORDER BY until ${LIMIT}`;

/** One step removes about this number of history entries at most, so that other operations do not wait for long. */
const MAX_ENTRIES = 20_000;

/** Removes old tasks, expired keys and records, and old usage, at most `max` of each. */
export function purge(
  work: Work,
  tenantName: string,
  keep: { readonly succeededMs: number; readonly otherMs: number },
  max: number,
): PurgeAnswer {
  const tenant = work.findTenant(tenantName);
  if (tenant === null) return { tasks: 0, more: false };
  const keysLeft = purgeKeys(work, tenant.number, max);
  const recordsLeft = purgeRecords(work, tenant.number, max);
  const usageLeft = purgeUsage(work, tenant.number, max);
  const { tasks, more } = purgeTasks(work, tenant, keep, max);
  return { tasks, more: more || keysLeft || recordsLeft || usageLeft };
}

/** Returns whether there may be more. */
function purgeKeys({ statements, now }: Work, tenant: number, max: number): boolean {
  const over = statements.all(KEYS_OVER, tenant, now, max);
  for (const [worker, key] of over) {
    statements.run('DELETE FROM task_key WHERE worker = ? AND key = ?', worker as number, key as string);
  }
  return over.length === max;
}

/** Returns whether there may be more. */
function purgeRecords({ statements, now }: Work, tenant: number, max: number): boolean {
  const over = statements.all(RECORDS_OVER, tenant, now, max);
  for (const [rowid] of over) statements.run('DELETE FROM idem WHERE rowid = ?', rowid as number);
  return over.length === max;
}

function purgeTasks(
  work: Work,
  tenant: TenantTotals,
  keep: { readonly succeededMs: number; readonly otherMs: number },
  max: number,
): PurgeAnswer {
  const { statements, now } = work;
  let [tasks, entries] = [0, 0];
  for (const status of [STATUS.succeeded, STATUS.failed, STATUS.canceled, STATUS.expired]) {
    const keepMs = status === STATUS.succeeded ? keep.succeededMs : keep.otherMs;
    for (const values of statements.all(OVER, tenant.number, status, now - keepMs, max - tasks)) {
      if (entries >= MAX_ENTRIES) return { tasks, more: true };
      const row = rowOf(values);
      removeTask(work, tenant, row);
      entries += Math.min(row.events, HISTORY_FIRST_KEPT + HISTORY_LAST_KEPT);
      tasks++;
    }
  }
  return { tasks, more: tasks === max };
}

import { STATUS } from './codes.ts';
import { removeTask } from './save.ts';
import { LIMIT } from './statements.ts';
import { rowOf, TASK_COLUMN_LIST } from './task-row.ts';
import type { Work } from './work.ts';

export const OVER = `SELECT ${TASK_COLUMN_LIST} FROM task INDEXED BY task_end
  WHERE tenant = ? AND status = ? AND status >= 4 AND finished_at < ? ORDER BY finished_at ${LIMIT}`;
export const KEYS_OVER = `SELECT worker, key FROM task_key INDEXED BY task_key_end
  WHERE tenant = ? AND free_at <= ? ORDER BY free_at ${LIMIT}`;
export const RECORDS_OVER = `SELECT rowid FROM idem INDEXED BY idem_end WHERE tenant = ? AND until <= ? ORDER BY until ${LIMIT}`;

/** Removes what is over, at most `max` of each kind. Returns how many tasks went. */
export function purge(
  work: Work,
  tenantName: string,
  keep: { readonly succeededMs: number; readonly otherMs: number },
  max: number,
): number {
  const { statements, now } = work;
  const tenant = work.findTenant(tenantName);
  if (tenant === null) return 0;
  const { number } = tenant;
  for (const [worker, key] of statements.all(KEYS_OVER, number, now, max)) {
    statements.run('DELETE FROM task_key WHERE worker = ? AND key = ?', worker as number, key as string);
  }
  for (const [rowid] of statements.all(RECORDS_OVER, number, now, max)) {
    statements.run('DELETE FROM idem WHERE rowid = ?', rowid as number);
  }
  let removed = 0;
  for (const status of [STATUS.succeeded, STATUS.failed, STATUS.canceled, STATUS.expired]) {
    const keepMs = status === STATUS.succeeded ? keep.succeededMs : keep.otherMs;
    const rows = statements.all(OVER, number, status, now - keepMs, max - removed).map(rowOf);
    for (const row of rows) removeTask(work, tenant, row);
    removed += rows.length;
  }
  return removed;
}

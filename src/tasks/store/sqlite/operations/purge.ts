import { HISTORY_FIRST_KEPT, HISTORY_LAST_KEPT } from '../../../model/task.ts';
import type { PurgeAnswer } from '../../requests.ts';
import { LIMIT } from '../file/statements.ts';
import { STATUS } from '../rows/codes.ts';
import { removeTask } from '../rows/save.ts';
import { rowOf, TASK_COLUMN_LIST } from '../rows/task-row.ts';
import type { TenantTotals } from '../rows/totals.ts';
import type { Work } from '../rows/work.ts';

const OVER = `SELECT ${TASK_COLUMN_LIST} FROM task INDEXED BY task_end
  WHERE tenant = ? AND status = ? AND status >= 4 AND finished_at < ? ORDER BY finished_at ${LIMIT}`;
const KEYS_OVER = `SELECT worker, key FROM task_key INDEXED BY task_key_end
  WHERE tenant = ? AND free_at <= ? ORDER BY free_at ${LIMIT}`;
const RECORDS_OVER = `SELECT rowid FROM idem INDEXED BY idem_end WHERE tenant = ? AND until <= ? ORDER BY until ${LIMIT}`;

/** So many history entries are removed in one step, and those of one more task: nobody should wait for long. */
const MAX_ENTRIES = 20_000;

/** Removes what is over, at most `max` of each kind. */
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
  const { tasks, more } = purgeTasks(work, tenant, keep, max);
  return { tasks, more: more || keysLeft || recordsLeft };
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

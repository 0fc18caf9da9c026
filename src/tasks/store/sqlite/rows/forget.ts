import { LIMIT } from '../file/statements.ts';
import { DOCUMENT } from './codes.ts';
import type { Work } from './work.ts';

/** Maximum number of rows of a table that one call removes. */
export const FORGOTTEN_AT_ONCE = 500;
/** Each call removes the first rows that are left, so that every place but the end is the same. */
const NEXT = 'next';

const RECORDS = `SELECT rowid FROM idem INDEXED BY idem_end WHERE tenant = ? ${LIMIT}`;
export const WORKERS = `SELECT no FROM worker WHERE tenant = ? AND NOT EXISTS (
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

/** Removes what a tenant without tasks has besides its documents. */
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
  statements.run(FILL_WORKERS, tenant.number);
  statements.run(FILL_TENANT, tenant.number);
  work.rowsChanged(workers.length > 0);
  return records.length + workers.length > 0 ? NEXT : null;
}

/** Removes the row of a tenant whose account is gone, if nothing else refers to it. */
export function dropTenant(work: Work, tenantName: string): void {
  const tenant = work.findTenant(tenantName);
  if (tenant === null) return;
  work.flush();
  const { changes } = work.statements.run(DROP_TENANT, tenant.number);
  if (changes > 0) work.rowsChanged(true);
}

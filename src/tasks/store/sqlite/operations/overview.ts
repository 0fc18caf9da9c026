import type { StatusCounts, Wakeup } from '../../requests.ts';
import { LIMIT } from '../file/statements.ts';
import { STATUS_CODES } from '../rows/codes.ts';
import { readTenant, readWorker } from '../rows/totals.ts';
import type { View, Work } from '../rows/work.ts';

const WAKEUPS = `SELECT tenant, id, wake_at FROM worker INDEXED BY worker_wake
  WHERE wake_at <= ? ORDER BY wake_at ${LIMIT}`;
const TENANTS = `SELECT name FROM tenant INDEXED BY tenant_known WHERE known = 1 AND name > ? ORDER BY name ${LIMIT}`;

const DUE = `SELECT count(*) FROM (SELECT 1 FROM task INDEXED BY task_due_at
  WHERE status IN (0, 2) AND due_at <= ? ${LIMIT})`;

const NO_COUNTS = STATUS_CODES.map(() => 0);

export function counts({ statements, numbers }: View, tenant: string, workerId: string | null): StatusCounts {
  const number = numbers.ofTenant(tenant);
  let found: readonly number[] = NO_COUNTS;
  if (number !== null && workerId === null) found = readTenant(statements, number).counts;
  if (number !== null && workerId !== null) {
    const worker = numbers.ofWorker(number, workerId);
    if (worker !== null) found = readWorker(statements, worker).counts;
  }
  return Object.fromEntries(STATUS_CODES.map((status, code) => [status, found[code]])) as StatusCounts;
}

export function countDue({ statements, now }: View, max: number): number {
  return statements.one(DUE, now, max)![0] as number;
}

export function wakeups({ statements, numbers }: View, until: number, max: number): readonly Wakeup[] {
  return statements.all(WAKEUPS, until, max).map(([tenant, workerId, at]) => ({
    tenant: numbers.tenantName(tenant as number),
    workerId: workerId as string,
    at: at as number,
  }));
}

export function setWakeup(work: Work, tenant: string, workerId: string, at: number | null): void {
  if (at === null && work.findTenant(tenant) === null) return;
  const totals = work.tenant(tenant);
  const worker = at === null ? work.findWorker(totals, workerId) : work.worker(totals, workerId);
  if (worker === null) return;
  worker.wakeAt = at;
  worker.changed = true;
}

export function tenants({ statements }: View, after: string | null, limit: number): readonly string[] {
  return statements.all(TENANTS, after ?? '', limit).map(([name]) => name as string);
}

export function now(view: View): number {
  return view.now;
}

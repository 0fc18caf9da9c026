import type { Task } from '../../../model/task.ts';
import type { ExtendAnswer, Overdue, Progress } from '../../requests.ts';
import { LIMIT } from '../file/statements.ts';
import { STATUS } from '../rows/codes.ts';
import { addEntry } from '../rows/history.ts';
import { shown } from '../rows/read-task.ts';
import { saveAside } from '../rows/save.ts';
import {
  actorText,
  rowOf,
  type StoredTask,
  storedTask,
  TASK_COLUMN_LIST,
  type TaskRow,
} from '../rows/task-row.ts';
import type { View, Work } from '../rows/work.ts';

const BY_LEASE = `SELECT ${TASK_COLUMN_LIST} FROM task INDEXED BY task_lease WHERE lease = ? AND tenant = ?`;
const OVER = `SELECT ${TASK_COLUMN_LIST} FROM task INDEXED BY task_lease_end
  WHERE status = 1 AND lease_until <= ? ORDER BY lease_until ${LIMIT}`;
const EXPIRED = `SELECT ${TASK_COLUMN_LIST} FROM task INDEXED BY task_expiry
  WHERE status IN (0, 2) AND expires_at <= ? ORDER BY expires_at ${LIMIT}`;

/** The task whose running attempt, or else whose last one, has this lease. */
export function lastAttemptOf({ statements }: View, tenant: number, leaseId: string): StoredTask | null {
  const found = statements.all(BY_LEASE, leaseId, tenant).map(storedTask);
  return found.find(({ row }) => row.status === STATUS.running) ?? found[0] ?? null;
}

function runningAttempt(view: View, tenant: number | null, leaseId: string): StoredTask | null {
  const found = tenant === null ? null : lastAttemptOf(view, tenant, leaseId);
  return found?.row.status === STATUS.running ? found : null;
}

export function leased(view: View, tenant: string, leaseId: string): Task | null {
  const found = runningAttempt(view, view.numbers.ofTenant(tenant), leaseId);
  return found === null ? null : shown(view, found.row);
}

export function extend(
  work: Work,
  tenant: string,
  leaseId: string,
  ms: number | null,
  progress: Progress | null,
): ExtendAnswer {
  const stored = runningAttempt(work, work.numbers.ofTenant(tenant), leaseId);
  if (stored === null) return { kind: 'lost' };
  const { row } = stored;
  const until = row.lease_until as number;
  if (ms !== null) row.lease_until = Math.max(until, Math.min(work.now + ms, row.lease_cap as number));
  if (progress !== null) addProgress(work, row, progress);
  saveAside(work, stored);
  return { kind: 'extended', until: row.lease_until as number, cancelRequested: row.cancel_at !== null };
}

function addProgress(work: Work, row: TaskRow, { percent, note }: Progress): void {
  addEntry(work, row, row.status, {
    event: 'heartbeat_progress',
    actor: actorText({ type: 'worker', id: work.numbers.workerId(row.worker) }),
    rest: { ...(percent !== null && { progress: percent }), ...(note !== null && { note }) },
  });
}

export function overdue(view: View, max: number): readonly Overdue[] {
  const leases = view.statements.all(OVER, view.now, max).map(rowOf);
  const expired = view.statements.all(EXPIRED, view.now, max - leases.length).map(rowOf);
  const tenants = new Map<number, { leases: { leaseId: string; task: Task }[]; expired: Task[] }>();
  const of = ({ tenant }: TaskRow) => {
    const found = tenants.get(tenant) ?? { leases: [], expired: [] };
    tenants.set(tenant, found);
    return found;
  };
  for (const row of leases) of(row).leases.push({ leaseId: row.lease as string, task: shown(view, row) });
  for (const row of expired) of(row).expired.push(shown(view, row));
  return [...tenants].map(([number, found]) => ({ tenant: view.numbers.tenantName(number), ...found }));
}

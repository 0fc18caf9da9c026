import type { Task } from '../../../model/task.ts';
import { actorText } from '../../actor-text.ts';
import { EVENT, isFinalCode, STATUS } from '../../codes.ts';
import type { ExtendAnswer, Overdue, Progress, SettleAnswer, Settlement } from '../../requests.ts';
import { LIMIT } from '../file/statements.ts';
import { addEntry } from '../rows/history.ts';
import { saveAside, saveTask } from '../rows/save.ts';
import {
  rowOf,
  type StoredTask,
  shown,
  storedTask,
  TASK_COLUMN_LIST,
  type TaskRow,
} from '../rows/task-row.ts';
import type { TenantTotals, View, Work } from '../rows/work.ts';

const BY_LEASE = `SELECT ${TASK_COLUMN_LIST} FROM task INDEXED BY task_lease WHERE lease = ? AND tenant = ?`;
const OVER = `SELECT ${TASK_COLUMN_LIST} FROM task INDEXED BY task_lease_end
  WHERE status = 1 AND lease_until <= ? ORDER BY lease_until ${LIMIT}`;
const EXPIRED = `SELECT ${TASK_COLUMN_LIST} FROM task INDEXED BY task_expiry
  WHERE status IN (0, 2) AND expires_at <= ? ORDER BY expires_at ${LIMIT}`;

/** The task whose running attempt has this lease, or else one whose last attempt had it. */
function lastAttemptOf({ statements }: View, tenant: number, leaseId: string): StoredTask | null {
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

function addProgress(work: Work, row: TaskRow, { percent, note, actor }: Progress): void {
  addEntry(work, row, row.status, {
    event: 'heartbeat_progress',
    actor: actorText(actor),
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

/** Maximum number of attempts of a task that are not counted. */
const MAX_DEFERRALS = 100;

const SET_RESULT = 'UPDATE body SET result = ? WHERE seq = ?';

export function settle(work: Work, tenantName: string, settlements: readonly Settlement[]): SettleAnswer[] {
  const tenant = work.findTenant(tenantName);
  if (tenant === null) return settlements.map(() => ({ kind: 'lost' }));
  return settlements.map(settlement => settleOne(work, tenant, settlement));
}

function settleOne(work: Work, tenant: TenantTotals, settlement: Settlement): SettleAnswer {
  const stored = lastAttemptOf(work, tenant.number, settlement.leaseId);
  if (stored === null) return { kind: 'lost' };
  const { row } = stored;
  if (row.status !== STATUS.running) {
    return row.lease_event === EVENT[settlement.event]
      ? { kind: 'already', task: shown(work, row) }
      : { kind: 'lost' };
  }
  if (settlement.event === 'lease_expired' && (row.lease_until as number) > work.now) return { kind: 'lost' };
  throttle(work, row, settlement.throttleMs);
  end(work, tenant, stored, settlement);
  return { kind: 'settled', task: shown(work, row), beganAt: row.began_at };
}

function throttle(work: Work, { worker: number }: TaskRow, forMs: number): void {
  if (forMs <= 0) return;
  const worker = work.workerOf(number);
  worker.throttledUntil = Math.max(worker.throttledUntil ?? 0, work.now + forMs);
  worker.changed = true;
}

function end(work: Work, tenant: TenantTotals, stored: StoredTask, settlement: Settlement): void {
  const { row } = stored;
  const { event: asked, leaseId, error, http, result } = settlement;
  const { now } = work;
  const attempt = row.attempt;
  const { status, event, deferral, uncounted } = outcomeOf(row, settlement);
  row.status = status;
  row.lease_event = EVENT[asked];
  if (deferral) row.deferrals++;
  if (uncounted) row.attempt--;
  row.due_at = isFinalCode(status) ? null : now + settlement.delayMs;
  if (status === STATUS.succeeded) {
    if (result !== null) work.statements.run(SET_RESULT, result, row.seq);
  } else if (error !== null) {
    row.last_error = JSON.stringify({ ...error, at: now });
  }
  const rest = {
    ...(http !== null && { http }),
    ...(error !== null && { error: { code: error.code, message: error.message } }),
  };
  saveTask(work, tenant, stored, {
    event,
    actor: actorText(settlement.actor),
    attempt,
    lease: leaseId,
    rest,
  });
}

interface Outcome {
  readonly status: number;
  readonly event: Settlement['event'];
  /** Counts as a deferral. */
  readonly deferral: boolean;
  /** The attempt is not counted. */
  readonly uncounted: boolean;
}

function outcomeOf(row: TaskRow, { event, last }: Settlement): Outcome {
  const plain = { event, deferral: false, uncounted: false };
  if (event === 'succeeded') return { ...plain, status: STATUS.succeeded };
  if (event === 'canceled' || row.cancel_at !== null) {
    return { ...plain, status: STATUS.canceled, event: 'canceled' };
  }
  if (event === 'no_retry') return { ...plain, status: STATUS.failed };
  const deferral = event === 'deferred' || event === 'released';
  if (deferral && row.deferrals < MAX_DEFERRALS) {
    return { event, deferral, uncounted: true, status: STATUS.retry };
  }
  const { maxAttempts } = JSON.parse(row.retry) as { maxAttempts: number };
  const usedUp = last || row.attempt >= maxAttempts;
  return { event, deferral, uncounted: false, status: usedUp ? STATUS.failed : STATUS.retry };
}

import type { SettleAnswer, Settlement } from '../../requests.ts';
import { EVENT, isFinalCode, STATUS } from '../rows/codes.ts';
import { shown } from '../rows/read-task.ts';
import { saveTask } from '../rows/save.ts';
import { actorText, type StoredTask, type TaskRow } from '../rows/task-row.ts';
import type { TenantTotals } from '../rows/totals.ts';
import type { Work } from '../rows/work.ts';
import { lastAttemptOf } from './lease.ts';

/** So often an attempt may end without being counted. */
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
  return { kind: 'settled', task: shown(work, row) };
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
  /** One more deferral. */
  readonly deferral: boolean;
  /** The attempt is taken back. */
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

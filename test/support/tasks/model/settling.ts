import { isFinal, type Task, type TaskStatus } from '../../../../src/tasks/model/task.ts';
import type {
  ExtendAnswer,
  Progress,
  SettleAnswer,
  Settlement,
} from '../../../../src/tasks/store/requests.ts';
import type { TaskRecord, TenantState } from './state.ts';
import { changeTask, entryOf } from './writing.ts';

/** So often an attempt may end without being counted. */
const MAX_DEFERRALS = 100;

/** The task whose running attempt has this lease. */
export function leasedRecord(state: TenantState, leaseId: string): TaskRecord | undefined {
  return [...state.tasks.values()].find(({ lease }) => lease?.id === leaseId);
}

export function settle(state: TenantState, now: number, settlement: Settlement): SettleAnswer {
  const record = leasedRecord(state, settlement.leaseId);
  if (record === undefined) return settledBefore(state, settlement);
  if (settlement.event === 'lease_expired' && record.lease!.until > now) return { kind: 'lost' };

  const { workerId, lastError } = record.task;
  const { leaseId, error, result, http, throttleMs, actor } = settlement;
  if (throttleMs > 0) {
    state.throttles.set(workerId, Math.max(state.throttles.get(workerId) ?? 0, now + throttleMs));
  }
  const outcome = outcomeOf(record.task, settlement);
  const succeeded = outcome.status === 'succeeded';
  const changes: Partial<Task> = {
    status: outcome.status,
    attempt: record.task.attempt - (outcome.uncounted ? 1 : 0),
    deferrals: record.task.deferrals + (outcome.deferral ? 1 : 0),
    dueAt: isFinal(outcome.status) ? null : now + settlement.delayMs,
    lastError: error === null || succeeded ? lastError : { ...error, at: now },
  };
  const details = {
    event: outcome.event,
    actor,
    attempt: record.task.attempt,
    leaseIdSuffix: leaseId.slice(-4),
    ...(http === null ? {} : { http }),
    ...(error === null ? {} : { error: { code: error.code, message: error.message } }),
  };
  const rest = {
    lease: null,
    settled: { leaseId, event: settlement.event },
    body: succeeded ? { ...record.body, result } : record.body,
  };
  const beganAt = record.lease!.from;
  return { kind: 'settled', task: changeTask(state, now, record, changes, details, rest), beganAt };
}

interface Outcome {
  readonly status: TaskStatus;
  readonly event: Settlement['event'];
  /** One more deferral. */
  readonly deferral: boolean;
  /** The attempt is taken back. */
  readonly uncounted: boolean;
}

function outcomeOf(task: Task, { event, last }: Settlement): Outcome {
  const plain = { event, deferral: false, uncounted: false };
  if (event === 'succeeded') return { ...plain, status: 'succeeded' };
  if (event === 'canceled' || task.cancelRequestedAt !== null) {
    return { ...plain, status: 'canceled', event: 'canceled' };
  }
  if (event === 'no_retry') return { ...plain, status: 'failed' };
  const deferral = event === 'deferred' || event === 'released';
  if (deferral && task.deferrals < MAX_DEFERRALS)
    return { event, deferral, uncounted: true, status: 'retry' };
  const usedUp = last || task.attempt >= task.retry.maxAttempts;
  return { event, deferral, uncounted: false, status: usedUp ? 'failed' : 'retry' };
}

function settledBefore(state: TenantState, { leaseId, event }: Settlement): SettleAnswer {
  for (const { task, settled } of state.tasks.values()) {
    if (settled?.leaseId === leaseId && settled.event === event) return { kind: 'already', task };
  }
  return { kind: 'lost' };
}

export function extend(
  state: TenantState,
  now: number,
  leaseId: string,
  ms: number | null,
  progress: Progress | null,
): ExtendAnswer {
  const record = leasedRecord(state, leaseId);
  if (record === undefined) return { kind: 'lost' };
  const { task, history } = record;
  const lease = record.lease!;
  const until = ms === null ? lease.until : Math.max(lease.until, Math.min(now + ms, lease.latest));
  const entries = progress === null ? [] : [progressEntry(record, now, progress)];
  state.tasks.set(task.id, { ...record, lease: { ...lease, until }, history: [...history, ...entries] });
  return { kind: 'extended', until, cancelRequested: task.cancelRequestedAt !== null };
}

function progressEntry(record: TaskRecord, now: number, { percent, note, actor }: Progress) {
  return entryOf(record, record.task, now, {
    event: 'heartbeat_progress',
    actor,
    ...(percent === null ? {} : { progress: percent }),
    ...(note === null ? {} : { note }),
  });
}

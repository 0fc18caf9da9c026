import { actorText } from '../../actor-text.ts';
import { isFinalCode, isWaitingCode, STATUS } from '../../codes.ts';
import type { ChangeAnswer, RemoveAnswer, TaskChange, TaskPatch } from '../../requests.ts';
import { applyDifference, difference } from '../rows/content.ts';
import type { NewEntry } from '../rows/history.ts';
import { takeKeyAgain } from '../rows/keys.ts';
import { removeTask, saveTask } from '../rows/save.ts';
import { findTask, type StoredTask, shown, type TaskRow } from '../rows/task-row.ts';
import type { Work } from '../rows/work.ts';
import { presentOf } from './documents.ts';

/** The result of an action: the history entry for the change of the row, or why nothing was changed. */
type Verdict = NewEntry | 'unchanged' | 'status' | 'key_taken';
type Action = (work: Work, stored: StoredTask, change: TaskChange & { readonly by: string }) => Verdict;

const CHANGEABLE_WHILE_RUNNING = ['retry', 'tags', 'metadata'];

/** While an attempt runs, only the number of attempts of the retry policy can change. */
function whileRunning(row: TaskRow, patch: TaskPatch): TaskPatch {
  if (patch.retry === undefined) return patch;
  const present = JSON.parse(row.retry) as NonNullable<TaskPatch['retry']>;
  return { ...patch, retry: { ...present, maxAttempts: patch.retry.maxAttempts } };
}

/** For the actions, see {@link TaskChange}. */
const ACTIONS: Readonly<Record<TaskChange['action'], Action>> = {
  update(work, { row }, { patch, by }) {
    if (isFinalCode(row.status)) return 'status';
    const running = row.status === STATUS.running;
    const found = difference(work, row, running ? whileRunning(row, patch) : patch);
    const changed = found.names;
    if (running && changed.some(name => !CHANGEABLE_WHILE_RUNNING.includes(name))) return 'status';
    if (changed.length === 0) return 'unchanged';
    applyDifference(work, row, found);
    if (changed.includes('run_at') && row.held_by === null) row.due_at = row.run_at;
    return { event: 'updated', actor: by, rest: { changed } };
  },

  pause(_work, { row }, { by }) {
    if (row.status === STATUS.paused) return 'unchanged';
    if (!isWaitingCode(row.status)) return 'status';
    row.status = STATUS.paused;
    return { event: 'paused', actor: by };
  },

  resume(_work, { row }, { by }) {
    if (isWaitingCode(row.status)) return 'unchanged';
    if (row.status !== STATUS.paused) return 'status';
    row.status = row.started_at === null ? STATUS.scheduled : STATUS.retry;
    return { event: 'resumed', actor: by };
  },

  cancel({ now }, { row }, { by }) {
    if (row.status === STATUS.canceled) return 'unchanged';
    if (isFinalCode(row.status)) return 'status';
    if (row.status !== STATUS.running) {
      row.status = STATUS.canceled;
      return { event: 'canceled', actor: by };
    }
    if (row.cancel_at !== null) return 'unchanged';
    row.cancel_at = now;
    return { event: 'cancel_requested', actor: by };
  },

  replay(work, { row }, { patch, by }) {
    if (!isFinalCode(row.status)) return 'status';
    if (presentOf(work, row.tenant, 'worker', work.numbers.workerId(row.worker)) === null) return 'status';
    if (!takeKeyAgain(work, row)) return 'key_taken';
    work.statements.run('UPDATE body SET result = NULL WHERE seq = ? AND result IS NOT NULL', row.seq);
    const found = difference(work, row, patch);
    applyDifference(work, row, found);
    row.status = STATUS.scheduled;
    row.due_at = patch.runAt === undefined ? work.now : row.run_at;
    if (row.expires_at !== null && row.expires_at <= work.now) row.expires_at = null;
    row.attempt = 0;
    row.deferrals = 0;
    row.cancel_at = null;
    row.started_at = null;
    row.finished_at = null;
    row.lease = null;
    row.lease_event = null;
    return {
      event: 'replayed',
      actor: by,
      ...(found.names.length > 0 && { rest: { changed: found.names } }),
    };
  },

  run({ now }, { row }, { by }) {
    if (!isWaitingCode(row.status) || row.held_by !== null) return 'status';
    row.due_at = now;
    return { event: 'updated', actor: by, rest: { changed: ['run_at'] } };
  },

  expire({ now }, { row }, { by }) {
    if (!isWaitingCode(row.status) || row.expires_at === null || row.expires_at > now) return 'status';
    row.status = STATUS.expired;
    return { event: 'expired', actor: by };
  },
};

export function change(work: Work, tenant: string, id: string, request: TaskChange): ChangeAnswer {
  const totals = work.findTenant(tenant);
  const stored = totals === null ? null : findTask(work, totals.number, id);
  if (totals === null || stored === null) return { kind: 'refused', reason: 'missing', task: null };
  const { row } = stored;
  if (request.expectVersion !== null && request.expectVersion !== row.version) {
    return { kind: 'refused', reason: 'version', task: shown(work, row) };
  }
  const verdict = ACTIONS[request.action](work, stored, { ...request, by: actorText(request.actor) });
  if (verdict === 'unchanged') return { kind: 'unchanged', task: shown(work, row) };
  if (typeof verdict === 'string') return { kind: 'refused', reason: verdict, task: shown(work, row) };
  saveTask(work, totals, stored, verdict);
  return { kind: 'done', task: shown(work, row) };
}

export function remove(work: Work, tenant: string, id: string, expectVersion: number | null): RemoveAnswer {
  const totals = work.findTenant(tenant);
  const stored = totals === null ? null : findTask(work, totals.number, id);
  if (totals === null || stored === null) return 'missing';
  if (expectVersion !== null && expectVersion !== stored.row.version) return 'version';
  if (stored.row.status === STATUS.running) return 'running';
  removeTask(work, totals, stored.row);
  return 'removed';
}

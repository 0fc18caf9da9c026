import type { SQLInputValue, StatementSync } from 'node:sqlite';
import { DOCUMENT, isFinalCode, isWaitingCode, STATUS } from '../../codes.ts';
import { callbackDocument, type StoredDocument } from '../../documents.ts';
import { STORE_ACTOR_TEXT } from '../../history-gap.ts';
import type { Row, Statements } from '../file/statements.ts';
import { addEntry, type NewEntry } from './history.ts';
import { leaveKey } from './keys.ts';
import {
  bodyAt,
  type StoredTask,
  shown,
  storedTask,
  TASK_COLUMN_LIST,
  TASK_COLUMNS,
  type TaskColumn,
  type TaskRow,
} from './task-row.ts';
import type { TenantTotals, Work } from './work.ts';

const STATUS_PLACE = TASK_COLUMNS.indexOf('status');
const HELD_PLACE = TASK_COLUMNS.indexOf('held_by');
const DUE_PLACE = TASK_COLUMNS.indexOf('due_at');
const RUN_PLACE = TASK_COLUMNS.indexOf('run_at');
const INSERT = `INSERT INTO task (${TASK_COLUMN_LIST.slice(TASK_COLUMN_LIST.indexOf(',') + 1)})
  VALUES (${TASK_COLUMNS.slice(1)
    .map(() => '?')
    .join(', ')})`;
const INSERT_DOCUMENT =
  'INSERT INTO doc (tenant, kind, id, parent, version, due_at, body) VALUES (?, ?, ?, ?, ?, ?, ?)';
const HELD = `SELECT ${TASK_COLUMN_LIST} FROM task INDEXED BY task_held WHERE tenant = ? AND held_by = ?`;

/** Adds a task and sets `seq` of the row. */
export function insertTask(work: Work, tenant: TenantTotals, row: TaskRow, entry: NewEntry): void {
  row.events = 1;
  insertRow(work, tenant, row);
  row.events = 0;
  addEntry(work, row, null, entry);
}

/** Adds the row of a task in any status, without a body and entries, and sets `seq` of the row. */
export function insertRow(work: Work, tenant: TenantTotals, row: TaskRow): void {
  const values: SQLInputValue[] = [];
  for (let i = 1; i < TASK_COLUMNS.length; i++) values.push(row[TASK_COLUMNS[i]]);
  row.seq = work.statements.run(INSERT, ...values).lastInsertRowid;
  count(work, tenant, row.worker, row.status, 1);
  lowerHint(work, row);
  if (row.grp !== null) followGroup(work, row, null);
}

/**
 * Writes the changes of a task: increases its version and adds a history entry. If the task ends, it is no longer due or
 * held, releases its key and the tasks that it holds, and the document of its callback is written.
 */
export function saveTask(
  work: Work,
  tenant: TenantTotals,
  { row, before }: StoredTask,
  entry: NewEntry | null,
): void {
  const from = before[STATUS_PLACE] as number;
  const ends = isFinalCode(row.status) && !isFinalCode(from);
  row.version++;
  row.updated_at = work.now;
  if (ends) {
    row.finished_at = work.now;
    row.due_at = null;
    row.held_by = null;
  }
  if (entry !== null) addEntry(work, row, from, entry);
  update(work.statements, row, before);
  if (row.status !== from) {
    count(work, tenant, row.worker, from, -1);
    count(work, tenant, row.worker, row.status, 1);
  }
  if (ends) {
    leaveKey(work, row, before[HELD_PLACE] as string | null, work.now + row.key_ttl);
    releaseHeld(work, tenant, row);
    if (row.on_finish !== null) writeCallback(work, row);
  } else {
    lowerHint(work, row);
  }
  if (row.grp === null) return;
  followGroup(work, row, from);
  if (madeWay(row, before)) wakeForGroup(work, row);
}

/** Writes columns of a task that callers do not see. Does not change its version. */
export function saveAside({ statements }: Work, { row, before }: StoredTask): void {
  update(statements, row, before);
}

/** Removes a task with its body and history. Frees its key and releases the tasks that it holds. */
export function removeTask(work: Work, tenant: TenantTotals, row: TaskRow): void {
  const { statements } = work;
  statements.run('DELETE FROM task WHERE seq = ?', row.seq);
  statements.run('DELETE FROM body WHERE seq = ?', row.seq);
  statements.run('DELETE FROM event WHERE seq = ?', row.seq);
  count(work, tenant, row.worker, row.status, -1);
  if (row.grp !== null) followGroup(work, row, row.status);
  if (row.grp !== null && isInLine(row.status, row.due_at)) wakeForGroup(work, row);
  leaveKey(work, row, row.held_by, null);
  releaseHeld(work, tenant, row);
}

/** Sets the wake-up hint of the worker to the due time of the task, unless the hint is earlier. */
function lowerHint(work: Work, row: TaskRow): void {
  if (row.wake === 0 || row.due_at === null || !isWaitingCode(row.status)) return;
  const worker = work.workerOf(row.worker);
  if (worker.wakeAt !== null && worker.wakeAt <= row.due_at) return;
  worker.wakeAt = row.due_at;
  worker.changed = true;
}

/** Releases the tasks that were held by this one. They are due at their `runAt` or now, whichever is later. */
function releaseHeld(work: Work, tenant: TenantTotals, { id }: TaskRow): void {
  for (const values of work.statements.all(HELD, tenant.number, id)) {
    const held = storedTask(values);
    held.row.held_by = null;
    held.row.due_at = Math.max(held.row.run_at, work.now);
    saveTask(work, tenant, held, {
      event: 'updated',
      actor: STORE_ACTOR_TEXT,
      rest: { changed: ['held_by'] },
    });
  }
}

function count(work: Work, tenant: TenantTotals, workerNumber: number, status: number, by: number): void {
  const worker = work.workerOf(workerNumber);
  worker.counts[status] += by;
  worker.changed = true;
  tenant.counts[status] += by;
  tenant.changed = true;
}

/** Update statements by connection and by the set of columns that they write, with one bit for each column. */
const updates = new WeakMap<Statements, Map<number, StatementSync>>();

/**
 * Writes only the columns that have changed. SQLite updates every index with a column in the statement, even if its value
 * is the same.
 */
function update(statements: Statements, row: TaskRow, before: Row): void {
  const values: SQLInputValue[] = [];
  let columns = 0;
  for (let i = 1; i < TASK_COLUMNS.length; i++) {
    const value = row[TASK_COLUMNS[i]];
    if (value === before[i]) continue;
    columns += 2 ** i;
    values.push(value);
  }
  if (columns !== 0) updateOf(statements, columns).run(...values, row.seq);
}

function updateOf(statements: Statements, columns: number): StatementSync {
  let known = updates.get(statements);
  if (known === undefined) {
    known = new Map();
    updates.set(statements, known);
  }
  let statement = known.get(columns);
  if (statement === undefined) {
    const named = TASK_COLUMNS.filter((_: TaskColumn, i) => Math.floor(columns / 2 ** i) % 2 === 1);
    statement = statements.prepare(
      `UPDATE task SET ${named.map(column => `${column} = ?`).join(', ')} WHERE seq = ?`,
    );
    known.set(columns, statement);
  }
  return statement;
}

/** Adds a document that does not exist yet, without unique names. Returns its number. */
export function insertDocument(
  { statements }: Work,
  tenant: number,
  { kind, id, parent, dueAt, body }: Omit<StoredDocument, 'version'>,
  version = 1,
): number {
  const values = [tenant, DOCUMENT[kind], id, parent, version, dueAt, JSON.stringify(body)];
  return statements.run(INSERT_DOCUMENT, ...values).lastInsertRowid;
}

/** Writes the document for the callback of a task that has just ended, if the task has a callback for its status. */
function writeCallback(work: Work, row: TaskRow): void {
  const document = callbackDocument(shown(work, row), bodyAt(work, row.seq));
  if (document !== null) insertDocument(work, row.tenant, document);
}

const COUNT_START = `INSERT INTO task_group (worker, name, running) VALUES (?, ?, 1)
  ON CONFLICT (worker, name) DO UPDATE SET running = running + 1`;
/** When a task of a full group ends, the group must be read again. */
const COUNT_END = `UPDATE task_group SET running = running - 1, next_at = ?, full = NULL WHERE worker = ? AND name = ?`;
/** A full group is not read before one of its tasks ends. */
const LOOK_AT = `INSERT INTO task_group (worker, name, running, next_at) VALUES (?, ?, 0, ?)
  ON CONFLICT (worker, name) DO UPDATE SET next_at = min(ifnull(next_at, excluded.next_at), excluded.next_at)
  WHERE full IS NULL`;
export const FORGET_IDLE = `DELETE FROM task_group WHERE worker = ? AND name = ? AND running = 0 AND NOT EXISTS (
  SELECT 1 FROM task INDEXED BY task_group_line
  WHERE worker = task_group.worker AND grp = task_group.name AND status IN (0, 2) AND due_at IS NOT NULL)`;

/**
 * Updates the row of the group of a task after a change of the task.
 *
 * @param row the task after the change, or a removed task
 * @param from the previous status; null for a row that was added
 */
function followGroup(work: Work, row: TaskRow, from: number | null): void {
  const { statements, now } = work;
  const { worker, grp: group } = row;
  if (group === null) return;
  if (from === null) {
    if (row.status === STATUS.running) statements.run(COUNT_START, worker, group);
    else if (isWaitingCode(row.status) && row.due_at !== null)
      statements.run(LOOK_AT, worker, group, row.due_at);
    return;
  }
  const [ran, runs] = [from === STATUS.running, row.status === STATUS.running];
  if (ran && runs) return;
  if (runs) {
    statements.run(COUNT_START, worker, group);
    return;
  }
  if (ran) {
    statements.run(COUNT_END, now, worker, group);
    wakeForGroup(work, row);
  } else if (isWaitingCode(from) || isWaitingCode(row.status)) {
    statements.run(LOOK_AT, worker, group, now);
  }
  statements.run(FORGET_IDLE, worker, group);
}

/** Whether the task waits in the line of its group. */
function isInLine(status: number, dueAt: number | null): boolean {
  return isWaitingCode(status) && dueAt !== null;
}

/** Whether the task has left the line of its group or moved back in it. In a fifo group, the next task may start then. */
function madeWay(row: TaskRow, before: Row): boolean {
  if (!isInLine(before[STATUS_PLACE] as number, before[DUE_PLACE] as number | null)) return false;
  const hasLeft = !isWaitingCode(row.status) && row.status !== STATUS.running;
  return hasLeft || row.run_at > (before[RUN_PLACE] as number);
}

/** Sets the wake-up hint of a push worker to now, because another task of the group may start. */
function wakeForGroup(work: Work, row: TaskRow): void {
  if (row.wake === 0) return;
  const worker = work.workerOf(row.worker);
  worker.wakeAt = Math.min(worker.wakeAt ?? work.now, work.now);
  worker.changed = true;
}

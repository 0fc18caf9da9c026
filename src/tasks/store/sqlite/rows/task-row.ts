import type { SQLOutputValue } from 'node:sqlite';
import type { Task, TaskBody, TaskError } from '../../../model/task.ts';
import {
  contentOfTexts,
  keptTexts,
  NO_CONTENT,
  type OwnField,
  PRIORITIES,
} from '../../../model/task-content.ts';
import { actorOf } from '../../actor-text.ts';
import { STATUS_CODES } from '../../codes.ts';
import { onFinishOf } from '../../documents.ts';
import type { Row } from '../file/statements.ts';
import type { View } from './work.ts';

/** A row of `task`, by column. Operations change it, and `saveTask` writes the changed columns. */
export interface TaskRow extends Record<OwnField, string | null> {
  seq: number;
  tenant: number;
  id: string;
  worker: number;
  status: number;
  band: number;
  due_at: number | null;
  run_at: number;
  expires_at: number | null;
  attempt: number;
  deferrals: number;
  /** The number of its last history entry. */
  events: number;
  version: number;
  created_at: number;
  updated_at: number;
  started_at: number | null;
  finished_at: number | null;
  cancel_at: number | null;
  lease: string | null;
  lease_until: number | null;
  /** The latest time to which the lease can be extended. */
  lease_cap: number | null;
  lease_event: number | null;
  /** Start of the running attempt, or else of the last one. */
  began_at: number | null;
  key: string | null;
  key_ttl: number;
  grp: string | null;
  on_finish: string | null;
  schedule: string | null;
  scheduled_for: number | null;
  held_by: string | null;
  /** 1: the task sets wake-up hints. */
  wake: number;
  timeout: number;
  worker_name: string;
  /** JSON. */
  retry: string;
  /** `type:id` */
  created_by: string;
  last_error: string | null;
}
export type TaskColumn = keyof TaskRow;

const EMPTY_ROW: TaskRow = {
  seq: 0,
  tenant: 0,
  id: '',
  worker: 0,
  status: 0,
  band: 0,
  due_at: null,
  run_at: 0,
  expires_at: null,
  attempt: 0,
  deferrals: 0,
  events: 0,
  version: 0,
  created_at: 0,
  updated_at: 0,
  started_at: null,
  finished_at: null,
  cancel_at: null,
  lease: null,
  lease_until: null,
  lease_cap: null,
  lease_event: null,
  began_at: null,
  key: null,
  key_ttl: 0,
  grp: null,
  on_finish: null,
  schedule: null,
  scheduled_for: null,
  held_by: null,
  wake: 0,
  timeout: 0,
  worker_name: '',
  retry: '',
  ...(keptTexts(NO_CONTENT) as Record<OwnField, null>),
  created_by: '',
  last_error: null,
};

export const TASK_COLUMNS = Object.keys(EMPTY_ROW) as readonly TaskColumn[];
export const TASK_COLUMN_LIST = TASK_COLUMNS.join(', ');

/** A row that can be changed, and its values as they were read. */
export interface StoredTask {
  readonly row: TaskRow;
  readonly before: Row;
}

/** @param values of {@link TASK_COLUMN_LIST} */
export function storedTask(values: Row): StoredTask {
  return { row: rowOf(values), before: values };
}

export function rowOf(values: Row): TaskRow {
  // A copy of an object with all fields keeps its hidden class while the fields are set.
  const row = { ...EMPTY_ROW } as Record<TaskColumn, SQLOutputValue>;
  for (let i = 0; i < TASK_COLUMNS.length; i++) row[TASK_COLUMNS[i]] = values[i];
  return row as unknown as TaskRow;
}

function taskOf(row: TaskRow, workerId: string): Task {
  return {
    id: row.id,
    workerId,
    worker: row.worker_name,
    ...contentOfTexts(field => row[field]),
    status: STATUS_CODES[row.status],
    priority: PRIORITIES[row.band],
    runAt: row.run_at,
    dueAt: row.due_at,
    expiresAt: row.expires_at,
    timeoutMs: row.timeout,
    retry: parseRepeated(row.retry),
    attempt: row.attempt,
    deferrals: row.deferrals,
    key: row.key,
    keyTtlMs: row.key_ttl,
    lastError: row.last_error === null ? null : (JSON.parse(row.last_error) as TaskError),
    cancelRequestedAt: row.cancel_at,
    group: row.grp,
    scheduleId: row.schedule,
    scheduledFor: row.scheduled_for,
    heldBy: row.held_by,
    onFinish: onFinishOf(row.on_finish),
    createdBy: actorOf(row.created_by),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    version: row.version,
  };
}

/** The text for the column; null for an empty map. */
export function mapText(map: Readonly<Record<string, string>>): string | null {
  const text = JSON.stringify(map);
  return text === '{}' ? null : text;
}

const MAX_REPEATED = 256;
const repeated = new Map<string, Task['retry']>();

/** Caches parsed policies, because most tasks have the policy of their worker and therefore the same text. */
function parseRepeated(text: string): Task['retry'] {
  let policy = repeated.get(text);
  if (policy === undefined) {
    policy = JSON.parse(text) as Task['retry'];
    if (repeated.size >= MAX_REPEATED) repeated.clear();
    repeated.set(text, policy);
  }
  return policy;
}

const BY_ID = `SELECT ${TASK_COLUMN_LIST} FROM task INDEXED BY task_id WHERE tenant = ? AND id = ?`;
const BY_PLACE = `SELECT ${TASK_COLUMN_LIST} FROM task WHERE seq = ?`;
const BODY = 'SELECT payload, headers, result FROM body WHERE seq = ?';

export function findTask({ statements }: View, tenant: number, id: string): StoredTask | null {
  const values = statements.one(BY_ID, tenant, id);
  return values === undefined ? null : storedTask(values);
}

/** @throws TypeError if the task does not exist; rows that refer to a task are removed with it */
export function taskAt({ statements }: View, seq: number): StoredTask {
  return storedTask(statements.one(BY_PLACE, seq) as Row);
}

export function shown({ numbers }: View, row: TaskRow): Task {
  return taskOf(row, numbers.workerId(row.worker));
}

export function readTasks(view: View, rows: readonly Row[]): Task[] {
  return rows.map(values => shown(view, rowOf(values)));
}

export function bodyAt({ statements }: View, seq: number): TaskBody {
  return bodyOf(statements.one(BODY, seq) as Row);
}

export function bodyOf([payload, headers, result]: Row): TaskBody {
  return {
    payload: payload as string | null,
    headers: headers === null ? {} : (JSON.parse(headers as string) as Record<string, string>),
    result: result as string | null,
  };
}

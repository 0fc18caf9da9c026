import { bodyBytes, type Task, type TaskBody } from '../../../model/task.ts';
import { READ_BYTES } from '../../task-store.ts';
import type { Row } from '../file/statements.ts';
import { rowOf, type StoredTask, storedTask, TASK_COLUMN_LIST, type TaskRow, taskOf } from './task-row.ts';
import type { View } from './work.ts';

const BY_ID = `SELECT ${TASK_COLUMN_LIST} FROM task INDEXED BY task_id WHERE tenant = ? AND id = ?`;
const BY_PLACE = `SELECT ${TASK_COLUMN_LIST} FROM task WHERE seq = ?`;
const BODY = 'SELECT payload, headers, result FROM body WHERE seq = ?';
const BODY_BY_ID = `SELECT payload, headers, result FROM task INDEXED BY task_id CROSS JOIN body ON body.seq = task.seq
  WHERE tenant = ? AND id = ?`;

export function findTask({ statements }: View, tenant: number, id: string): StoredTask | null {
  const values = statements.one(BY_ID, tenant, id);
  return values === undefined ? null : storedTask(values);
}

/** @throws Error when there is none: rows that name it are removed with it */
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

function bodyOf([payload, headers, result]: Row): TaskBody {
  return {
    payload: payload as string | null,
    headers: headers === null ? {} : (JSON.parse(headers as string) as Record<string, string>),
    result: result as string | null,
  };
}

export function get(view: View, tenant: string, id: string): Task | null {
  const number = view.numbers.ofTenant(tenant);
  const found = number === null ? null : findTask(view, number, id);
  return found === null ? null : shown(view, found.row);
}

export function getWhole(
  view: View,
  tenant: string,
  id: string,
): { readonly task: Task; readonly body: TaskBody } | null {
  const number = view.numbers.ofTenant(tenant);
  const found = number === null ? null : findTask(view, number, id);
  return found === null ? null : { task: shown(view, found.row), body: bodyAt(view, found.row.seq) };
}

export function bodies(
  view: View,
  tenant: string,
  ids: readonly string[],
): ReadonlyMap<string, TaskBody | null> {
  const found = new Map<string, TaskBody | null>();
  const number = view.numbers.ofTenant(tenant);
  let bytes = 0;
  for (const id of ids) {
    const row = number === null ? undefined : view.statements.one(BODY_BY_ID, number, id);
    const body = row === undefined ? null : bodyOf(row);
    if (body !== null) {
      const more = bodyBytes(body);
      if (bytes > 0 && bytes + more > READ_BYTES) break;
      bytes += more;
    }
    found.set(id, body);
  }
  return found;
}

import type { TaskBody } from '../../../model/task.ts';
import type { DocumentRefusal } from '../../documents.ts';
import { madeTask } from '../../made-task.ts';
import type {
  ApplyAnswer,
  ClaimAnswer,
  ClaimedTask,
  CreateAnswer,
  CreateResult,
  NewTask,
  Overdue,
  SettleAnswer,
} from '../../requests.ts';
import { type BodyValues, bodyOf, type TaskValues, taskOf } from './task-row.ts';

/** Reads the answers of functions; `sql` describes their forms. */

export type ResultValues =
  /** For a task that was just created: the time, and the task that holds it. */
  | readonly ['made', at: number, heldBy: string | null]
  | readonly ['created' | 'replaced', TaskValues]
  | readonly ['existing', TaskValues, freeAt: number | null]
  | readonly ['refused', 'task_key_exists', id: string]
  | readonly ['refused', 'quota_exceeded' | 'worker_missing' | 'not_created'];

export type CreateValues =
  | readonly ['done', readonly ResultValues[]]
  | readonly ['replayed', readonly ResultValues[] | null, note: string]
  | readonly ['reused']
  | readonly ['documents', index: number, reason: DocumentRefusal];

/** @param note of the request */
export function createAnswer(values: CreateValues, tasks: readonly NewTask[], note: string): CreateAnswer {
  const results = (all: readonly ResultValues[]) => all.map((each, i) => resultOf(each, tasks[i]));
  switch (values[0]) {
    case 'done':
      return { kind: 'done', results: results(values[1]), note };
    case 'replayed':
      return { kind: 'replayed', results: results(values[1] ?? []), note: values[2] };
    case 'reused':
      return { kind: 'reused' };
    case 'documents':
      return { kind: 'documents_refused', index: values[1], reason: values[2] };
  }
}

function resultOf(values: ResultValues, item: NewTask): CreateResult {
  if (values[0] === 'made') {
    return { kind: 'created', task: madeTask(item, { at: values[1], heldBy: values[2] }) };
  }
  if (values[0] === 'refused') {
    if (values[1] === 'task_key_exists') {
      return { kind: 'refused', reason: values[1], taskId: values[2] };
    }
    return { kind: 'refused', reason: values[1] };
  }
  const task = taskOf(values[1]);
  return values[0] === 'existing'
    ? { kind: 'existing', task, keyFreeAt: values[2] }
    : { kind: values[0], task };
}

export type ApplyValues =
  | readonly ['done', versions: readonly number[]]
  | readonly ['replayed', results: null, note: string]
  | readonly ['reused']
  | readonly ['refused', index: number, reason: DocumentRefusal];

export function applyAnswer(values: ApplyValues): ApplyAnswer {
  switch (values[0]) {
    case 'done':
      return { kind: 'done', versions: values[1] };
    case 'replayed':
      return { kind: 'replayed', note: values[2] };
    case 'reused':
      return { kind: 'reused' };
    case 'refused':
      return { kind: 'refused', index: values[1], reason: values[2] };
  }
}

type ClaimedValues = readonly [TaskValues, ...BodyValues, leaseId: string, leaseUntil: number, dueAt: number];

export type ClaimValues = readonly [
  now: number,
  nextAt: number | null,
  blocked: ClaimAnswer['blocked'],
  tasks: readonly ClaimedValues[],
];

export function claimAnswer([now, nextAt, blocked, tasks]: ClaimValues): ClaimAnswer {
  return { tasks: tasks.map(claimedOf), now, nextAt, blocked };
}

function claimedOf(values: ClaimedValues): ClaimedTask {
  const [task, payload, headers, result, leaseId, leaseUntil, dueAt] = values;
  return { task: taskOf(task), body: bodyOf([payload, headers, result]), leaseId, leaseUntil, dueAt };
}

export type SettleValues =
  | readonly ['settled', TaskValues, beganAt: number | null]
  | readonly ['already', TaskValues]
  | readonly ['lost'];

export function settleAnswer(values: SettleValues): SettleAnswer {
  switch (values[0]) {
    case 'settled':
      return { kind: 'settled', task: taskOf(values[1]), beganAt: values[2] };
    case 'already':
      return { kind: 'already', task: taskOf(values[1]) };
    case 'lost':
      return { kind: 'lost' };
  }
}

export type OverdueValues = readonly [tenant: string, leaseId: string | null, task: TaskValues];

export function overdueOf(rows: readonly OverdueValues[]): Overdue[] {
  const tenants = new Map<
    string,
    { readonly leases: Overdue['leases'][number][]; readonly expired: Overdue['expired'][number][] }
  >();
  for (const [tenant, leaseId, values] of rows) {
    const found = tenants.get(tenant) ?? { leases: [], expired: [] };
    tenants.set(tenant, found);
    const task = taskOf(values);
    if (leaseId === null) found.expired.push(task);
    else found.leases.push({ leaseId, task });
  }
  return [...tenants].map(([tenant, found]) => ({ tenant, ...found }));
}

/** @param rows of the first ids; the others were left out */
export function bodiesOf(
  ids: readonly string[],
  rows: readonly (BodyValues | null)[],
): ReadonlyMap<string, TaskBody | null> {
  return new Map(rows.map((row, i) => [ids[i], row === null ? null : bodyOf(row)]));
}

import type { Task, TaskBody, TaskError } from '../../../model/task.ts';
import { contentOfTexts, OWN_FIELDS, type OwnField, PRIORITIES } from '../../../model/task-content.ts';
import { STATUS_CODES } from '../../codes.ts';
import { onFinishOf } from '../../documents.ts';
import { policyOf } from '../../policy-text.ts';
import { givenActor, givenText } from './plain-text.ts';

/** Columns of a task that answers contain, in their order. */
export const SHOWN_COLUMNS = [
  'id',
  'worker_id',
  'worker_name',
  'status',
  'band',
  'run_at',
  'due_at',
  'expires_at',
  'timeout',
  'max_attempts',
  'retry',
  'attempt',
  'deferrals',
  'key',
  'key_ttl',
  'last_error',
  'cancel_at',
  'grp',
  'schedule',
  'scheduled_for',
  'held_by',
  'on_finish',
  'created_by',
  'created_at',
  'updated_at',
  'started_at',
  'finished_at',
  'version',
  ...OWN_FIELDS,
] as const;

type ShownColumn = (typeof SHOWN_COLUMNS)[number];

/** Values of {@link SHOWN_COLUMNS}, as a JSON array. */
export type TaskValues = readonly (string | number | null)[];

const AT = Object.fromEntries(SHOWN_COLUMNS.map((column, at) => [column, at])) as Record<ShownColumn, number>;

export function taskOf(values: TaskValues): Task {
  const text = (column: ShownColumn) => values[AT[column]] as string;
  const textOrNull = (column: ShownColumn) => values[AT[column]] as string | null;
  const number = (column: ShownColumn) => values[AT[column]] as number;
  const numberOrNull = (column: ShownColumn) => values[AT[column]] as number | null;
  const lastError = textOrNull('last_error');
  const group = textOrNull('grp');
  return {
    id: text('id'),
    workerId: text('worker_id'),
    worker: text('worker_name'),
    ...contentOfTexts((field: OwnField) => textOrNull(field)),
    status: STATUS_CODES[number('status')],
    priority: PRIORITIES[number('band')],
    runAt: number('run_at'),
    dueAt: numberOrNull('due_at'),
    expiresAt: numberOrNull('expires_at'),
    timeoutMs: number('timeout'),
    retry: policyOf(number('max_attempts'), text('retry')),
    attempt: number('attempt'),
    deferrals: number('deferrals'),
    key: textOrNull('key'),
    keyTtlMs: number('key_ttl'),
    lastError: lastError === null ? null : (JSON.parse(lastError) as TaskError),
    cancelRequestedAt: numberOrNull('cancel_at'),
    group: group === null ? null : givenText(group),
    scheduleId: textOrNull('schedule'),
    scheduledFor: numberOrNull('scheduled_for'),
    heldBy: textOrNull('held_by'),
    onFinish: onFinishOf(textOrNull('on_finish')),
    createdBy: givenActor(text('created_by')),
    createdAt: number('created_at'),
    updatedAt: number('updated_at'),
    startedAt: numberOrNull('started_at'),
    finishedAt: numberOrNull('finished_at'),
    version: number('version'),
  };
}

export function tasksOf(rows: readonly TaskValues[]): Task[] {
  return rows.map(taskOf);
}

/** Values of the columns of a body. */
export type BodyValues = readonly [payload: string | null, headers: string | null, result: string | null];

export function bodyOf([payload, headers, result]: BodyValues): TaskBody {
  return {
    payload,
    headers: headers === null ? {} : (JSON.parse(headers) as Record<string, string>),
    result,
  };
}

import type { Task, TaskBody, TaskError } from '../../../model/task.ts';
import {
  contentOfTexts,
  keptTexts,
  OWN_FIELDS,
  type OwnField,
  PRIORITIES,
} from '../../../model/task-content.ts';
import { STATUS, STATUS_CODES } from '../../codes.ts';
import { onFinishOf, onFinishText } from '../../documents.ts';
import { policyOf, policyText } from '../../policy-text.ts';
import { givenActor, givenText, storedActor, storedText } from './plain-text.ts';

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

/** The opposite of {@link taskOf}: values by the names of their columns. */
export function columnsOf(task: Task): Readonly<Record<ShownColumn, string | number | null>> {
  return {
    id: task.id,
    worker_id: task.workerId,
    worker_name: task.worker,
    ...(keptTexts(task) as Record<OwnField, string | null>),
    status: STATUS[task.status],
    band: PRIORITIES.indexOf(task.priority),
    run_at: task.runAt,
    due_at: task.dueAt,
    expires_at: task.expiresAt,
    timeout: task.timeoutMs,
    max_attempts: task.retry.maxAttempts,
    retry: policyText(task.retry),
    attempt: task.attempt,
    deferrals: task.deferrals,
    key: task.key,
    key_ttl: task.keyTtlMs,
    last_error: task.lastError === null ? null : errorText(task.lastError),
    cancel_at: task.cancelRequestedAt,
    grp: task.group === null ? null : storedText(task.group),
    schedule: task.scheduleId,
    scheduled_for: task.scheduledFor,
    held_by: task.heldBy,
    on_finish: onFinishText(task.onFinish),
    created_by: storedActor(task.createdBy),
    created_at: task.createdAt,
    updated_at: task.updatedAt,
    started_at: task.startedAt,
    finished_at: task.finishedAt,
    version: task.version,
  };
}

/** The opposite of {@link taskOf}. */
export function taskValues(task: Task): TaskValues {
  const columns = columnsOf(task);
  return SHOWN_COLUMNS.map(column => columns[column]);
}

/** The time is last, where the end of an attempt adds it. */
function errorText({ code, message, httpStatus, at }: TaskError): string {
  return JSON.stringify({ code, message, httpStatus, at });
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

import type { TenantLimits, Worker } from '../../model/documents.ts';
import { isFinal, type Task, type TaskBody, type TaskStatus } from '../../model/task.ts';
import { changedContent } from '../../model/task-content.ts';
import { withGivenHeaders } from '../../model/task-headers.ts';
import type { TaskPatch } from '../../store/requests.ts';
import { seesPayloads } from '../access/authorization.ts';
import { limitsOf } from '../access/tenant-limits.ts';
import {
  acceptingAnswer,
  changedFields,
  FieldReader,
  type Fields,
  writableFields,
} from '../checks/field-reader.ts';
import { Problem } from '../checks/problem.ts';
import { checkContentFor, readContent } from '../fields/content-fields.ts';
import { checkExpiry, readTimes } from '../fields/new-task.ts';
import { TASK_ANSWER, TASK_CHANGES, taskView } from '../fields/task-fields.ts';
import type { RestParts } from '../http/parts.ts';
import { expectedVersion, expectedVersions } from '../http/request-headers.ts';
import { type Call, changeRoutes, type RestAnswer, type Route } from '../http/route.ts';
import { tryAgain } from '../http/try-again.ts';
import {
  changeProblem,
  changeTask,
  noSuchTask,
  type TaskAction,
  taskId,
  transitionProblem,
} from './change-task.ts';
import { changedAnswer } from './task-read.ts';

/** The values of `status` that a change can request. */
const WANTED_STATUSES: readonly unknown[] = ['scheduled', 'paused', 'canceled'] satisfies TaskStatus[];

/** Fields that are stored in the body of a task. */
const BODY_FIELDS = ['payload', 'payload_base64', 'content_type', 'url', 'headers', 'result'];
/** Fields that change while a task waits. */
const MOVING: ReadonlySet<string> = new Set(['waiting_for', 'waiting_since']);

const TASK_BODY = acceptingAnswer(TASK_CHANGES, TASK_ANSWER);

/** `PUT /v1/tasks/:id` and its alias `PATCH` (specification 3.2). Fields that are left out stay unchanged. */
export function updateTaskRoutes(parts: RestParts): readonly Route[] {
  return changeRoutes('Task', {
    path: '/v1/tasks/:id',
    summary: 'Change a task',
    access: { role: 'member', scope: 'tasks:write' },
    body: TASK_BODY,
    answers: { 200: { description: 'The task after the change', schema: TASK_ANSWER } },
    problems: [
      'conflicting_fields',
      'payload_too_large',
      'task_running',
      'invalid_transition',
      'task_key_exists',
      'version_mismatch',
    ],
    handle: call => updateTask(parts, call),
  });
}

async function updateTask(parts: RestParts, call: Call): Promise<RestAnswer> {
  const id = taskId(call.params['id']);
  let meant = expectedVersions(call);
  return tryAgain('the resource', 'version_mismatch', async () => {
    const before = await readBefore(parts, call, id);
    const { task } = before;
    expectedVersion(meant, task.version);
    const steps = await planSteps(parts, call, changesOf(call.body, shownTo(call, before)), before);
    const outcome = await takeSteps(parts, call, task, steps);
    if (outcome.kind === 'done') return changedAnswer(parts, call, outcome.task);
    // The first step has checked the expected version. The remaining steps apply to the version that it created.
    if (outcome.taken > 0) meant = null;
    return null;
  });
}

interface Before {
  readonly task: Task;
  readonly body: TaskBody | null;
}

/** Reads the task. Its body is read only if the request has fields of it, to compare them. */
async function readBefore({ store }: RestParts, call: Call, id: string): Promise<Before> {
  const isWhole = BODY_FIELDS.some(name => Object.hasOwn(call.body, name));
  const whole = isWhole ? await store.getWhole(call.tenant, id) : null;
  const task = whole?.task ?? (await store.get(call.tenant, id));
  if (task === null) throw noSuchTask(id);
  return { task, body: whole?.body ?? null };
}

/**
 * The fields that differ from the current task. So a task can be sent back unchanged, even if its status does not allow
 * changes.
 *
 * @throws Problem `validation_failed`
 */
function changesOf(body: Fields, shown: Fields): Fields {
  const fields = changedFields(writableFields(body, TASK_CHANGES, shown, MOVING), shown);
  if (fields.status !== undefined && !WANTED_STATUSES.includes(fields.status)) {
    const reader = new FieldReader();
    reader.fault('/status', 'invalid', `must be one of: ${WANTED_STATUSES.join(', ')}`);
    reader.finish();
  }
  // A payload of bytes is shown with `payload: null`. If a request has only this field, it clears the payload.
  const cleared = isClearing(body, shown) ? { payload: null } : {};
  if (fields.retry == null) return { ...fields, ...cleared };
  return { ...fields, ...cleared, retry: changedFields(fields.retry as Fields, shown.retry as Fields) };
}

function isClearing(body: Fields, shown: Fields): boolean {
  return body.payload === null && body.payload_base64 === undefined && shown.payload_base64 !== undefined;
}

/** The task as GET returns it to the caller. */
function shownTo({ caller }: Call, { task, body }: Before): Fields {
  return taskView(task, seesPayloads(caller) ? body : null);
}

interface Step {
  readonly action: TaskAction;
  readonly patch: TaskPatch;
}

type Outcome =
  | { readonly kind: 'done'; readonly task: Task }
  /** Something else changed the task in between. */
  | { readonly kind: 'overtaken'; readonly taken: number };

/** Takes the steps. Each requires the version that it was planned for. */
async function takeSteps(
  parts: RestParts,
  call: Call,
  before: Task,
  steps: readonly Step[],
): Promise<Outcome> {
  let task = before;
  for (const [taken, { action, patch }] of steps.entries()) {
    const change = { action, patch, expectVersion: task.version, actor: call.caller.actor };
    const answer = await changeTask(parts, call.tenant, task.id, change);
    if (answer.kind === 'refused') {
      if (answer.reason === 'version') return { kind: 'overtaken', taken };
      throw changeProblem(task.id, action, answer);
    }
    task = answer.task;
  }
  return { kind: 'done', task };
}

const NOTHING: TaskPatch = {};

/**
 * Plans the steps of a change. Their order prevents a task from running with only a part of the change: it is paused
 * before it is changed, and changed before it is resumed.
 */
async function planSteps(
  parts: RestParts,
  call: Call,
  wantedFields: Fields,
  { task, body }: Before,
): Promise<readonly Step[]> {
  const { status: wanted, ...fields } = wantedFields as Fields & { readonly status?: TaskStatus };
  const action = wanted === undefined ? null : actionTowards(wanted, task);
  const changes = Object.keys(fields).length > 0;
  const worker = await parts.directory.get(call.tenant, 'worker', task.workerId);
  const context = { limits: limitsOf(parts, call), nowMs: call.nowMs, worker: worker?.body ?? null };
  const read = changes ? readPatch(fields, { task, body }, context) : NOTHING;
  const patch = await keepingOthers(parts, call.tenant, task.id, read);
  if (changes && action !== 'replay') checkStatusAllows(fields, task);
  const update: readonly Step[] = changes ? [{ action: 'update', patch }] : [];
  switch (action) {
    case null:
      return update;
    case 'replay':
      return [{ action, patch }];
    case 'pause':
      return [{ action, patch: NOTHING }, ...update];
    default:
      return [...update, { action, patch: NOTHING }];
  }
}

/** Keeps what the store keeps among the headers, such as the URL of the task, when the headers change. */
async function keepingOthers(
  { store }: RestParts,
  tenant: string,
  id: string,
  patch: TaskPatch,
): Promise<TaskPatch> {
  if (patch.headers === undefined) return patch;
  const before = await store.getWhole(tenant, id);
  return {
    ...patch,
    headers: withGivenHeaders(before?.body.headers ?? {}, patch.headers),
  };
}

/** @throws Problem `invalid_transition` */
function actionTowards(wanted: TaskStatus, task: Task): TaskAction | null {
  if (wanted === 'paused') return 'pause';
  if (wanted === 'canceled') return 'cancel';
  if (isFinal(task.status)) return 'replay';
  if (task.status === 'running') throw transitionProblem('resume', task);
  return task.status === 'paused' ? 'resume' : null;
}

interface PatchContext {
  readonly limits: TenantLimits;
  /** Null if it was deleted, which is possible for finished tasks. */
  readonly worker: Worker | null;
  readonly nowMs: number;
}

function readPatch(
  fields: Fields,
  { task, body }: Before,
  { limits, worker, nowMs }: PatchContext,
): TaskPatch {
  const reader = new FieldReader();
  const content = readContent(fields, '', reader, limits, body?.payload);
  if (worker !== null) checkContentFor(worker, content, '', reader);
  const times = readTimes(fields, reader, nowMs);
  const runAt = times.runAt === null ? { afterMs: 0 } : times.runAt;
  const expiresAt = times.expiresAt === undefined ? task.expiresAt : times.expiresAt;
  if (runAt !== undefined || times.expiresAt != null) {
    checkExpiry(expiresAt, runAt ?? Math.max(task.runAt, nowMs), reader, nowMs);
  }
  reader.finish();
  const { payload, headers } = content;
  return {
    ...changedContent(content, task, worker ?? task),
    ...(payload === undefined ? {} : { payload }),
    ...(headers === undefined ? {} : { headers: headers ?? {} }),
    ...(runAt === undefined ? {} : { runAt }),
    ...(times.expiresAt === undefined ? {} : { expiresAt: times.expiresAt }),
  };
}

const WHILE_RUNNING = new Set(['metadata', 'tags', 'retry']);

/** @throws Problem `task_running` or `invalid_transition` */
function checkStatusAllows(fields: Fields, task: Task): void {
  if (isFinal(task.status)) throw transitionProblem('update', task);
  if (task.status !== 'running') return;
  const retry = Object.keys((fields.retry ?? {}) as Fields).filter(name => name !== 'max_attempts');
  const fixed = [
    ...Object.keys(fields).filter(name => !WHILE_RUNNING.has(name)),
    ...(fields.retry === null ? ['retry'] : retry.map(name => `retry/${name}`)),
  ];
  if (fixed.length === 0) return;
  const detail = `While a task is running, only metadata, tags and retry.max_attempts can change; these fields cannot: ${fixed.join(', ')}.`;
  throw new Problem('task_running', detail, {
    errors: fixed.map(name => ({
      pointer: `/${name}`,
      code: 'task_running',
      detail: 'cannot change while the task is running',
    })),
  });
}

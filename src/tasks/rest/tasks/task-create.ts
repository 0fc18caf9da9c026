import type { ObjectSchema } from '../../../base/schema/schema.ts';
import { formatTimeOrNull } from '../../model/time.ts';
import type { CreateAnswer, CreateResult } from '../../store/requests.ts';
import { seesPayloads } from '../access/authorization.ts';
import { limitsOf, quotaExceeded } from '../access/tenant-limits.ts';
import { NAMED } from '../checks/example-names.ts';
import type { Fields } from '../checks/field-reader.ts';
import { Problem } from '../checks/problem.ts';
import { shownBy, TIME_OR_NULL } from '../checks/resource.ts';
import { findWorker } from '../fields/named-documents.ts';
import { readNewTask, unknownWorker } from '../fields/new-task.ts';
import { NEW_TASK, TASK_EXAMPLE, TASK_FIELDS, taskView } from '../fields/task-fields.ts';
import { keyReused, REPLAYED } from '../http/idempotency.ts';
import type { RestParts } from '../http/parts.ts';
import { entityTag, traceOfCall } from '../http/request-headers.ts';
import type { Call, RestAnswer, Route } from '../http/route.ts';

/** An example of a created task, without its body. */
export const CREATED_EXAMPLE = { ...TASK_EXAMPLE, deduplicated: false, key_free_at: null };

/** A new task, or the open task that has its key. */
export const CREATED_TASK: ObjectSchema = {
  type: 'object',
  name: 'CreatedTask',
  properties: {
    ...shownBy(TASK_FIELDS),
    deduplicated: { type: 'boolean', description: 'An open task has the key, and this is that task.' },
    replaced: {
      type: 'boolean',
      optional: true,
      description: 'The task was replaced with the content of this request.',
    },
    key_free_at: {
      ...TIME_OR_NULL,
      description: 'Until when the key stays reserved; null while the task is open.',
    },
  },
  example: { payload: { to: NAMED.email, template: 'welcome' }, url: null, headers: {}, result: null },
};

/** `POST /v1/tasks` (specification 3.2). */
export function createTaskRoute(parts: RestParts): Route {
  return {
    method: 'POST',
    path: '/v1/tasks',
    operation: 'createTask',
    summary: 'Create a task',
    access: { role: 'member', scope: 'tasks:write' },
    body: NEW_TASK,
    answers: {
      201: { description: 'The new task', schema: CREATED_TASK },
      200: { description: 'The open task that has the key', schema: CREATED_TASK },
    },
    problems: [
      'conflicting_fields',
      'invalid_url',
      'forbidden_address',
      'payload_too_large',
      'task_key_exists',
      'quota_exceeded',
    ],
    handle: call => createTask(parts, call),
  };
}

async function createTask(parts: RestParts, call: Call): Promise<RestAnswer> {
  const limits = limitsOf(parts, call);
  const { actor } = call.caller;
  const text = call.body['worker'] as string;
  const done = await createdOrFirst(parts, call, async () => {
    const worker = await findWorker(parts.directory, call.tenant, text);
    if (worker === null) throw unknownWorker(text);
    const trace = traceOfCall(call);
    const task = readNewTask(call.body, worker, { parts, limits, actor, nowMs: call.nowMs, trace });
    return parts.store.create(call.tenant, {
      tasks: [task],
      atomic: false,
      maxOpen: limits.openTasks,
      actor,
      ...remembering(call),
    });
  });
  return createdAnswer(parts, call, done);
}

/**
 * Creates tasks, and signals when they are due. A repeated request gets the response to the first one, even if it would
 * now be rejected, for example because its worker was deleted.
 *
 * @throws Problem `idempotency_key_reused`, or whatever `create` rejects with if there was no earlier request
 */
export async function createdOrFirst(
  parts: RestParts,
  call: Call,
  create: () => Promise<CreateAnswer>,
): Promise<DoneCreate> {
  let answer: CreateAnswer;
  try {
    answer = await create();
  } catch (thrown) {
    const first = thrown instanceof Problem ? await firstAnswer(parts, call) : null;
    if (first === null) throw thrown;
    answer = first;
  }
  const done = doneOrThrow(answer);
  if (done.kind === 'done') signalDue(parts, call.tenant, done.results);
  return done;
}

/**
 * The response to an earlier request with the same key; null without one. Creating no tasks reads the record without
 * changing anything.
 */
export async function firstAnswer(parts: RestParts, call: Call): Promise<CreateAnswer | null> {
  if (call.idempotency === null) return null;
  const answer = await parts.store.create(call.tenant, {
    tasks: [],
    atomic: false,
    maxOpen: 0,
    actor: call.caller.actor,
    idempotency: call.idempotency,
  });
  return answer.kind === 'done' ? null : answer;
}

/** The part of a store request that makes it remembered. */
export function remembering(call: Call, note = ''): { idempotency?: NonNullable<Call['idempotency']> } {
  return call.idempotency === null ? {} : { idempotency: { ...call.idempotency, note } };
}

type DoneCreate = Extract<CreateAnswer, { readonly results: unknown }>;

/** @throws Problem `idempotency_key_reused` */
export function doneOrThrow(answer: CreateAnswer): DoneCreate {
  if (answer.kind === 'reused') throw keyReused();
  if (answer.kind === 'documents_refused')
    throw new Error('a request without documents cannot have them refused');
  return answer;
}

/**
 * Tasks that are due later are not signaled: the dispatcher reads hints of the store each second, and long polls end
 * earlier. Receiving a signal costs about a tenth of creating a task.
 */
const TOLD_AHEAD_MS = 5 * 60_000;

/** Signals when new tasks are due. */
export function signalDue(parts: RestParts, tenant: string, results: readonly CreateResult[]): void {
  const latestMs = parts.clock.nowMs() + TOLD_AHEAD_MS;
  const earliest = new Map<string, number>();
  for (const result of results) {
    if (result.kind !== 'created' && result.kind !== 'replaced') continue;
    const { workerId, dueAt } = result.task;
    if (dueAt !== null && dueAt <= latestMs)
      earliest.set(workerId, Math.min(dueAt, earliest.get(workerId) ?? dueAt));
  }
  for (const [workerId, at] of earliest) parts.signals.tell('taskDue', tenant, workerId, at);
}

function createdAnswer(parts: RestParts, call: Call, { kind, results }: DoneCreate): RestAnswer {
  const [result] = results;
  if (result.kind === 'refused') throw refusedProblem(parts, call, call.body['worker'] as string, result);
  const { task } = result;
  // Payload and headers of the task are those of the request, unless the task was there before.
  const sent = result.kind !== 'existing' && seesPayloads(call.caller) ? bodyOf(call.body) : {};
  const json = { ...createdView(result), ...sent };
  const headers = { ETag: entityTag(task.version), ...(kind === 'replayed' ? REPLAYED : {}) };
  if (result.kind !== 'created') return { status: 200, headers, json };
  return { status: 201, headers: { ...headers, Location: `/api/v1/tasks/${task.id}` }, json };
}

function bodyOf(fields: Fields): Fields {
  const headers = Object.entries((fields.headers ?? {}) as Record<string, string>);
  return {
    payload: fields.payload ?? null,
    url: fields.url ?? null,
    headers: Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value])),
    result: null,
  };
}

/** A created or found task in the form of {@link CREATED_TASK}, without its body. */
export function createdView(result: Exclude<CreateResult, Refusal>): Record<string, unknown> {
  const view = taskView(result.task, null);
  view.deduplicated = result.kind !== 'created';
  if (result.kind === 'replaced') view.replaced = true;
  view.key_free_at = formatTimeOrNull(result.kind === 'existing' ? result.keyFreeAt : null);
  return view;
}

type Refusal = Extract<CreateResult, { readonly kind: 'refused' }>;

/**
 * The response to a task that the store rejected.
 *
 * @param worker the worker as the caller named it
 */
export function refusedProblem(parts: RestParts, call: Call, worker: string, refusal: Refusal): Problem {
  switch (refusal.reason) {
    case 'task_key_exists': {
      const detail = `A task with this key is already open (${refusal.taskId}). Wait until it finishes, or set on_conflict to replace or return.`;
      return new Problem('task_key_exists', detail, { members: { task_id: refusal.taskId } });
    }
    case 'quota_exceeded': {
      const { openTasks } = limitsOf(parts, call);
      const detail = `The account already has ${openTasks} open tasks, which is its limit. Cancel some, or wait until some finish.`;
      return quotaExceeded('open_tasks', openTasks, detail);
    }
    case 'worker_missing':
      // The worker was deleted within the last second, and the directory still had it.
      parts.directory.changed(call.tenant);
      return unknownWorker(worker);
    case 'not_created':
      throw new Error('a task is only left out if another one was rejected');
  }
}

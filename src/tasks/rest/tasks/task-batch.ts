import type { ProblemPart } from '../../../base/schema/problem-part.ts';
import type { ObjectSchema } from '../../../base/schema/schema.ts';
import { schemaCheck } from '../../../base/schema/schema-check.ts';
import type { StoredDocument } from '../../store/documents.ts';
import type { CreateAnswer, NewTask } from '../../store/requests.ts';
import { limitsOf } from '../access/tenant-limits.ts';
import { NAMED } from '../checks/example-names.ts';
import type { Fields } from '../checks/field-reader.ts';
import { Problem } from '../checks/problem.ts';
import { PROBLEMS } from '../checks/problem-list.ts';
import { findWorker } from '../fields/named-documents.ts';
import { readNewTask, unknownWorker } from '../fields/new-task.ts';
import { NEW_TASK } from '../fields/task-fields.ts';
import { REPLAYED } from '../http/idempotency.ts';
import type { RestParts } from '../http/parts.ts';
import { ITEM_ERROR, type ItemResult, refusedItem } from '../http/problem-answer.ts';
import { schemaProblem } from '../http/read-request.ts';
import { traceOfCall } from '../http/request-headers.ts';
import type { Call, RestAnswer, Route } from '../http/route.ts';
import {
  CREATED_EXAMPLE,
  CREATED_TASK,
  createdView,
  doneOrThrow,
  firstAnswer,
  refusedProblem,
  remembering,
  signalDue,
} from './task-create.ts';

const MAX_BATCH_TASKS = 500;
const MAX_BATCH_BYTES = 5 * 1024 * 1024;
/**
 * Maximum number of faults listed in an answer, in addition to one for each item. Faults take much more space than the
 * invalid input.
 */
const MAX_BATCH_FAULTS = 1_000;
/** Maximum size of the note about items that were rejected before the store was called. */
const MAX_NOTE_BYTES = 60 * 1024;

const BATCH_SCHEMA: ObjectSchema = {
  type: 'object',
  name: 'NewTasks',
  properties: {
    tasks: {
      type: 'array',
      items: { type: 'any', shows: NEW_TASK },
      min: 1,
      max: MAX_BATCH_TASKS,
      tooMany: 'batch_too_large',
      description: `At most ${MAX_BATCH_TASKS} tasks in at most 5 MiB.`,
    },
    atomic: {
      type: 'boolean',
      optional: true,
      description: 'Create all tasks or none: if one is rejected, none is created.',
    },
  },
  example: {
    tasks: [
      NEW_TASK.example,
      {
        worker: NAMED.worker,
        type: 'email.reminder',
        payload: { to: NAMED.email },
        run_at: '2026-03-02T09:00:00Z',
      },
    ],
  },
};

const BATCH_ANSWER: ObjectSchema = {
  type: 'object',
  name: 'NewTaskResults',
  properties: {
    results: {
      type: 'array',
      description: 'One result for each task, in the same order.',
      items: {
        type: 'object',
        name: 'NewTaskResult',
        properties: {
          status: {
            type: 'number',
            integer: true,
            description: 'The HTTP status that POST /v1/tasks would have returned.',
          },
          task: { ...CREATED_TASK, optional: true },
          error: ITEM_ERROR,
        },
      },
    },
  },
  example: {
    results: [
      { status: 201, task: CREATED_EXAMPLE },
      {
        status: 422,
        error: {
          code: 'validation_failed',
          title: 'Invalid field',
          detail: '/run_at must be at most 366 days ahead',
          errors: [
            { pointer: '/run_at', code: 'out_of_range', detail: '/run_at must be at most 366 days ahead' },
          ],
        },
      },
    ],
  },
};

/** `POST /v1/tasks/batch` (specification 3.2). */
export function createTasksRoute(parts: RestParts): Route {
  return {
    method: 'POST',
    path: '/v1/tasks/batch',
    operation: 'createTasks',
    summary: 'Create many tasks',
    access: { role: 'member', scope: 'tasks:write' },
    body: BATCH_SCHEMA,
    answers: { 200: { description: 'The result of each task', schema: BATCH_ANSWER } },
    problems: [
      'batch_too_large',
      'conflicting_fields',
      'payload_too_large',
      'task_key_exists',
      'quota_exceeded',
    ],
    handle: call => createTasks(parts, call),
  };
}

/** An item that was rejected before the store was called. */
interface Refused {
  readonly index: number;
  readonly problem: Problem;
}

async function createTasks(parts: RestParts, call: Call): Promise<RestAnswer> {
  const atomic = isAtomic(call);
  checkSize(call.bodyBytes);
  const { tasks, refused } = await readItems(parts, call);
  let answer: CreateAnswer;
  if (refused.length > 0 && (atomic || tasks.length === 0)) {
    const first = await firstAnswer(parts, call);
    if (first === null && atomic) throw atomicProblem(refused);
    answer = first ?? { kind: 'done', results: [], note: noteOf(refused) };
  } else {
    answer = await parts.store.create(call.tenant, {
      tasks,
      atomic,
      maxOpen: limitsOf(parts, call).openTasks,
      actor: call.caller.actor,
      ...remembering(call, noteOf(refused)),
    });
  }
  return batchAnswer(parts, call, doneOrThrow(answer), refused);
}

function itemsOf({ body }: Call): readonly unknown[] {
  return body['tasks'] as readonly unknown[];
}

/** Whether either all tasks are created or none. */
function isAtomic({ body }: Call): boolean {
  return body['atomic'] === true;
}

function checkSize(bytes: number): void {
  if (bytes > MAX_BATCH_BYTES) {
    throw new Problem(
      'batch_too_large',
      `The body has ${bytes} bytes. A batch can have at most ${MAX_BATCH_BYTES}.`,
    );
  }
}

const checkItem = schemaCheck(NEW_TASK);

async function readItems(
  parts: RestParts,
  call: Call,
): Promise<{ readonly tasks: readonly NewTask[]; readonly refused: readonly Refused[] }> {
  const { actor } = call.caller;
  const context = {
    parts,
    limits: limitsOf(parts, call),
    actor,
    nowMs: call.nowMs,
    trace: traceOfCall(call),
  };
  const workers = new Map<string, StoredDocument<'worker'> | null>();
  const tasks: NewTask[] = [];
  const refused: Refused[] = [];
  let faults = 0;
  for (const [index, item] of itemsOf(call).entries()) {
    try {
      const fields = checkedItem(item);
      const text = fields.worker as string;
      let worker = workers.get(text);
      if (worker === undefined) {
        worker = await findWorker(parts.directory, call.tenant, text);
        workers.set(text, worker);
      }
      if (worker === null) throw unknownWorker(text);
      tasks.push(readNewTask(fields, worker, context));
    } catch (thrown) {
      if (!(thrown instanceof Problem)) throw thrown;
      const problem = withFewerFaults(thrown, MAX_BATCH_FAULTS - faults);
      faults += problem.extras.errors?.length ?? 0;
      refused.push({ index, problem });
    }
  }
  return { tasks, refused };
}

/** @throws Problem `validation_failed` or `unknown_field` */
function checkedItem(item: unknown): Fields {
  const faults = checkItem(item);
  if (faults === null) return item as Fields;
  throw schemaProblem(faults);
}

/** Includes as many of the faults as fit. The message always describes the first one. */
function withFewerFaults(problem: Problem, room: number): Problem {
  const { errors } = problem.extras;
  if (errors === undefined || errors.length <= room) return problem;
  const { code, message, extras } = problem;
  return new Problem(code, message, { ...extras, errors: errors.slice(0, Math.max(room, 1)) });
}

/** The response with the faults of all items. Its code is that of the first item. */
function atomicProblem(refused: readonly Refused[]): Problem {
  const errors: ProblemPart[] = [];
  for (const { index, problem } of refused) {
    const at = `/tasks/${index}`;
    for (const part of problem.extras.errors ?? [
      { pointer: '', code: problem.code, detail: problem.message },
    ]) {
      if (errors.length < MAX_TOLD) errors.push({ ...part, pointer: `${at}${part.pointer ?? ''}` });
    }
  }
  const [{ index, problem }] = refused;
  const detail = `No task was created, because ${refused.length} of them are not valid. The first is /tasks/${index}: ${problem.message}`;
  return new Problem(problem.code, detail, { ...problem.extras, errors });
}

/** Maximum number of faults in a response. */
const MAX_TOLD = 50;

/** The note about rejected items, so that a repeated request gets the same response. */
function noteOf(refused: readonly Refused[]): string {
  if (refused.length === 0) return '';
  const whole = JSON.stringify(refused.map(({ index, problem }) => [index, refusedItem(problem)]));
  if (Buffer.byteLength(whole) <= MAX_NOTE_BYTES) return whole;
  // Without details, 500 items always fit.
  const short = ({ index, problem: { code } }: Refused) => [
    index,
    refusedItem(new Problem(code, PROBLEMS[code].title)),
  ];
  return JSON.stringify(refused.map(short));
}

function batchAnswer(
  parts: RestParts,
  call: Call,
  { kind, results, note }: { kind: 'done' | 'replayed'; results: CreateResults; note: string },
  refusedNow: readonly Refused[],
): RestAnswer {
  const refused: ReadonlyMap<number, ItemResult> =
    kind === 'done'
      ? new Map(refusedNow.map(({ index, problem }) => [index, refusedItem(problem)]))
      : new Map(note === '' ? [] : (JSON.parse(note) as [number, ItemResult][]));
  const late: Refused[] = [];
  const all: ItemResult[] = [];
  let next = 0;
  for (const [index, item] of itemsOf(call).entries()) {
    const early = refused.get(index);
    if (early !== undefined) all.push(early);
    else {
      const result = results[next++];
      if (result.kind !== 'refused') {
        all.push({ status: result.kind === 'created' ? 201 : 200, task: createdView(result) });
      } else if (result.reason !== 'not_created') {
        const problem = refusedProblem(parts, call, (item as { worker: string }).worker, result);
        late.push({ index, problem });
        all.push(refusedItem(problem));
      }
    }
  }
  if (isAtomic(call) && late.length > 0) throw atomicProblem(late);
  if (kind === 'done') signalDue(parts, call.tenant, results);
  return { status: 200, json: { results: all }, headers: kind === 'replayed' ? REPLAYED : {} };
}

type CreateResults = Extract<CreateAnswer, { readonly results: unknown }>['results'];

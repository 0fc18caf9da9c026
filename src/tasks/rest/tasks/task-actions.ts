import { forEachLimited } from '../../../base/for-each-limited.ts';
import type { ObjectSchema, Schema } from '../../../base/schema/schema.ts';
import { isId } from '../../model/ids.ts';
import { FINAL_STATUSES, isFinal, type Task, type TaskStatus } from '../../model/task.ts';
import { placeOf } from '../../store/search.ts';
import { auditEntry } from '../access/audit.ts';
import { isAtLeast } from '../access/authorization.ts';
import { NAMED } from '../checks/example-names.ts';
import { Problem } from '../checks/problem.ts';
import { PROBLEMS, type ProblemCode } from '../checks/problem-list.ts';
import { remembered } from '../http/idempotency.ts';
import { Cursors, type ListIdentity } from '../http/page.ts';
import type { RestParts } from '../http/parts.ts';
import type { Call, RestAnswer, Route } from '../http/route.ts';
import { changeProblem, changeTask, removeTask, type TaskAction } from './change-task.ts';
import { FILTER_DESCRIPTIONS, readTaskFilter, type TaskFilterTexts } from './task-filter.ts';

/** The actions for many tasks. */
const BULK_ACTIONS = ['retry', 'cancel', 'pause', 'resume', 'run', 'delete'] as const;
type BulkAction = (typeof BULK_ACTIONS)[number];

/**
 * The statuses that a filter without a status selects. Succeeded tasks are retried, and unfinished tasks are deleted, only
 * if the filter names their status.
 */
const DEFAULT_STATUSES: Readonly<Record<BulkAction, readonly TaskStatus[]>> = {
  retry: ['failed', 'expired'],
  cancel: ['scheduled', 'running', 'retry', 'paused'],
  pause: ['scheduled', 'retry'],
  resume: ['paused'],
  run: ['scheduled', 'retry'],
  delete: FINAL_STATUSES,
};

const CHANGES: Readonly<Record<Exclude<BulkAction, 'delete'>, TaskAction>> = {
  retry: 'replay',
  cancel: 'cancel',
  pause: 'pause',
  resume: 'resume',
  run: 'run',
};

/** Why a task was not changed: a problem code, or `unchanged` if it already was in the requested state. */
type SkipCode = ProblemCode | 'unchanged';

const MAX_IDS = 1_000;
const MAX_LIMIT = 10_000;
const DEFAULT_LIMIT = 1_000;
/** Number of tasks per search. */
const PAGE = 500;
/** Maximum number of concurrent changes of a request, so that it does not block the store for others. */
const AT_ONCE = 16;
/** Maximum number of searches of a request. A filter may match few tasks among very many. */
const MAX_SEARCHES = 40;
const MAX_SKIPPED_SHOWN = 100;

const ACTION_SCHEMA: ObjectSchema = {
  type: 'object',
  name: 'TaskAction',
  properties: {
    action: { type: 'string', enum: BULK_ACTIONS, description: 'delete requires the role admin.' },
    ids: { type: 'array', items: { type: 'string', max: 64 }, min: 1, max: MAX_IDS, optional: true },
    filter: {
      type: 'object',
      optional: true,
      description:
        'Selects tasks in place of ids, with the filters of lists. Without a status, it selects tasks with the statuses that the action applies to; for retry, failed and expired tasks.',
      properties: Object.fromEntries(
        Object.entries(FILTER_DESCRIPTIONS).map(([name, description]): [string, Schema] => [
          name,
          { type: 'string', max: 255, optional: true, description },
        ]),
      ),
    },
    limit: {
      type: 'number',
      integer: true,
      min: 1,
      max: MAX_LIMIT,
      optional: true,
      description: `Maximum number of tasks that a filter selects. Default: ${DEFAULT_LIMIT}.`,
    },
    cursor: {
      type: 'string',
      max: 256,
      optional: true,
      description: 'The next_cursor of the previous response.',
    },
    dry_run: { type: 'boolean', optional: true, description: 'Report what would be done, without doing it.' },
  },
  example: {
    action: 'retry',
    filter: { worker: NAMED.worker, status: 'failed', start: '-24h' },
    limit: 500,
    dry_run: true,
  },
};

const ACTION_ANSWER: ObjectSchema = {
  type: 'object',
  name: 'TaskActionResult',
  properties: {
    matched: { type: 'number', integer: true, min: 0, description: 'Number of selected tasks.' },
    changed: { type: 'number', integer: true, min: 0 },
    skipped: {
      type: 'array',
      max: MAX_SKIPPED_SHOWN,
      description: `The first ${MAX_SKIPPED_SHOWN} tasks that were not changed.`,
      items: {
        type: 'object',
        properties: {
          id: { type: 'string' },
          code: { type: 'string', enum: [...Object.keys(PROBLEMS), 'unchanged'] },
        },
      },
    },
    next_cursor: {
      type: 'string',
      nullable: true,
      description: 'The cursor for the next request if more tasks match.',
    },
  },
  example: {
    matched: 31,
    changed: 30,
    skipped: [{ id: NAMED.ids.task, code: 'invalid_transition' }],
    next_cursor: null,
  },
};

/** `POST /v1/tasks/actions` (specification 3.2). */
export function taskActionsRoute(parts: RestParts): Route {
  return {
    method: 'POST',
    path: '/v1/tasks/actions',
    operation: 'actOnTasks',
    summary: 'Retry, cancel, pause, resume, run or delete many tasks',
    access: { role: 'member', scope: 'tasks:write' },
    body: ACTION_SCHEMA,
    answers: { 200: { description: 'The result of the action', schema: ACTION_ANSWER } },
    problems: ['conflicting_fields', 'invalid_status', 'invalid_time_range', 'invalid_cursor'],
    handle: call => remembered(parts.store, call, () => actOnTasks(parts, call)),
  };
}

async function actOnTasks(parts: RestParts, call: Call): Promise<RestAnswer> {
  const ids = call.body['ids'] as readonly string[] | undefined;
  const filter = call.body['filter'] as TaskFilterTexts | undefined;
  if ((ids === undefined) === (filter === undefined)) throw idsOrFilter(ids !== undefined);
  const run = new ActionRun(parts, call);
  const next = ids === undefined ? await run.onFilter(filter!) : await run.onIds([...new Set(ids)]);
  await run.record();
  return { status: 200, json: { ...run.tally, next_cursor: next } };
}

function idsOrFilter(both: boolean): Problem {
  const detail = both
    ? '/ids and /filter exclude each other. Give only one of them.'
    : 'Either /ids or /filter is required.';
  const code = both ? 'conflicting_fields' : 'validation_failed';
  return new Problem(code, detail, {
    errors: ['/ids', '/filter'].map(pointer => ({ pointer, code, detail })),
  });
}

/** @throws Problem `insufficient_role` */
function requireAdmin({ caller }: Call): void {
  if (caller.kind === 'user' && isAtLeast(caller.role, 'admin')) return;
  throw new Problem('insufficient_role', 'Deleting many tasks at once requires the role admin.');
}

/** The result so far. */
interface Tally {
  matched: number;
  changed: number;
  readonly skipped: { readonly id: string; readonly code: SkipCode }[];
}

/** One request that applies an action to many tasks. */
class ActionRun {
  readonly tally: Tally = { matched: 0, changed: 0, skipped: [] };
  readonly #parts: RestParts;
  readonly #call: Call;
  readonly #action: BulkAction;
  readonly #isDry: boolean;

  /** @throws Problem `insufficient_role` */
  constructor(parts: RestParts, call: Call) {
    this.#parts = parts;
    this.#call = call;
    this.#action = call.body['action'] as BulkAction;
    this.#isDry = call.body['dry_run'] === true;
    if (this.#action === 'delete') requireAdmin(call);
  }

  /** @returns null, because all tasks are handled */
  async onIds(ids: readonly string[]): Promise<null> {
    const { store } = this.#parts;
    const { tenant, gone } = this.#call;
    await forEachLimited(
      ids,
      AT_ONCE,
      async id => {
        if (gone.aborted) return;
        if (!isId('task', id)) this.#count(id, 'not_found');
        else if (this.#isDry) {
          const task = await store.get(tenant, id);
          this.#count(id, task === null ? 'not_found' : wouldSkip(task, this.#action));
        } else await this.#act(id);
      },
      'stop',
    );
    return null;
  }

  /** @returns the cursor for the next request; null if no more tasks match */
  async onFilter(texts: TaskFilterTexts): Promise<string | null> {
    const { tenant, body, gone } = this.#call;
    const limit = (body['limit'] as number | undefined) ?? DEFAULT_LIMIT;
    const cursor = body['cursor'] as string | undefined;
    const identity: ListIdentity = {
      tenant,
      list: `actOnTasks ${this.#action}`,
      filters: texts as Record<string, string>,
    };
    const cursors = new Cursors(this.#parts.config.cursorKey);
    let after = cursor === undefined ? null : cursors.read(identity, cursor);
    const filter = await readTaskFilter(this.#parts, this.#call, texts, DEFAULT_STATUSES[this.#action]);
    if (filter === null) return null;
    for (let searches = 0; searches < MAX_SEARCHES && !gone.aborted; searches++) {
      const room = Math.min(PAGE, limit - this.tally.matched);
      const found = await this.#parts.store.search(tenant, {
        ...filter,
        after,
        order: 'asc',
        limit: room + 1,
      });
      const tasks = found.tasks.slice(0, room);
      await this.#onPage(tasks);
      after = found.tasks.length > room ? placeOf(tasks[room - 1], filter.by) : found.behind;
      if (after === null) return null;
      if (this.tally.matched >= limit) break;
    }
    return after === null ? null : cursors.write(identity, after);
  }

  async #onPage(tasks: readonly Task[]): Promise<void> {
    if (this.#isDry) for (const task of tasks) this.#count(task.id, wouldSkip(task, this.#action));
    else await forEachLimited(tasks, AT_ONCE, task => this.#act(task), 'stop');
  }

  async #act(what: string | Task): Promise<void> {
    const skipped = await actOn(this.#parts, this.#call, what, this.#action);
    this.#count(typeof what === 'string' ? what : what.id, skipped);
  }

  #count(id: string, skipped: SkipCode | null): void {
    this.tally.matched++;
    if (skipped === null) this.tally.changed++;
    else if (this.tally.skipped.length < MAX_SKIPPED_SHOWN) this.tally.skipped.push({ id, code: skipped });
  }

  /** Writes the audit log and the log, except for a dry run. */
  async record(): Promise<void> {
    if (this.#isDry) return;
    const { tenant, caller } = this.#call;
    const { matched, changed } = this.tally;
    const details = { action: this.#action, matched, changed };
    const entry = auditEntry(this.#parts, this.#call, { action: 'tasks.bulk_action', details });
    await this.#parts.store.apply(tenant, [entry]);
    this.#parts.logger.info('Bulk action on tasks finished', { tenant, by: caller.actor.id, ...details });
  }
}

/**
 * Applies the action to a task.
 *
 * @param what the id of the task, or the task as read a moment ago
 * @returns null if the task was changed
 */
export async function actOn(
  parts: RestParts,
  { tenant, caller }: Call,
  what: string | Task,
  action: BulkAction,
): Promise<SkipCode | null> {
  if (action === 'delete') {
    const answer = await removeTask(parts, tenant, what, null);
    if (answer === 'removed') return null;
    return answer === 'running' ? 'task_running' : 'not_found';
  }
  const id = typeof what === 'string' ? what : what.id;
  const change = { action: CHANGES[action], patch: {}, expectVersion: null, actor: caller.actor };
  const answer = await changeTask(parts, tenant, id, change);
  if (answer.kind === 'refused') return changeProblem(id, change.action, answer).code;
  return answer.kind === 'unchanged' ? 'unchanged' : null;
}

/** Predicts the result of {@link actOn} from the task itself. It does not check whether the key is free. */
function wouldSkip(task: Task, action: BulkAction): SkipCode | null {
  const { status, heldBy, cancelRequestedAt } = task;
  const waits = status === 'scheduled' || status === 'retry';
  switch (action) {
    case 'retry':
      return isFinal(status) ? null : 'invalid_transition';
    case 'cancel':
      if (status === 'canceled' || (status === 'running' && cancelRequestedAt !== null)) return 'unchanged';
      return isFinal(status) ? 'invalid_transition' : null;
    case 'pause':
      if (status === 'paused') return 'unchanged';
      return waits ? null : 'invalid_transition';
    case 'resume':
      if (waits) return 'unchanged';
      return status === 'paused' ? null : 'invalid_transition';
    case 'run':
      return waits && heldBy === null ? null : 'invalid_transition';
    case 'delete':
      return status === 'running' ? 'task_running' : null;
  }
}

import type { Task, TaskBody } from '../model/task.ts';
import { Cursors } from './cursor.ts';
import { invalidParameter, PAGE_QUERY, type Page, pageAnswer, pageSchema, readPage } from './page.ts';
import type { RestParts } from './parts.ts';
import { Problem } from './problem.ts';
import type { Call, RestAnswer, Route } from './route.ts';
import { FILTER_DESCRIPTIONS, readTaskFilter } from './task-filter.ts';
import { TASK_ANSWER, taskView } from './task-view.ts';
import { seesPayloads } from './visibility.ts';

/** Bodies are read so many at a time, until a page is as large as it may get. */
const BODIES_AT_ONCE = 20;
const MAX_BODY_CHARACTERS = 4 * 1024 * 1024;

/** `GET /v1/tasks` (specification 3.10). */
export function listTasksRoute(parts: RestParts): Route {
  const cursors = new Cursors(parts.config.cursorKey);
  return {
    method: 'GET',
    path: '/v1/tasks',
    operation: 'listTasks',
    summary: 'List tasks, by the time of their creation',
    access: { role: 'viewer', scope: 'tasks:read' },
    query: {
      ...FILTER_DESCRIPTIONS,
      ...PAGE_QUERY,
      include: '`payload`: with payloads, headers and results, where the caller may see them.',
    },
    answers: { 200: { description: 'A page of tasks', schema: pageSchema('TaskPage', TASK_ANSWER) } },
    problems: [
      'invalid_parameter',
      'invalid_status',
      'invalid_time_range',
      'invalid_cursor',
      'payload_hidden',
    ],
    handle: call => listTasks(parts, cursors, call),
  };
}

async function listTasks(parts: RestParts, cursors: Cursors, call: Call): Promise<RestAnswer> {
  const page = readPage(call, 'listTasks', cursors);
  const withBodies = readInclude(call);
  const filter = await readTaskFilter(parts, call.tenant, call.query, call.nowMs);
  if (filter === null) return shown(page, [], cursors, null);
  const { after, order, limit } = page;
  const found = await parts.store.list(call.tenant, { ...filter, after, order, limit: limit + 1 });
  if (!withBodies) return shown(page, found, cursors, null);
  const bodies = await readBodies(parts, call.tenant, found.slice(0, limit));
  // A page that has grown too large ends early: the next one begins behind it.
  const short = { ...page, limit: bodies.read };
  return shown(short, found, cursors, bodies.byId);
}

function shown(
  page: Page,
  found: readonly Task[],
  cursors: Cursors,
  bodies: ReadonlyMap<string, TaskBody> | null,
): RestAnswer {
  return pageAnswer(
    page,
    found,
    cursors,
    task => task.id,
    task => taskView(task, bodies?.get(task.id) ?? null),
  );
}

/** @throws Problem `invalid_parameter` or `payload_hidden` */
function readInclude(call: Call): boolean {
  const text = call.query['include'] ?? '';
  if (text === '') return false;
  if (text !== 'payload') throw invalidParameter('include', 'include is payload, or left out');
  if (seesPayloads(call.caller)) return true;
  throw new Problem(
    'payload_hidden',
    'payloads take the role member and, where the token is narrowed, the scope tasks:payload: leave out include=payload',
  );
}

/** Bodies of as many of the tasks as make a page, at least of the first. */
async function readBodies(
  { store }: Pick<RestParts, 'store'>,
  tenant: string,
  tasks: readonly Task[],
): Promise<{ readonly byId: ReadonlyMap<string, TaskBody>; readonly read: number }> {
  const byId = new Map<string, TaskBody>();
  let characters = 0;
  let read = 0;
  while (read < tasks.length && characters < MAX_BODY_CHARACTERS) {
    const ids = tasks.slice(read, read + BODIES_AT_ONCE).map(task => task.id);
    for (const [id, body] of await store.bodies(tenant, ids)) {
      byId.set(id, body);
      characters += (body.payload?.length ?? 0) + (body.result?.length ?? 0);
    }
    read += ids.length;
  }
  return { byId, read };
}

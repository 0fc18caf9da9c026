import type { TaskBody } from '../../model/task.ts';
import { placeOf } from '../../store/search.ts';
import { seesPayloads } from '../access/visibility.ts';
import { Problem } from '../checks/problem.ts';
import { TASK_ANSWER, taskText } from '../fields/task-view.ts';
import { Cursors } from '../http/cursor.ts';
import { LargeReads } from '../http/large-reads.ts';
import {
  invalidParameter,
  PAGE_QUERY,
  PAGES_AT_ONCE,
  pageAnswer,
  pageSchema,
  readPage,
} from '../http/page.ts';
import type { RestParts } from '../http/parts.ts';
import type { Call, RestAnswer, Route } from '../http/route.ts';
import { FILTER_DESCRIPTIONS, readTaskFilter } from './task-filter.ts';
import { waitingOf } from './task-waiting.ts';

/** `GET /v1/tasks` (specification 3.10). */
export function listTasksRoute(parts: RestParts): Route {
  const cursors = new Cursors(parts.config.cursorKey);
  const reads = new LargeReads(PAGES_AT_ONCE);
  return {
    method: 'GET',
    path: '/v1/tasks',
    operation: 'listTasks',
    summary: 'List tasks, by the time of their creation or that at which they are due',
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
      'validation_failed',
      'payload_hidden',
    ],
    handle: call => {
      const withBodies = readInclude(call);
      const list = () => listTasks(parts, cursors, call, withBodies);
      return withBodies ? reads.run(call.tenant, list) : list();
    },
  };
}

async function listTasks(
  parts: RestParts,
  cursors: Cursors,
  call: Call,
  withBodies: boolean,
): Promise<RestAnswer> {
  const page = readPage(call, 'listTasks', cursors);
  const filter = await readTaskFilter(parts, call.tenant, call.query, call.nowMs);
  if (filter === null) return pageAnswer(page, [], cursors, String, String);
  const { after, order, limit } = page;
  const found = await parts.store.search(call.tenant, { ...filter, after, order, limit: limit + 1 });
  const onPage = found.tasks.slice(0, limit);
  const waiting = await waitingOf(parts, call, onPage);
  const ids = withBodies ? onPage.map(({ id }) => id) : [];
  const bodies = ids.length === 0 ? NO_BODIES : await parts.store.bodies(call.tenant, ids);
  return pageAnswer(
    // If the store returned fewer bodies, the page ends there, and the next page starts after them.
    withBodies ? { ...page, limit: bodies.size } : page,
    found.tasks,
    cursors,
    task => placeOf(task, filter.by),
    task => taskText(task, bodies.get(task.id) ?? null, waiting(task)),
    found.behind,
  );
}

const NO_BODIES: ReadonlyMap<string, TaskBody | null> = new Map();

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

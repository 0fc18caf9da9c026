import type { ObjectSchema, Schema } from '../../../base/schema/schema.ts';
import { HISTORY_EVENTS, type HistoryEntry, TASK_STATUSES } from '../../model/task.ts';
import { formatTime } from '../../model/time.ts';
import { seesPayloads } from '../access/authorization.ts';
import { NAMED } from '../checks/example-names.ts';
import { TIME } from '../checks/resource.ts';
import { ACTOR_ANSWER, actorView } from '../fields/task-fields.ts';
import { PAGE_QUERY, pageAnswer, pageSchema, readPage } from '../http/page.ts';
import type { RestParts } from '../http/parts.ts';
import type { Call, RestAnswer, Route } from '../http/route.ts';
import { noSuchTask, taskId } from './change-task.ts';

const COUNT: Schema = { type: 'number', integer: true, min: 0 };
const OPTIONAL_TEXT: Schema = { type: 'string', optional: true };

const HISTORY_ENTRY: ObjectSchema = {
  type: 'object',
  name: 'HistoryEntry',
  properties: {
    seq: { type: 'number', integer: true, min: 1 },
    at: TIME,
    event: { type: 'string', enum: HISTORY_EVENTS },
    from: { type: 'string', enum: TASK_STATUSES, nullable: true },
    to: { type: 'string', enum: TASK_STATUSES },
    attempt: COUNT,
    actor: ACTOR_ANSWER,
    lease_id_suffix: OPTIONAL_TEXT,
    http: {
      type: 'object',
      optional: true,
      properties: {
        status: { type: 'number', integer: true },
        duration_ms: { type: 'number' },
        response: { ...OPTIONAL_TEXT, description: 'Only present if the caller may see payloads.' },
        truncated: { type: 'boolean' },
      },
    },
    error: {
      type: 'object',
      optional: true,
      properties: { code: { type: 'string' }, message: { type: 'string' } },
    },
    next_attempt_at: { type: 'string', format: 'date-time', optional: true },
    changed: { type: 'array', items: { type: 'string' }, optional: true },
    progress: { type: 'number', min: 0, max: 100, optional: true },
    note: OPTIONAL_TEXT,
    dropped: { ...COUNT, optional: true, description: 'For `gap`: the number of entries that were removed.' },
  },
  example: {
    seq: 3,
    at: '2026-03-01T10:15:00.410Z',
    event: 'succeeded',
    from: 'running',
    to: 'succeeded',
    attempt: 1,
    actor: { type: 'worker', id: NAMED.ids.worker },
    http: { status: 200, duration_ms: 390, response: '{"message_id":"m-4711"}', truncated: false },
  },
};

/** `GET /v1/tasks/:id/history` (specification 3.4). */
export function taskHistoryRoute(parts: RestParts): Route {
  return {
    method: 'GET',
    path: '/v1/tasks/:id/history',
    operation: 'readTaskHistory',
    summary: 'Read the history of a task',
    access: { role: 'viewer', scope: 'tasks:read' },
    query: PAGE_QUERY,
    answers: { 200: { description: 'A page of entries', schema: pageSchema('HistoryPage', HISTORY_ENTRY) } },
    handle: call => readHistory(parts, call),
  };
}

async function readHistory(parts: RestParts, call: Call): Promise<RestAnswer> {
  const id = taskId(call.params['id']);
  const page = readPage(parts, call, `readTaskHistory ${id}`, 'asc');
  const after = page.after === null ? null : Number(page.after);
  const entries = await parts.store.history(call.tenant, id, {
    after,
    limit: page.limit + 1,
    order: page.order,
  });
  if (entries === null) throw noSuchTask(id);
  const withReplies = seesPayloads(call.caller);
  return pageAnswer(page, entries, {
    placeOf: entry => String(entry.seq),
    write: entry => JSON.stringify(entryView(entry, withReplies)),
  });
}

function entryView(entry: HistoryEntry, withReplies: boolean): Record<string, unknown> {
  const { http, error, nextAttemptAt, leaseIdSuffix, changed, progress, note, dropped } = entry;
  const view: Record<string, unknown> = {
    seq: entry.seq,
    at: formatTime(entry.at),
    event: entry.event,
    from: entry.from,
    to: entry.to,
    attempt: entry.attempt,
    actor: actorView(entry.actor),
  };
  if (leaseIdSuffix !== undefined) view.lease_id_suffix = leaseIdSuffix;
  if (http !== undefined) {
    const { status, durationMs, response, truncated } = http;
    view.http = { status, duration_ms: durationMs, ...(withReplies ? { response } : {}), truncated };
  }
  if (error !== undefined) view.error = { code: error.code, message: error.message };
  if (nextAttemptAt !== undefined) view.next_attempt_at = formatTime(nextAttemptAt);
  if (changed !== undefined) view.changed = changed;
  if (progress !== undefined) view.progress = progress;
  if (note !== undefined) view.note = note;
  if (dropped !== undefined) view.dropped = dropped;
  return view;
}

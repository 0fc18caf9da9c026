import type { ObjectSchema } from '../../../base/schema/schema.ts';
import { DST_NOTES, type PreviewedTime, previewTimes } from '../../model/schedules/schedule-preview.ts';
import { formatTime } from '../../model/time.ts';
import { triggerSchedule } from '../../scheduler/schedules/schedule-task.ts';
import type { CreateAnswer } from '../../store/requests.ts';
import { limitsOf } from '../access/tenant-limits.ts';
import { FieldReader } from '../checks/field-reader.ts';
import { TIME, takenBy } from '../checks/resource.ts';
import { readNamed } from '../fields/named-documents.ts';
import { unknownWorker } from '../fields/new-task.ts';
import { TASK_ANSWER, taskView } from '../fields/task-fields.ts';
import { REPLAYED } from '../http/idempotency.ts';
import type { RestParts } from '../http/parts.ts';
import { entityTag, traceOfCall } from '../http/request-headers.ts';
import type { Call, RestAnswer, Route } from '../http/route.ts';
import { createdOrFirst, doneOrThrow, refusedProblem } from '../tasks/task-create.ts';
import { MAX_START_MS, readTimingFields, timingProblem } from './read-schedule.ts';
import { TIMING, TIMING_EXAMPLE } from './schedule-fields.ts';

const DEFAULT_COUNT = 10;
const MAX_COUNT = 50;

const PREVIEW_FIELDS: ObjectSchema = {
  type: 'object',
  name: 'SchedulePreviewFields',
  properties: {
    ...takenBy(TIMING, 'new'),
    count: {
      type: 'number',
      integer: true,
      min: 1,
      max: MAX_COUNT,
      optional: true,
      description: `Number of times. Default: ${DEFAULT_COUNT}.`,
    },
    from: {
      type: 'string',
      max: 64,
      format: 'date-time',
      optional: true,
      description: 'Start of the preview, at most ten years ahead. Default: now.',
    },
  },
  example: { ...TIMING_EXAMPLE, from: '2026-03-27T00:00:00Z', count: 3 },
};

const PREVIEW: ObjectSchema = {
  type: 'object',
  name: 'SchedulePreview',
  properties: {
    timezone: { type: 'string' },
    times: {
      type: 'array',
      max: MAX_COUNT,
      description:
        'Fewer than count if the schedule ends, or if further times are more than ten years ahead.',
      items: {
        type: 'object',
        name: 'PreviewedTime',
        properties: {
          at: TIME,
          local: {
            type: 'string',
            description: 'The time in the time zone of the schedule, with its offset.',
          },
          note: {
            type: 'string',
            enum: DST_NOTES,
            nullable: true,
            description:
              'Effect of a clock change. moved_by_dst: the local time does not exist, and the run is at the ' +
              'first moment after the gap. first_of_two, second_of_two: the local time occurs twice. ' +
              'previous_skipped_by_dst: the run before this one was skipped, because its local time does not exist and gap is skip.',
          },
        },
      },
    },
  },
  example: {
    timezone: 'Europe/Berlin',
    times: [
      { at: '2026-03-27T06:30:00.000Z', local: '2026-03-27T07:30:00+01:00', note: null },
      { at: '2026-03-30T05:30:00.000Z', local: '2026-03-30T07:30:00+02:00', note: null },
      { at: '2026-03-31T05:30:00.000Z', local: '2026-03-31T07:30:00+02:00', note: null },
    ],
  },
};

/** `POST /v1/schedules/preview` (specification 3.9). It stores nothing. */
export function previewScheduleRoute(parts: RestParts): Route {
  return {
    method: 'POST',
    path: '/v1/schedules/preview',
    operation: 'previewSchedule',
    summary: 'Show when a schedule would fire, without creating it',
    access: { role: 'viewer', scope: 'schedules:read' },
    body: PREVIEW_FIELDS,
    answers: { 200: { description: 'The times, without jitter', schema: PREVIEW } },
    problems: ['conflicting_fields', 'invalid_cron', 'invalid_timezone'],
    handle: call => preview(parts, call),
  };
}

async function preview({ store }: RestParts, { body }: Call): Promise<RestAnswer> {
  const nowMs = await store.now();
  const reader = new FieldReader();
  const from = reader.time(body['from'], '/from') ?? nowMs;
  if (from > nowMs + MAX_START_MS) reader.fault('/from', 'out_of_range', 'must be at most ten years ahead');
  const timing = readTimingFields(body, nowMs, reader);
  const times = previewTimes(timing, from, (body['count'] as number | undefined) ?? DEFAULT_COUNT);
  if ('kind' in times) throw timingProblem(times);
  return { status: 200, json: { timezone: timing.timezone, times: times.map(timeView) } };
}

function timeView({ at, offsetMs, note }: PreviewedTime): Record<string, unknown> {
  return { at: formatTime(at), local: localTime(at, offsetMs), note };
}

/** RFC 3339 with the offset of the zone: `2026-03-29T03:00:00+02:00`. */
function localTime(at: number, offsetMs: number): string {
  const minutes = Math.abs(Math.trunc(offsetMs / 60_000));
  const two = (value: number): string => String(value).padStart(2, '0');
  const offset = `${offsetMs < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
  return new Date(at + offsetMs).toISOString().slice(0, 19) + offset;
}

/** `POST /v1/schedules/:id/trigger` (specification 3.9). */
export function triggerScheduleRoute(parts: RestParts): Route {
  return {
    method: 'POST',
    path: '/v1/schedules/:id/trigger',
    operation: 'triggerSchedule',
    summary: 'Create a task of a schedule now, regardless of its overlap and even while it is paused',
    access: { role: 'member', scope: 'tasks:write' },
    answers: { 201: { description: 'The new task', schema: TASK_ANSWER } },
    problems: ['quota_exceeded'],
    handle: call => trigger(parts, call),
  };
}

async function trigger(parts: RestParts, call: Call): Promise<RestAnswer> {
  const { kind, results } = await createdOrFirst(parts, call, () => make(parts, call));
  const [result] = results;
  if (result.kind === 'refused') throw new Error('a rejected request must not be remembered');
  const { task } = result;
  const headers = {
    Location: `/api/v1/tasks/${task.id}`,
    ETag: entityTag(task.version),
    ...(kind === 'replayed' ? REPLAYED : {}),
  };
  return { status: 201, headers, json: taskView(task, null) };
}

/** @throws Problem `not_found`, `quota_exceeded`, or `validation_failed` when the worker is gone */
async function make(parts: RestParts, call: Call): Promise<CreateAnswer> {
  const schedule = await readNamed(parts.store, call, 'schedule');
  const { workerId, worker: name } = schedule.body;
  const worker = await parts.directory.worker(call.tenant, workerId);
  if (worker === null) throw unknownWorker(name);
  const answer = await triggerSchedule(parts, {
    tenant: call.tenant,
    schedule,
    worker,
    limits: limitsOf(parts, call),
    actor: call.caller.actor,
    nowMs: await parts.store.now(),
    idempotency: call.idempotency,
    trace: traceOfCall(call),
  });
  const [result] = doneOrThrow(answer).results;
  if (result.kind === 'refused') throw refusedProblem(parts, call, name, result);
  return answer;
}

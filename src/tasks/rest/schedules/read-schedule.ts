import { DAY_MS } from '../../../base/clock.ts';
import type { Schedule, ScheduledTask, TenantLimits } from '../../model/documents.ts';
import { mergeRetryPart } from '../../model/retry-policy.ts';
import {
  nextAfter,
  nominalTimes,
  runsLeft,
  type ScheduleTiming,
  type TimingFault,
} from '../../model/schedules/schedule-times.ts';
import { NO_CONTENT } from '../../model/task-content.ts';
import type { StoredDocument } from '../../store/documents.ts';
import { excludeEachOther, FieldReader, type Fields } from '../checks/field-reader.ts';
import { type Problem, problemAt } from '../checks/problem.ts';
import { type Draft, putFields } from '../checks/resource.ts';
import { checkPause } from '../fields/common-fields.ts';
import { checkContentFor, EXPIRES_IN, type GivenTask, readContent } from '../fields/content-fields.ts';
import { DEFAULT_CATCH_UP, DEFAULT_DST, SCHEDULE_FIELDS } from './schedule-fields.ts';

/** How far ahead a schedule can start. The search for the first run takes longer with each year. */
export const MAX_START_MS = 3_660 * DAY_MS;
/** Kept small, because each run reads and writes the template. */
export const MAX_TEMPLATE_PAYLOAD_BYTES = 64 * 1024;

const EMPTY_TASK: ScheduledTask = {
  ...NO_CONTENT,
  priority: null,
  timeoutMs: null,
  retry: null,
  payload: null,
  headers: {},
  group: null,
  expiresInMs: null,
};

interface ScheduleContext {
  /** Null for a new one. */
  readonly before: Schedule | null;
  /** The worker that the fields name, or the current one. */
  readonly worker: StoredDocument<'worker'>;
  readonly limits: Pick<TenantLimits, 'payloadBytes'>;
  /** By the store's clock. */
  readonly nowMs: number;
}

/**
 * Applies fields to a schedule. Fields that are left out stay unchanged, and null restores the default. The next run
 * changes only if a field changes that it depends on.
 *
 * @throws Problem `validation_failed`, `conflicting_fields`, `payload_too_large`, `invalid_cron` or `invalid_timezone`
 */
export function readScheduleFields(fields: Fields, context: ScheduleContext): Schedule {
  const { before, worker, nowMs } = context;
  const reader = new FieldReader();
  const schedule: Draft<Schedule> = { ...(before ?? newSchedule(nowMs)), updatedAt: nowMs };
  schedule.workerId = worker.id;
  schedule.worker = worker.body.name;
  putFields(SCHEDULE_FIELDS, fields, schedule, reader);
  readTask(fields, schedule, context, reader);
  checkTiming(fields, schedule, nowMs, reader);
  checkPause(fields, schedule, 'schedule', reader);
  reader.finish();
  schedule.nextAt = nextOf(schedule, before, nowMs);
  if (before === null && schedule.nextAt === null) {
    reader.fault('/end_at', 'out_of_range', 'must be later than the first run of the schedule');
    reader.finish();
  }
  return schedule;
}

/**
 * Reads when a schedule with these `TIMING` would fire.
 *
 * @throws Problem `validation_failed`, including the faults that the reader already has, or `conflicting_fields`
 */
export function readTimingFields(fields: Fields, nowMs: number, reader: FieldReader): ScheduleTiming {
  const schedule: Draft<Schedule> = newSchedule(nowMs);
  putFields(SCHEDULE_FIELDS, fields, schedule, reader);
  checkTiming(fields, schedule, nowMs, reader);
  reader.finish();
  return schedule;
}

function newSchedule(nowMs: number): Schedule {
  return {
    name: '',
    workerId: '',
    worker: '',
    task: EMPTY_TASK,
    cron: null,
    everyMs: null,
    phaseMs: 0,
    timezone: 'UTC',
    overlap: 'skip',
    catchUp: DEFAULT_CATCH_UP,
    dst: DEFAULT_DST,
    jitterMs: 0,
    startAt: null,
    endAt: null,
    maxRuns: null,
    paused: false,
    pauseReason: null,
    resumeAt: null,
    nextAt: null,
    lastRun: null,
    fired: 0,
    skippedOverlap: 0,
    skippedWindow: 0,
    createdAt: nowMs,
    updatedAt: nowMs,
  };
}

function readTask(
  fields: Fields,
  schedule: Draft<Schedule>,
  { worker, limits }: ScheduleContext,
  reader: FieldReader,
): void {
  if (fields.task === null) schedule.task = EMPTY_TASK;
  if (fields.task != null) {
    const payloadBytes = Math.min(limits.payloadBytes, MAX_TEMPLATE_PAYLOAD_BYTES);
    const own = fields.task as Fields;
    const content = readContent(own, '/task', reader, { payloadBytes }, schedule.task.payload);
    const group = own.group as string | null | undefined;
    const expiresInMs = reader.duration(own.expires_in, '/task/expires_in', EXPIRES_IN);
    schedule.task = withContent(schedule.task, { ...content, group, expiresInMs });
  }
  if (worker.body.taskUrls) {
    reader.fault(
      '/worker',
      'forbidden',
      'must not be a worker with task_urls: a schedule requires a worker with a URL of its own',
    );
  }
  // Also checked if only the worker changes.
  checkContentFor(worker.body, schedule.task, '/task', reader);
}

function withContent(
  before: ScheduledTask,
  content: GivenTask & Pick<ScheduledTask, 'group' | 'expiresInMs'>,
): ScheduledTask {
  const task: Record<string, unknown> = { ...before };
  for (const [name, value] of Object.entries(content)) {
    if (value !== undefined) task[name] = value ?? EMPTY_TASK[name as keyof ScheduledTask];
  }
  if (content.retry != null) task.retry = mergeRetryPart(before.retry, content.retry);
  return task as unknown as ScheduledTask;
}

/**
 * Checks the fields that define when a schedule fires. Setting one of cron and every removes the other.
 *
 * @throws Problem `conflicting_fields`
 */
function checkTiming(fields: Fields, schedule: Draft<Schedule>, nowMs: number, reader: FieldReader): void {
  const { cron, every, phase } = fields;
  excludeEachOther(fields, 'cron', 'every');
  if (cron != null) schedule.everyMs = null;
  if (every != null) schedule.cron = null;
  if (schedule.cron === null && schedule.everyMs === null && every == null) {
    reader.fault('', 'required', 'A schedule requires cron or every.');
  }
  if (schedule.cron !== null) {
    if (phase != null && schedule.phaseMs > 0)
      reader.fault('/phase', 'forbidden', 'is only allowed with every');
    schedule.phaseMs = 0;
  } else if (schedule.everyMs !== null && schedule.phaseMs >= schedule.everyMs) {
    reader.fault('/phase', 'out_of_range', 'must be shorter than every');
  }
  const { startAt = null, endAt = null } = schedule;
  if (fields.start_at != null && startAt !== null && startAt > nowMs + MAX_START_MS) {
    reader.fault('/start_at', 'out_of_range', 'must be at most ten years ahead');
  }
  if (startAt !== null && endAt !== null && endAt <= startAt) {
    reader.fault('/end_at', 'out_of_range', 'must be later than start_at');
  }
}

/** @throws Problem `invalid_cron` or `invalid_timezone` */
function nextOf(schedule: Schedule, before: Schedule | null, nowMs: number): number | null {
  const times = nominalTimes(schedule, nowMs);
  if (times.kind === 'fault') throw timingProblem(times);
  if (runsLeft(schedule) === 0) return null;
  // New times apply from now on, regardless of earlier runs.
  if (before === null || timed(before) !== timed(schedule)) return times.next(nowMs);
  const resumed = before.paused && !schedule.paused;
  if (resumed || before.nextAt === null) return nextAfter(schedule, times, nowMs);
  return schedule.endAt != null && before.nextAt >= schedule.endAt ? null : before.nextAt;
}

/** Equal if all times are equal, apart from the end. */
function timed({ cron, everyMs, phaseMs, timezone, dst, startAt = null }: Schedule): string {
  return JSON.stringify([cron, everyMs, phaseMs, timezone, dst.gap, dst.overlap, startAt]);
}

/** The response to a schedule whose cron expression or time zone is invalid. */
export function timingProblem({ field, detail }: TimingFault): Problem {
  const code = field === 'cron' ? 'invalid_cron' : 'invalid_timezone';
  return problemAt({ pointer: `/${field}` }, code, `/${field}: ${detail}`);
}

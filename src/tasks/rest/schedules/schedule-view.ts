import type { ObjectSchema, Schema } from '../../../base/schema/schema.ts';
import type { Schedule, ScheduledTask } from '../../model/documents.ts';
import { DEFAULT_RETRY_POLICY, type RetryPolicy } from '../../model/retry-policy.ts';
import { nextAfter, nominalTimes, runsLeft } from '../../model/schedules/schedule-times.ts';
import { PRIORITIES, TASK_STATUSES } from '../../model/task.ts';
import { formatDuration, formatTime, formatTimeOrNull } from '../../model/time.ts';
import type { StoredDocument } from '../../store/documents.ts';
import { seesPayloads } from '../access/authorization.ts';
import { RETRY_ANSWER, retryView } from '../fields/common-fields.ts';
import { PAYLOAD_ANSWER, payloadView } from '../fields/payload-fields.ts';
import { TIME, TIME_OR_NULL } from '../fields/task-view.ts';
import type { Caller } from '../http/route.ts';

/** Number of next runs in responses. */
const NEXT_RUNS = 5;

const TEXT: Schema = { type: 'string' };
const TEXT_OR_NULL: Schema = { type: 'string', nullable: true };
const COUNT: Schema = { type: 'number', integer: true, min: 0 };

/** A retry policy of which a template may set only some fields. */
const RETRY_PART: ObjectSchema = {
  type: 'object',
  name: 'RetryPart',
  nullable: true,
  properties: Object.fromEntries(
    Object.entries(RETRY_ANSWER.properties).map(([name, schema]) => [name, { ...schema, optional: true }]),
  ),
};

const TEMPLATE: ObjectSchema = {
  type: 'object',
  name: 'ScheduledTask',
  properties: {
    type: TEXT_OR_NULL,
    ...PAYLOAD_ANSWER,
    headers: { type: 'record', values: TEXT, optional: true },
    priority: { type: 'string', enum: PRIORITIES, nullable: true },
    timeout: TEXT_OR_NULL,
    retry: RETRY_PART,
    tags: { type: 'array', items: TEXT },
    metadata: { type: 'record', values: TEXT },
    group: TEXT_OR_NULL,
    expires_in: TEXT_OR_NULL,
  },
};

const LAST_RUN: ObjectSchema = {
  type: 'object',
  name: 'ScheduleRun',
  nullable: true,
  properties: {
    scheduled_for: TIME,
    task_id: TEXT,
    status: {
      type: 'string',
      enum: TASK_STATUSES,
      nullable: true,
      optional: true,
      description: 'Only present when a single schedule is read; null if the task no longer exists.',
    },
  },
};

/** A schedule in responses (specification 3.9). */
export const SCHEDULE_ANSWER: ObjectSchema = {
  type: 'object',
  name: 'Schedule',
  properties: {
    id: TEXT,
    name: TEXT,
    worker: TEXT,
    worker_id: TEXT,
    task: TEMPLATE,
    cron: TEXT_OR_NULL,
    every: TEXT_OR_NULL,
    phase: TEXT,
    timezone: TEXT,
    overlap: TEXT,
    catch_up: {
      type: 'object',
      name: 'CatchUp',
      properties: { mode: TEXT, window: TEXT, max: COUNT },
    },
    dst: { type: 'object', name: 'Dst', properties: { gap: TEXT, overlap: TEXT } },
    jitter: TEXT,
    start_at: TIME_OR_NULL,
    end_at: TIME_OR_NULL,
    max_runs: { ...COUNT, nullable: true },
    runs_left: {
      ...COUNT,
      nullable: true,
      description: 'Remaining runs of max_runs; null if max_runs is null.',
    },
    paused: { type: 'boolean' },
    pause_reason: TEXT_OR_NULL,
    resume_at: TIME_OR_NULL,
    next_runs: {
      type: 'array',
      items: TIME,
      max: NEXT_RUNS,
      description:
        'The next nominal times, without jitter. For a paused schedule, the times after the pause. Empty if the schedule has ended.',
    },
    last_run: LAST_RUN,
    fired: COUNT,
    skipped_overlap: {
      ...COUNT,
      description: 'Number of runs skipped because an earlier task was still open.',
    },
    skipped_window: {
      ...COUNT,
      description: 'Number of missed runs that were not made up for. At most 1,000 are counted per outage.',
    },
    created_at: TIME,
    updated_at: TIME,
    version: COUNT,
  },
};

/** A schedule in the form of {@link SCHEDULE_ANSWER}, without the status of its last run. */
export function scheduleView(
  { id, version, body }: Pick<StoredDocument<'schedule'>, 'id' | 'version' | 'body'>,
  caller: Caller,
  nowMs: number,
): Record<string, unknown> {
  const { catchUp, dst, lastRun, maxRuns = null } = body;
  return {
    id,
    name: body.name,
    worker: body.worker,
    worker_id: body.workerId,
    task: templateView(body.task, caller),
    cron: body.cron,
    every: durationOrNull(body.everyMs),
    phase: formatDuration(body.phaseMs),
    timezone: body.timezone,
    overlap: body.overlap,
    catch_up: { mode: catchUp.mode, window: formatDuration(catchUp.windowMs), max: catchUp.max },
    dst: { gap: dst.gap, overlap: dst.overlap },
    jitter: formatDuration(body.jitterMs ?? 0),
    start_at: formatTimeOrNull(body.startAt ?? null),
    end_at: formatTimeOrNull(body.endAt ?? null),
    max_runs: maxRuns,
    runs_left: maxRuns === null ? null : runsLeft(body),
    paused: body.paused,
    pause_reason: body.pauseReason,
    resume_at: formatTimeOrNull(body.resumeAt),
    next_runs: nextRuns(body, nowMs).map(formatTime),
    last_run:
      lastRun === null ? null : { scheduled_for: formatTime(lastRun.scheduledFor), task_id: lastRun.taskId },
    fired: body.fired,
    skipped_overlap: body.skippedOverlap,
    skipped_window: body.skippedWindow,
    created_at: formatTime(body.createdAt),
    updated_at: formatTime(body.updatedAt),
    version,
  };
}

/** The next runs; for a paused schedule, those after the end of the pause, or from now on if it has no end. */
function nextRuns(schedule: Schedule, nowMs: number): number[] {
  const times = nominalTimes(schedule, nowMs);
  if (times.kind === 'fault') return [];
  const { paused, resumeAt, nextAt } = schedule;
  const runs: number[] = [];
  const count = Math.min(NEXT_RUNS, runsLeft(schedule));
  let next = paused ? nextAfter(schedule, times, Math.max(nowMs, resumeAt ?? 0)) : nextAt;
  while (next !== null && runs.length < count) {
    runs.push(next);
    next = times.next(next);
  }
  return runs;
}

function templateView(task: ScheduledTask, caller: Caller): Record<string, unknown> {
  const { type, payload, headers, priority, timeoutMs, retry, tags, metadata } = task;
  return {
    type,
    ...(seesPayloads(caller) && { ...payloadView(payload), headers }),
    priority,
    timeout: durationOrNull(timeoutMs),
    retry: retry === null ? null : retryPartView(retry),
    tags,
    metadata,
    group: task.group ?? null,
    expires_in: durationOrNull(task.expiresInMs ?? null),
  };
}

/** The fields of the retry policy that the template sets. */
function retryPartView(retry: Partial<RetryPolicy>): Record<string, unknown> {
  const view = retryView({ ...DEFAULT_RETRY_POLICY, ...retry });
  return Object.fromEntries(
    Object.entries(RETRY_NAMES)
      .filter(([name]) => name in retry)
      .map(([, shown]) => [shown, view[shown]]),
  );
}

const RETRY_NAMES: Readonly<Record<keyof RetryPolicy, string>> = {
  maxAttempts: 'max_attempts',
  baseMs: 'base',
  factor: 'factor',
  maxMs: 'max',
  jitter: 'jitter',
  scheduleMs: 'schedule',
  maxAgeMs: 'max_age',
};

function durationOrNull(ms: number | null): string | null {
  return ms === null ? null : formatDuration(ms);
}

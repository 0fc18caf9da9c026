import { DAY_MS } from '../../../base/clock.ts';
import type { ObjectSchema, Schema } from '../../../base/schema/schema.ts';
import type { Schedule, ScheduledTask, TenantLimits } from '../../model/documents.ts';
import { mergeRetryPart } from '../../model/retry-policy.ts';
import { MAX_CRON_LENGTH } from '../../model/schedules/cron-expression.ts';
import {
  nextAfter,
  nominalTimes,
  runsLeft,
  type ScheduleTiming,
  type TimingFault,
} from '../../model/schedules/schedule-times.ts';
import type { StoredDocument } from '../../store/documents.ts';
import { excludeEachOther, FieldReader, type Fields } from '../checks/field-reader.ts';
import { type Problem, problemAt } from '../checks/problem.ts';
import { durationField, PAUSE_FIELDS, readPause } from '../fields/common-fields.ts';
import { EXPIRES_IN } from '../fields/new-task.ts';
import {
  CONTENT_FIELDS,
  checkContentFor,
  GROUP_FIELD,
  readContent,
  type TaskContent,
} from '../fields/task-fields.ts';
import { NAME_FORM } from '../fields/worker-fields.ts';

const EVERY = { minMs: 10_000, maxMs: 366 * DAY_MS };
const PHASE = { minMs: 0, maxMs: 366 * DAY_MS };
const WINDOW = { minMs: 10_000, maxMs: 7 * DAY_MS };
const JITTER = { minMs: 0, maxMs: 3_600_000 };
/** How far ahead a schedule can start. The search for the first run takes longer with each year. */
export const MAX_START_MS = 3_660 * DAY_MS;
/** The maximum number of tasks that the store creates in one step. */
const MAX_CAUGHT_UP = 500;
/** Kept small, because each run reads and writes the template. */
export const MAX_TEMPLATE_PAYLOAD_BYTES = 64 * 1024;

const DEFAULT_CATCH_UP: Schedule['catchUp'] = { mode: 'latest', windowMs: 3_600_000, max: 100 };
const DEFAULT_DST: Schedule['dst'] = { gap: 'run_after', overlap: 'once' };
const EMPTY_TASK: ScheduledTask = {
  type: null,
  payload: null,
  headers: {},
  priority: null,
  timeoutMs: null,
  retry: null,
  tags: [],
  metadata: {},
  group: null,
  expiresInMs: null,
};

/** The fields that define when a schedule fires. */
export const TIMING_FIELDS = {
  cron: {
    type: 'string',
    min: 1,
    max: MAX_CRON_LENGTH,
    optional: true,
    nullable: true,
    description:
      'Minute, hour, day of month, month, day of week; or six fields beginning with seconds; or @hourly … @yearly. ' +
      'If neither day field is *, a day matches if either of them does. Cannot be combined with every.',
  },
  every: durationField(
    'Interval between runs, counted from the Unix epoch: 10s to 366d. Cannot be combined with cron.',
  ),
  phase: durationField('Offset of the runs within the interval; only with every, and shorter than it.'),
  timezone: {
    type: 'string',
    min: 1,
    max: 64,
    optional: true,
    nullable: true,
    description: 'IANA name of the time zone of cron. Default: UTC.',
  },
  dst: {
    type: 'object',
    name: 'DstFields',
    optional: true,
    nullable: true,
    description: 'What happens when clocks change. Has no effect if the hour of cron is *.',
    properties: {
      gap: {
        type: 'string',
        enum: ['run_after', 'skip'],
        optional: true,
        description: 'For a local time that does not exist: run right after the gap, or skip the run.',
      },
      overlap: {
        type: 'string',
        enum: ['once', 'twice'],
        optional: true,
        description: 'For a local time that occurs twice: run once or twice.',
      },
    },
  },
  start_at: {
    type: 'string',
    max: 64,
    format: 'date-time',
    optional: true,
    nullable: true,
    description: 'No runs before this time; at most ten years ahead.',
  },
  end_at: {
    type: 'string',
    max: 64,
    format: 'date-time',
    optional: true,
    nullable: true,
    description: 'No runs at or after this time.',
  },
} as const satisfies Record<string, Schema>;

const SCHEDULE_FIELDS = {
  task: {
    type: 'object',
    name: 'ScheduledTaskFields',
    optional: true,
    nullable: true,
    description:
      'Template of the tasks. The payload can have at most 64 KiB. Fields that are left out have the defaults of the worker.',
    properties: {
      ...CONTENT_FIELDS,
      group: GROUP_FIELD,
      expires_in: durationField('A task expires if it has not started this long after its run_at.'),
    },
  },
  overlap: {
    type: 'string',
    enum: ['skip', 'allow', 'queue_one', 'cancel_running'],
    optional: true,
    nullable: true,
    description: 'What to do if an earlier task of this schedule is still open. Default: skip.',
  },
  catch_up: {
    type: 'object',
    name: 'CatchUpFields',
    optional: true,
    nullable: true,
    description: 'Which runs that were missed during an outage are made up for.',
    properties: {
      mode: { type: 'string', enum: ['none', 'latest', 'all'], optional: true },
      window: durationField('Maximum age of a missed run: 10s to 7d. Default: 1h.'),
      max: { type: 'number', integer: true, min: 1, max: MAX_CAUGHT_UP, optional: true },
    },
  },
  jitter: durationField(
    'Maximum delay that is added to a run, 0s to 1h; a run never starts after the next one. The delay of a run never changes. Default: 0s.',
  ),
  ...TIMING_FIELDS,
  max_runs: {
    type: 'number',
    integer: true,
    min: 1,
    max: 1_000_000_000,
    optional: true,
    nullable: true,
    description: 'The schedule ends after this number of runs. Skipped runs and triggers do not count.',
  },
  ...PAUSE_FIELDS,
} as const satisfies Record<string, Schema>;

const NAME: Schema = {
  ...NAME_FORM,
  description: 'Unique in the account. Must not begin with sch_.',
};
const WORKER: Schema = { type: 'string', min: 1, max: 64, description: 'Name or id of the worker.' };

export const NEW_SCHEDULE: ObjectSchema = {
  type: 'object',
  name: 'NewSchedule',
  properties: { name: NAME, worker: WORKER, ...SCHEDULE_FIELDS },
};

export const SCHEDULE_CHANGES: ObjectSchema = {
  type: 'object',
  name: 'ScheduleChanges',
  properties: {
    name: { ...NAME, optional: true },
    worker: { ...WORKER, optional: true },
    ...SCHEDULE_FIELDS,
  },
};

type Draft = { -readonly [K in keyof Schedule]: Schedule[K] };

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
  const schedule: Draft = { ...(before ?? newSchedule(nowMs)), updatedAt: nowMs };
  schedule.workerId = worker.id;
  schedule.worker = worker.body.name;
  if (fields.name !== undefined) schedule.name = fields.name as string;
  if (schedule.name.startsWith('sch_'))
    reader.fault('/name', 'invalid', 'must not begin with sch_, which is reserved for ids');
  readTask(fields, schedule, context, reader);
  readTiming(fields, schedule, reader);
  readPolicies(fields, schedule, reader);
  readBounds(fields, schedule, nowMs, reader);
  readPause(fields, schedule, 'schedule', reader);
  reader.finish();
  schedule.nextAt = nextOf(schedule, before, nowMs);
  if (before === null && schedule.nextAt === null) {
    reader.fault('/end_at', 'out_of_range', 'must be later than the first run of the schedule');
    reader.finish();
  }
  return schedule;
}

/**
 * Reads when a schedule with these {@link TIMING_FIELDS} would fire.
 *
 * @throws Problem `validation_failed`, including the faults that the reader already has, or `conflicting_fields`
 */
export function readTimingFields(fields: Fields, nowMs: number, reader: FieldReader): ScheduleTiming {
  const schedule: Draft = newSchedule(nowMs);
  readTiming(fields, schedule, reader);
  readPolicies(fields, schedule, reader);
  readBounds(fields, schedule, nowMs, reader);
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
  schedule: Draft,
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
  content: TaskContent & Pick<ScheduledTask, 'group' | 'expiresInMs'>,
): ScheduledTask {
  const task: Record<string, unknown> = { ...before };
  for (const [name, value] of Object.entries(content)) {
    if (value !== undefined) task[name] = value ?? EMPTY_TASK[name as keyof ScheduledTask];
  }
  if (content.retry != null) task.retry = mergeRetryPart(before.retry, content.retry);
  return task as unknown as ScheduledTask;
}

/** @throws Problem `conflicting_fields` */
function readTiming(fields: Fields, schedule: Draft, reader: FieldReader): void {
  const { cron, every } = fields;
  excludeEachOther(fields, 'cron', 'every');
  const everyMs = reader.duration(every, '/every', EVERY);
  if (cron !== undefined) schedule.cron = cron as string | null;
  if (everyMs !== undefined) schedule.everyMs = everyMs;
  // Setting one of them removes the other.
  if (cron != null) schedule.everyMs = null;
  if (every != null) schedule.cron = null;
  if (schedule.cron === null && schedule.everyMs === null && every == null) {
    reader.fault('', 'required', 'A schedule requires cron or every.');
  }
  const phaseMs = reader.duration(fields.phase, '/phase', PHASE);
  if (phaseMs !== undefined) schedule.phaseMs = phaseMs ?? 0;
  if (schedule.cron !== null) {
    if (phaseMs != null && phaseMs > 0) reader.fault('/phase', 'forbidden', 'is only allowed with every');
    schedule.phaseMs = 0;
  } else if (schedule.everyMs !== null && schedule.phaseMs >= schedule.everyMs) {
    reader.fault('/phase', 'out_of_range', 'must be shorter than every');
  }
  if (fields.timezone !== undefined) schedule.timezone = (fields.timezone as string | null) ?? 'UTC';
}

function readPolicies(fields: Fields, schedule: Draft, reader: FieldReader): void {
  if (fields.overlap !== undefined)
    schedule.overlap = (fields.overlap as Schedule['overlap'] | null) ?? 'skip';
  const catchUp = fields.catch_up as Fields | null | undefined;
  if (catchUp === null) schedule.catchUp = DEFAULT_CATCH_UP;
  else if (catchUp !== undefined) {
    const windowMs = reader.duration(catchUp.window, '/catch_up/window', WINDOW);
    schedule.catchUp = {
      mode: (catchUp.mode as Schedule['catchUp']['mode'] | undefined) ?? schedule.catchUp.mode,
      windowMs: (windowMs === null ? DEFAULT_CATCH_UP.windowMs : windowMs) ?? schedule.catchUp.windowMs,
      max: (catchUp.max as number | undefined) ?? schedule.catchUp.max,
    };
  }
  const dst = fields.dst as Fields | null | undefined;
  if (dst === null) schedule.dst = DEFAULT_DST;
  else if (dst !== undefined) schedule.dst = { ...schedule.dst, ...dst } as Schedule['dst'];
}

function readBounds(fields: Fields, schedule: Draft, nowMs: number, reader: FieldReader): void {
  const jitterMs = reader.duration(fields.jitter, '/jitter', JITTER);
  if (jitterMs !== undefined) schedule.jitterMs = jitterMs ?? 0;
  const startAt = reader.time(fields.start_at, '/start_at');
  if (startAt !== undefined) schedule.startAt = startAt;
  if (startAt != null && startAt > nowMs + MAX_START_MS) {
    reader.fault('/start_at', 'out_of_range', 'must be at most ten years ahead');
  }
  const endAt = reader.time(fields.end_at, '/end_at');
  if (endAt !== undefined) schedule.endAt = endAt;
  if (schedule.startAt != null && schedule.endAt != null && schedule.endAt <= schedule.startAt) {
    reader.fault('/end_at', 'out_of_range', 'must be later than start_at');
  }
  if (fields.max_runs !== undefined) schedule.maxRuns = fields.max_runs as number | null;
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

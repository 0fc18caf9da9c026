import { DAY_MS } from '../../../base/clock.ts';
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
import { Problem } from '../checks/problem.ts';
import type { ObjectSchema, Schema } from '../checks/schema.ts';
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
/** How far ahead a schedule may start. Later years are a year's work for the calendar each. */
export const MAX_START_MS = 3_660 * DAY_MS;
/** As many tasks as the store makes in one step. */
const MAX_CAUGHT_UP = 500;
/** The template is read and written with each run. */
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

/** When a schedule fires. */
export const TIMING_FIELDS = {
  cron: {
    type: 'string',
    min: 1,
    max: MAX_CRON_LENGTH,
    optional: true,
    nullable: true,
    description:
      'Minute, hour, day of month, month, day of week; or six fields with the second first; or @hourly … @yearly. ' +
      'A day matches when either of its fields does, if neither is *. Excludes every.',
  },
  every: durationField('So often, counted from the epoch: 10s to 366d. Excludes cron.'),
  phase: durationField('So long after the full period; only with every, and shorter than it.'),
  timezone: {
    type: 'string',
    min: 1,
    max: 64,
    optional: true,
    nullable: true,
    description: 'IANA name of the zone that cron is read in; UTC by default.',
  },
  dst: {
    type: 'object',
    name: 'DstFields',
    optional: true,
    nullable: true,
    description: 'When clocks change; of no matter where the hour of cron is *.',
    properties: {
      gap: {
        type: 'string',
        enum: ['run_after', 'skip'],
        optional: true,
        description: 'A time that the clock leaves out: once when it goes on, or not at all.',
      },
      overlap: {
        type: 'string',
        enum: ['once', 'twice'],
        optional: true,
        description: 'A time that the clock shows twice.',
      },
    },
  },
  start_at: {
    type: 'string',
    max: 64,
    format: 'date-time',
    optional: true,
    nullable: true,
    description: 'No run for a time before this one; at most ten years ahead.',
  },
  end_at: {
    type: 'string',
    max: 64,
    format: 'date-time',
    optional: true,
    nullable: true,
    description: 'No run for this time or a later one.',
  },
} as const satisfies Record<string, Schema>;

const SCHEDULE_FIELDS = {
  task: {
    type: 'object',
    name: 'ScheduledTaskFields',
    optional: true,
    nullable: true,
    description: 'What each task gets; its payload is at most 64 KiB. What is left out is the worker’s.',
    properties: {
      ...CONTENT_FIELDS,
      group: GROUP_FIELD,
      expires_in: durationField('Each task expires when it has not started this long after it may start.'),
    },
  },
  overlap: {
    type: 'string',
    enum: ['skip', 'allow', 'queue_one', 'cancel_running'],
    optional: true,
    nullable: true,
    description: 'What happens when a task of this schedule is not over yet; skip by default.',
  },
  catch_up: {
    type: 'object',
    name: 'CatchUpFields',
    optional: true,
    nullable: true,
    description: 'Which of the times are made up for that the service missed.',
    properties: {
      mode: { type: 'string', enum: ['none', 'latest', 'all'], optional: true },
      window: durationField('Nothing that is older: 10s to 7d (1h).'),
      max: { type: 'number', integer: true, min: 1, max: MAX_CAUGHT_UP, optional: true },
    },
  },
  jitter: durationField(
    'Each run starts up to this much later, and before the next time: 0s to 1h (0s). The delay of a time never changes.',
  ),
  ...TIMING_FIELDS,
  max_runs: {
    type: 'number',
    integer: true,
    min: 1,
    max: 1_000_000_000,
    optional: true,
    nullable: true,
    description:
      'The schedule ends after this number of runs. Times without a run and triggers do not count.',
  },
  ...PAUSE_FIELDS,
} as const satisfies Record<string, Schema>;

const NAME: Schema = {
  ...NAME_FORM,
  description: 'Unique; it does not begin with sch_.',
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
  /** The one that the fields name, or that it had before. */
  readonly worker: StoredDocument<'worker'>;
  readonly limits: Pick<TenantLimits, 'payloadBytes'>;
  /** By the store's clock. */
  readonly nowMs: number;
}

/**
 * A schedule as the fields want it, from what it was before; what is left out stays, null is the default again. Its next
 * time is another one only where something is changed that it follows from.
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
  if (schedule.name.startsWith('sch_')) reader.fault('/name', 'invalid', 'cannot begin with sch_, as ids do');
  readTask(fields, schedule, context, reader);
  readTiming(fields, schedule, reader);
  readPolicies(fields, schedule, reader);
  readBounds(fields, schedule, nowMs, reader);
  readPause(fields, schedule, 'schedule', reader);
  reader.finish();
  schedule.nextAt = nextOf(schedule, before, nowMs);
  if (before === null && schedule.nextAt === null) {
    reader.fault('/end_at', 'out_of_range', 'comes before the first time of the schedule');
    reader.finish();
  }
  return schedule;
}

/**
 * When a schedule with these fields would fire, as {@link TIMING_FIELDS} say it.
 *
 * @throws Problem `validation_failed`, with the faults that the reader has found before, or `conflicting_fields`
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
      'names a worker with task_urls: a schedule needs one with a URL of its own',
    );
  }
  // Also where only the worker is another one.
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
  // Who gives the one takes the other away.
  if (cron != null) schedule.everyMs = null;
  if (every != null) schedule.cron = null;
  if (schedule.cron === null && schedule.everyMs === null && every == null) {
    reader.fault('', 'required', 'a schedule needs cron or every: give one of them');
  }
  const phaseMs = reader.duration(fields.phase, '/phase', PHASE);
  if (phaseMs !== undefined) schedule.phaseMs = phaseMs ?? 0;
  if (schedule.cron !== null) {
    if (phaseMs != null && phaseMs > 0) reader.fault('/phase', 'forbidden', 'is for schedules with every');
    schedule.phaseMs = 0;
  } else if (schedule.everyMs !== null && schedule.phaseMs >= schedule.everyMs) {
    reader.fault('/phase', 'out_of_range', 'has to be shorter than every');
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
    reader.fault('/start_at', 'out_of_range', 'is more than ten years ahead');
  }
  const endAt = reader.time(fields.end_at, '/end_at');
  if (endAt !== undefined) schedule.endAt = endAt;
  if (schedule.startAt != null && schedule.endAt != null && schedule.endAt <= schedule.startAt) {
    reader.fault('/end_at', 'out_of_range', 'has to be later than start_at');
  }
  if (fields.max_runs !== undefined) schedule.maxRuns = fields.max_runs as number | null;
}

/** @throws Problem `invalid_cron` or `invalid_timezone` */
function nextOf(schedule: Schedule, before: Schedule | null, nowMs: number): number | null {
  const times = nominalTimes(schedule, nowMs);
  if (times.kind === 'fault') throw timingProblem(times);
  if (runsLeft(schedule) === 0) return null;
  // Other times: a person has decided that they are to come, whatever there was before.
  if (before === null || timed(before) !== timed(schedule)) return times.next(nowMs);
  const resumed = before.paused && !schedule.paused;
  if (resumed || before.nextAt === null) return nextAfter(schedule, times, nowMs);
  return schedule.endAt != null && before.nextAt >= schedule.endAt ? null : before.nextAt;
}

/** Equal where all times are, up to an end. */
function timed({ cron, everyMs, phaseMs, timezone, dst, startAt = null }: Schedule): string {
  return JSON.stringify([cron, everyMs, phaseMs, timezone, dst.gap, dst.overlap, startAt]);
}

/** The answer to a schedule that has no times. */
export function timingProblem({ field, detail }: TimingFault): Problem {
  const code = field === 'cron' ? 'invalid_cron' : 'invalid_timezone';
  const whole = `/${field}: ${detail}`;
  return new Problem(code, whole, { errors: [{ pointer: `/${field}`, code, detail: whole }] });
}

import { DAY_MS } from '../../../base/clock.ts';
import type { ObjectSchema } from '../../../base/schema/schema.ts';
import type { Schedule } from '../../model/documents.ts';
import { MAX_CRON_LENGTH } from '../../model/schedules/cron-expression.ts';
import { nextAfter, nominalTimes, runsLeft } from '../../model/schedules/schedule-times.ts';
import { TASK_STATUSES } from '../../model/task.ts';
import { formatTime } from '../../model/time.ts';
import type { StoredDocument } from '../../store/documents.ts';
import { seesPayloads } from '../access/authorization.ts';
import { NAMED } from '../checks/example-names.ts';
import type { Fields } from '../checks/field-reader.ts';
import {
  COUNT,
  type FieldTable,
  fieldsOf,
  putFields,
  shownBy,
  TEXT,
  TIME,
  takenBy,
  viewOf,
} from '../checks/resource.ts';
import { PAUSE_FIELDS } from '../fields/common-fields.ts';
import { TEMPLATE_ANSWER, TEMPLATE_TAKEN, templateView } from '../fields/content-fields.ts';
import { NAME_FORM } from '../fields/worker-fields.ts';
import type { Caller } from '../http/route.ts';

/** The maximum number of tasks that the store creates in one step. */
const MAX_CAUGHT_UP = 500;
/** Number of next runs in responses. */
const NEXT_RUNS = 5;

export const DEFAULT_CATCH_UP: Schedule['catchUp'] = { mode: 'latest', windowMs: 3_600_000, max: 100 };
export const DEFAULT_DST: Schedule['dst'] = { gap: 'run_after', overlap: 'once' };

const ofCatchUp = fieldsOf<Schedule['catchUp']>();

const CATCH_UP: FieldTable<Schedule['catchUp']> = {
  mode: ofCatchUp.plain(
    'mode',
    { type: 'string', enum: ['none', 'latest', 'all'] },
    { shows: TEXT, example: 'latest' },
  ),
  window: ofCatchUp.duration('windowMs', {
    minMs: 10_000,
    maxMs: 7 * DAY_MS,
    fallback: DEFAULT_CATCH_UP.windowMs,
    description: 'Maximum age of a missed run: 10s to 7d. Default: 1h.',
    example: '1h',
  }),
  max: ofCatchUp.plain(
    'max',
    { type: 'number', integer: true, min: 1, max: MAX_CAUGHT_UP },
    { shows: COUNT, example: 100 },
  ),
};

const ofDst = fieldsOf<Schedule['dst']>();

const DST: FieldTable<Schedule['dst']> = {
  gap: ofDst.plain(
    'gap',
    {
      type: 'string',
      enum: ['run_after', 'skip'],
      description: 'For a local time that does not exist: run right after the gap, or skip the run.',
    },
    { shows: TEXT, example: 'run_after' },
  ),
  overlap: ofDst.plain(
    'overlap',
    {
      type: 'string',
      enum: ['once', 'twice'],
      description: 'For a local time that occurs twice: run once or twice.',
    },
    { shows: TEXT, example: 'once' },
  ),
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
  example: { scheduled_for: '2026-02-27T06:30:00.000Z', task_id: 'tsk_01KJEX4ER0M4E1S7QZ5T8W2XYC' },
};

const of = fieldsOf<Schedule>();

/** All fields of a schedule (specification 3.9), apart from its id and version. */
export const SCHEDULE_FIELDS: FieldTable<Schedule> = {
  name: {
    required: true,
    takes: { ...NAME_FORM, description: 'Unique in the account. Must not begin with sch_.' },
    put: (schedule, name, reader, pointer) => {
      schedule.name = name as string;
      if (schedule.name.startsWith('sch_'))
        reader.fault(pointer, 'invalid', 'must not begin with sch_, which is reserved for ids');
    },
    shows: { ...TEXT, example: 'daily-report' },
    show: ({ name }) => name,
  },
  worker: {
    required: true,
    takes: { type: 'string', min: 1, max: 64, description: 'Name or id of the worker.' },
    shows: { ...TEXT, example: NAMED.worker },
    show: ({ worker }) => worker,
  },
  worker_id: of.shown('workerId', { ...TEXT, example: NAMED.ids.worker }),
  task: {
    takes: {
      type: 'object',
      name: 'ScheduledTaskFields',
      nullable: true,
      description:
        'Template of the tasks. The payload can have at most 64 KiB. Fields that are left out have the defaults of the worker.',
      properties: TEMPLATE_TAKEN,
    },
    shows: TEMPLATE_ANSWER,
    // In its place; the view of the schedule has it for the caller.
    show: () => null,
  },
  cron: of.plain(
    'cron',
    {
      type: 'string',
      min: 1,
      max: MAX_CRON_LENGTH,
      description:
        'Minute, hour, day of month, month, day of week; or six fields beginning with seconds; or @hourly … @yearly. ' +
        'If neither day field is *, a day matches if either of them does. Cannot be combined with every.',
    },
    {
      fallback: null,
      example: '30 7 * * 1-5',
      flag: { placeholder: 'TEXT', help: "cron expression, such as '30 2 * * *' or @daily" },
    },
  ),
  every: of.duration('everyMs', {
    minMs: 10_000,
    maxMs: 366 * DAY_MS,
    fallback: null,
    description:
      'Interval between runs, counted from the Unix epoch: 10s to 366d. Cannot be combined with cron.',
    flag: { placeholder: 'DURATION', help: 'interval between runs, instead of --cron: 1h30m' },
  }),
  phase: of.duration('phaseMs', {
    minMs: 0,
    maxMs: 366 * DAY_MS,
    fallback: 0,
    description: 'Offset of the runs within the interval; only with every, and shorter than it.',
    example: '0s',
  }),
  timezone: of.plain(
    'timezone',
    { type: 'string', min: 1, max: 64, description: 'IANA name of the time zone of cron. Default: UTC.' },
    {
      fallback: 'UTC',
      example: 'Europe/Berlin',
      flag: { placeholder: 'NAME', help: 'time zone of --cron, such as Europe/Berlin (default: UTC)' },
    },
  ),
  overlap: of.plain(
    'overlap',
    {
      type: 'string',
      enum: ['skip', 'allow', 'queue_one', 'cancel_running'],
      description: 'What to do if an earlier task of this schedule is still open. Default: skip.',
    },
    {
      fallback: 'skip',
      shows: TEXT,
      example: 'skip',
      flag: {
        placeholder: 'WORD',
        help: 'if the previous task is unfinished: skip, allow, queue_one or cancel_running',
      },
    },
  ),
  catch_up: {
    takes: {
      type: 'object',
      name: 'CatchUpFields',
      nullable: true,
      description: 'Which runs that were missed during an outage are made up for.',
      properties: takenBy(CATCH_UP, 'change'),
    },
    put: (schedule, value, reader, pointer) => {
      const catchUp = { ...(value === null ? DEFAULT_CATCH_UP : schedule.catchUp) };
      putFields(CATCH_UP, (value ?? {}) as Fields, catchUp, reader, pointer);
      schedule.catchUp = catchUp;
    },
    shows: { type: 'object', name: 'CatchUp', properties: shownBy(CATCH_UP) },
    show: ({ catchUp }) => viewOf(CATCH_UP, catchUp),
  },
  dst: {
    takes: {
      type: 'object',
      name: 'DstFields',
      nullable: true,
      description: 'What happens when clocks change. Has no effect if the hour of cron is *.',
      properties: takenBy(DST, 'change'),
    },
    put: (schedule, value, reader, pointer) => {
      const dst = { ...(value === null ? DEFAULT_DST : schedule.dst) };
      putFields(DST, (value ?? {}) as Fields, dst, reader, pointer);
      schedule.dst = dst;
    },
    shows: { type: 'object', name: 'Dst', properties: shownBy(DST) },
    show: ({ dst }) => viewOf(DST, dst),
  },
  jitter: of.duration('jitterMs', {
    minMs: 0,
    maxMs: 3_600_000,
    fallback: 0,
    description:
      'Maximum delay that is added to a run, 0s to 1h; a run never starts after the next one. The delay of a run never changes. Default: 0s.',
    example: '0s',
    flag: { placeholder: 'DURATION', help: 'maximum random delay of each run' },
  }),
  start_at: of.time('startAt', 'No runs before this time; at most ten years ahead.', {
    flag: { placeholder: 'TIME', help: 'time of the first possible run: 2026-03-01T10:00:00Z' },
  }),
  end_at: of.time('endAt', 'No runs at or after this time.', {
    flag: { placeholder: 'TIME', help: 'time at which the schedule ends' },
  }),
  max_runs: of.plain(
    'maxRuns',
    {
      type: 'number',
      integer: true,
      min: 1,
      max: 1_000_000_000,
      description: 'The schedule ends after this number of runs. Skipped runs and triggers do not count.',
    },
    {
      fallback: null,
      shows: COUNT,
      flag: { placeholder: 'N', help: 'end after this number of runs' },
    },
  ),
  runs_left: {
    shows: {
      ...COUNT,
      nullable: true,
      description: 'Remaining runs of max_runs; null if max_runs is null.',
    },
    show: schedule => ((schedule.maxRuns ?? null) === null ? null : runsLeft(schedule)),
  },
  ...PAUSE_FIELDS,
  next_runs: {
    shows: {
      type: 'array',
      items: TIME,
      max: NEXT_RUNS,
      description:
        'The next nominal times, without jitter. For a paused schedule, the times after the pause. Empty if the schedule has ended.',
      example: ['2026-03-02T06:30:00.000Z', '2026-03-03T06:30:00.000Z'],
    },
    // In its place; the view of the schedule has it for the time of the call.
    show: () => null,
  },
  last_run: {
    shows: LAST_RUN,
    show: ({ lastRun: last }) =>
      last && { scheduled_for: formatTime(last.scheduledFor), task_id: last.taskId },
  },
  fired: of.shown('fired', { ...COUNT, example: 19 }),
  skipped_overlap: of.shown('skippedOverlap', {
    ...COUNT,
    description: 'Number of runs skipped because an earlier task was still open.',
  }),
  skipped_window: of.shown('skippedWindow', {
    ...COUNT,
    description: 'Number of missed runs that were not made up for. At most 1,000 are counted per outage.',
  }),
  created_at: of.stamp('createdAt', { example: '2026-02-03T12:00:00.000Z' }),
  updated_at: of.stamp('updatedAt', { example: '2026-02-27T06:30:00.000Z' }),
};

/** The fields that define when a schedule fires. */
export const TIMING: FieldTable<Schedule> = Object.fromEntries(
  ['cron', 'every', 'phase', 'timezone', 'dst', 'start_at', 'end_at'].map(name => [
    name,
    SCHEDULE_FIELDS[name],
  ]),
);

export const TIMING_EXAMPLE = { cron: '30 7 * * 1-5', timezone: 'Europe/Berlin' };

export const NEW_SCHEDULE: ObjectSchema = {
  type: 'object',
  name: 'NewSchedule',
  properties: takenBy(SCHEDULE_FIELDS, 'new'),
  example: {
    name: 'daily-report',
    worker: NAMED.worker,
    ...TIMING_EXAMPLE,
    task: { type: 'report.daily', payload: { to: NAMED.email } },
    overlap: 'skip',
  },
};

export const SCHEDULE_CHANGES: ObjectSchema = {
  type: 'object',
  name: 'ScheduleChanges',
  properties: takenBy(SCHEDULE_FIELDS, 'change'),
  example: { cron: '0 8 * * 1-5', end_at: '2026-12-31T00:00:00Z' },
};

/** A schedule in responses. */
export const SCHEDULE_ANSWER: ObjectSchema = {
  type: 'object',
  name: 'Schedule',
  properties: {
    id: { ...TEXT, example: NAMED.ids.schedule },
    ...shownBy(SCHEDULE_FIELDS),
    version: { ...COUNT, example: 20 },
  },
};

/** A schedule in the form of {@link SCHEDULE_ANSWER}, without the status of its last run. */
export function scheduleView(
  { id, version, body }: Pick<StoredDocument<'schedule'>, 'id' | 'version' | 'body'>,
  caller: Caller,
  nowMs: number,
): Record<string, unknown> {
  return {
    id,
    ...viewOf(SCHEDULE_FIELDS, body),
    task: templateView(body.task, seesPayloads(caller)),
    next_runs: nextRuns(body, nowMs).map(formatTime),
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

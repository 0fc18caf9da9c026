import type { NumberSchema, ObjectSchema } from '../../../base/schema/schema.ts';
import type { UsageSum } from '../../model/usage.ts';
import { TIME } from '../checks/resource.ts';
import { USED_LIMITS } from './used-limits.ts';

const COUNT: NumberSchema = { type: 'number', integer: true, min: 0 };
const TIME_MS: NumberSchema = { type: 'number', integer: true, min: 0, nullable: true };

const FIGURES: ObjectSchema['properties'] = {
  tasks_created: { ...COUNT, description: 'Created tasks, including those of schedules and callbacks.' },
  attempts_started: {
    ...COUNT,
    description: 'Started attempts, including those that were deferred or handed back.',
  },
  attempts_failed: {
    ...COUNT,
    description: 'Attempts that failed or timed out, or whose lease expired.',
  },
  tasks_succeeded: { ...COUNT, description: 'Tasks that succeeded.' },
  tasks_failed: { ...COUNT, description: 'Tasks that failed for good.' },
  tasks_canceled: { ...COUNT, description: 'Tasks that were canceled.' },
  tasks_expired: { ...COUNT, description: 'Tasks that did not start before their `expires_at`.' },
  duration_p50_ms: {
    ...TIME_MS,
    description:
      'How long attempts took: the median in milliseconds, at most 19% off. Null if none has ended. Attempts that were ' +
      'deferred, handed back or canceled, or whose lease expired, are left out.',
  },
  duration_p95_ms: {
    ...TIME_MS,
    description: '95% of the attempts took at most this time in milliseconds.',
  },
  start_lag_p50_ms: {
    ...TIME_MS,
    description:
      'How long tasks had been due when their attempt started: the median in milliseconds, at most 19% off. Null if none ' +
      'has started.',
  },
  start_lag_p95_ms: {
    ...TIME_MS,
    description: '95% of the attempts started at most this time after their task was due, in milliseconds.',
  },
};

/** The figures of an interval or of the whole range, in the form of {@link FIGURES}. */
export function figuresView(sum: UsageSum): Record<string, number | null> {
  return {
    tasks_created: sum.count('created'),
    attempts_started: sum.count('started'),
    attempts_failed: sum.count('attemptsFailed'),
    tasks_succeeded: sum.count('succeeded'),
    tasks_failed: sum.count('failed'),
    tasks_canceled: sum.count('canceled'),
    tasks_expired: sum.count('expired'),
    duration_p50_ms: sum.percentile('duration', 0.5),
    duration_p95_ms: sum.percentile('duration', 0.95),
    start_lag_p50_ms: sum.percentile('lag', 0.5),
    start_lag_p95_ms: sum.percentile('lag', 0.95),
  };
}

/** The figures of an example. */
const MINUTE = {
  tasks_created: 42,
  attempts_started: 45,
  attempts_failed: 3,
  tasks_succeeded: 41,
  tasks_failed: 1,
  tasks_canceled: 0,
  tasks_expired: 0,
  duration_p50_ms: 210,
  duration_p95_ms: 860,
  start_lag_p50_ms: 12,
  start_lag_p95_ms: 95,
};

/** The response of `GET /v1/usage`. */
export const USAGE_ANSWER: ObjectSchema = {
  type: 'object',
  name: 'Usage',
  properties: {
    from: { ...TIME, description: 'Start of the first interval.' },
    to: { ...TIME, description: 'The time of the response. The last interval has not ended.' },
    interval_seconds: { ...COUNT, description: 'Length of an interval: 60 for `1h`, otherwise 3600.' },
    worker: {
      type: 'object',
      nullable: true,
      description: 'The worker that the figures are about; null for the whole account.',
      properties: {
        id: { type: 'string', description: 'The id of the worker.' },
        name: { type: 'string', nullable: true, description: 'Its name; null if the worker was deleted.' },
      },
    },
    series: {
      type: 'array',
      description: 'All intervals, oldest first.',
      items: {
        type: 'object',
        name: 'UsageInterval',
        properties: { at: { ...TIME, description: 'Start of the interval.' }, ...FIGURES },
      },
    },
    totals: {
      type: 'object',
      name: 'UsageTotals',
      description: 'The figures of all intervals together.',
      properties: FIGURES,
    },
    limits: USED_LIMITS,
  },
  example: {
    from: '2026-03-01T09:58:00.000Z',
    to: '2026-03-01T09:59:30.000Z',
    interval_seconds: 60,
    worker: null,
    series: [
      { at: '2026-03-01T09:58:00.000Z', ...MINUTE },
      { at: '2026-03-01T09:59:00.000Z', ...MINUTE },
    ],
    totals: {
      ...MINUTE,
      tasks_created: 84,
      attempts_started: 90,
      attempts_failed: 6,
      tasks_succeeded: 82,
      tasks_failed: 2,
    },
    limits: {
      in_flight: { limit: 200, used: 7 },
      dispatch_per_second: { limit: 500, used: 0.75 },
      open_tasks: { limit: 1_000_000, used: 1_204 },
      workers: { limit: 100, used: 3 },
      schedules: { limit: 1_000, used: 1 },
      users: { limit: 100, used: 2 },
      read_calls: { limit: 400, used: 3, window_seconds: 1 },
      write_calls: { limit: 200, used: 1, window_seconds: 1 },
    },
  },
};

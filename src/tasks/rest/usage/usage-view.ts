import type { NumberSchema, ObjectSchema } from '../../../base/schema/schema.ts';
import type { UsageSum } from '../../model/usage.ts';
import { TIME } from '../fields/task-view.ts';
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
};

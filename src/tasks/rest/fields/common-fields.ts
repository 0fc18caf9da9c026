import { DAY_MS } from '../../../base/clock.ts';
import type { ObjectSchema } from '../../../base/schema/schema.ts';
import type { RetryPolicy } from '../../model/retry-policy.ts';
import { formatDuration } from '../../model/time.ts';
import type { FieldReader, Fields } from '../checks/field-reader.ts';
import {
  type Draft,
  DURATION,
  type FieldTable,
  fieldsOf,
  putFields,
  shownBy,
  TEXT,
  takenBy,
  viewOf,
} from '../checks/resource.ts';

const WAIT = { minMs: 0, maxMs: 30 * DAY_MS };

const of = fieldsOf<Partial<RetryPolicy>>();

/** The fields of a retry policy. A request may have any of them (specification 3.6). */
const RETRY_FIELDS: FieldTable<Partial<RetryPolicy>> = {
  max_attempts: of.plain('maxAttempts', { type: 'number', integer: true, min: 1, max: 100 }, { example: 12 }),
  base: of.duration('baseMs', {
    minMs: 100,
    maxMs: 3_600_000,
    description: 'Initial delay, 100ms to 1h.',
    example: '5s',
  }),
  factor: of.plain(
    'factor',
    {
      type: 'number',
      min: 1,
      max: 10,
      description: 'Factor by which the delay grows; 1 keeps it constant.',
    },
    { example: 2 },
  ),
  max: of.duration('maxMs', {
    minMs: 100,
    maxMs: DAY_MS,
    description: 'Maximum delay, at most 24h.',
    example: '1h',
  }),
  jitter: of.plain('jitter', { type: 'number', min: 0, max: 1 }, { example: 0.2 }),
  schedule: {
    takes: {
      type: 'array',
      items: DURATION,
      min: 1,
      max: 50,
      nullable: true,
      description:
        'Delays that replace base, factor, max and jitter, each at most 30d; the last one repeats.',
    },
    put: (policy, waits, reader, pointer) => {
      policy.scheduleMs =
        (waits as unknown[] | null)?.map(
          (wait, place) => reader.duration(wait, `${pointer}/${place}`, WAIT) ?? 0,
        ) ?? null;
    },
    shows: { type: 'array', items: TEXT, nullable: true },
    show: ({ scheduleMs }) => (scheduleMs == null ? scheduleMs : scheduleMs.map(formatDuration)),
  },
  max_age: of.duration('maxAgeMs', {
    nullable: true,
    minMs: 1_000,
    maxMs: 366 * DAY_MS,
    description: 'No further attempt is made this long after the start of the first one, 1s to 366d.',
  }),
};

/** A retry policy in a request. */
export const RETRY_SCHEMA: ObjectSchema = {
  type: 'object',
  name: 'RetryFields',
  nullable: true,
  description: 'The retry policy. Fields that are left out stay unchanged, or have their defaults.',
  properties: takenBy(RETRY_FIELDS, 'change'),
};

/** Reads a retry policy. The result has only the fields that the body contains. */
export function readRetry(
  value: unknown,
  pointer: string,
  reader: FieldReader,
): Partial<RetryPolicy> | null | undefined {
  if (value === undefined || value === null) return value;
  const policy: Draft<Partial<RetryPolicy>> = {};
  putFields(RETRY_FIELDS, value as Fields, policy, reader, pointer);
  return policy;
}

/** A retry policy in responses. */
export const RETRY_ANSWER: ObjectSchema = {
  type: 'object',
  name: 'Retry',
  properties: shownBy(RETRY_FIELDS),
};

/** In the form of {@link RETRY_ANSWER}; a policy that sets only some fields shows those. */
export function retryView(policy: Partial<RetryPolicy>): Record<string, unknown> {
  return viewOf(RETRY_FIELDS, policy);
}

/** A worker or schedule, which can be paused. */
interface Pausable {
  readonly paused: boolean;
  readonly pauseReason: string | null;
  readonly resumeAt: number | null;
}

const ofPausable = fieldsOf<Pausable>();

/** The fields that pause workers and schedules. */
export const PAUSE_FIELDS: FieldTable<Pausable> = {
  paused: ofPausable.plain('paused', { type: 'boolean' }),
  pause_reason: ofPausable.plain('pauseReason', { type: 'string', max: 256 }, { fallback: null }),
  resume_at: ofPausable.time('resumeAt', 'When the pause ends automatically; only allowed while paused.'),
};

/**
 * Checks {@link PAUSE_FIELDS} after they were put into the target. Without a pause there is no reason and no end of it.
 *
 * @param noun the kind of the target for faults, such as `worker`
 */
export function checkPause(fields: Fields, target: Draft<Pausable>, noun: string, reader: FieldReader): void {
  if (target.paused) return;
  for (const name of ['resume_at', 'pause_reason'] as const) {
    if (fields[name] == null) continue;
    reader.fault(`/${name}`, 'forbidden', `is only allowed while the ${noun} is paused: set paused to true`);
  }
  target.pauseReason = null;
  target.resumeAt = null;
}

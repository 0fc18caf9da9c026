import { DAY_MS } from '../../../base/clock.ts';
import type { ObjectSchema, OneOfSchema, Schema } from '../../../base/schema/schema.ts';
import type { RetryPolicy } from '../../model/retry-policy.ts';
import { formatDuration } from '../../model/time.ts';
import type { FieldReader, Fields } from '../checks/field-reader.ts';

/** A duration in a request: a text with units, or a number of seconds. {@link FieldReader.duration} checks it. */
export const DURATION: OneOfSchema = {
  type: 'one_of',
  of: [
    { type: 'string', max: 64 },
    { type: 'number', min: 0 },
  ],
};

/** A duration that may be left out or null. */
export function durationField(description: string): Schema {
  return { ...DURATION, optional: true, nullable: true, description };
}

/** A retry policy in a request: any subset of the fields (specification 3.6). */
export const RETRY_SCHEMA: ObjectSchema = {
  type: 'object',
  name: 'RetryFields',
  optional: true,
  nullable: true,
  description: 'The retry policy. Fields that are left out stay unchanged, or have their defaults.',
  properties: {
    max_attempts: { type: 'number', integer: true, min: 1, max: 100, optional: true },
    base: { ...DURATION, optional: true, description: 'Initial delay, 100ms to 1h.' },
    factor: {
      type: 'number',
      min: 1,
      max: 10,
      optional: true,
      description: 'Factor by which the delay grows; 1 keeps it constant.',
    },
    max: { ...DURATION, optional: true, description: 'Maximum delay, at most 24h.' },
    jitter: { type: 'number', min: 0, max: 1, optional: true },
    schedule: {
      type: 'array',
      items: DURATION,
      min: 1,
      max: 50,
      optional: true,
      nullable: true,
      description:
        'Delays that replace base, factor, max and jitter, each at most 30d; the last one repeats.',
    },
    max_age: durationField(
      'No further attempt is made this long after the start of the first one, 1s to 366d.',
    ),
  },
};

const BASE = { minMs: 100, maxMs: 3_600_000 };
const LONGEST = { minMs: 100, maxMs: DAY_MS };
const WAIT = { minMs: 0, maxMs: 30 * DAY_MS };
const AGE = { minMs: 1_000, maxMs: 366 * DAY_MS };

/** Reads a retry policy. The result has only the fields that the body contains. */
export function readRetry(
  value: unknown,
  pointer: string,
  reader: FieldReader,
): Partial<RetryPolicy> | null | undefined {
  if (value === undefined || value === null) return value;
  const fields = value as Fields;
  const policy: { -readonly [K in keyof RetryPolicy]?: RetryPolicy[K] } = {};
  const baseMs = reader.duration(fields.base, `${pointer}/base`, BASE);
  const maxMs = reader.duration(fields.max, `${pointer}/max`, LONGEST);
  const maxAgeMs = reader.duration(fields.max_age, `${pointer}/max_age`, AGE);
  const scheduleMs = readWaits(fields.schedule, `${pointer}/schedule`, reader);
  if (fields.max_attempts !== undefined) policy.maxAttempts = fields.max_attempts as number;
  if (baseMs != null) policy.baseMs = baseMs;
  if (fields.factor !== undefined) policy.factor = fields.factor as number;
  if (maxMs != null) policy.maxMs = maxMs;
  if (fields.jitter !== undefined) policy.jitter = fields.jitter as number;
  if (scheduleMs !== undefined) policy.scheduleMs = scheduleMs;
  if (maxAgeMs !== undefined) policy.maxAgeMs = maxAgeMs;
  return policy;
}

function readWaits(
  value: unknown,
  pointer: string,
  reader: FieldReader,
): readonly number[] | null | undefined {
  if (value === undefined || value === null) return value;
  return (value as unknown[]).map((wait, place) => reader.duration(wait, `${pointer}/${place}`, WAIT) ?? 0);
}

/** A retry policy in responses. */
export const RETRY_ANSWER: ObjectSchema = {
  type: 'object',
  name: 'Retry',
  properties: {
    max_attempts: { type: 'number', integer: true },
    base: { type: 'string' },
    factor: { type: 'number' },
    max: { type: 'string' },
    jitter: { type: 'number' },
    schedule: { type: 'array', items: { type: 'string' }, nullable: true },
    max_age: { type: 'string', nullable: true },
  },
};

export function retryView(policy: RetryPolicy): Record<string, unknown> {
  return {
    max_attempts: policy.maxAttempts,
    base: formatDuration(policy.baseMs),
    factor: policy.factor,
    max: formatDuration(policy.maxMs),
    jitter: policy.jitter,
    schedule: policy.scheduleMs?.map(formatDuration) ?? null,
    max_age: policy.maxAgeMs === null ? null : formatDuration(policy.maxAgeMs),
  };
}

/** The fields that pause workers and schedules. */
export const PAUSE_FIELDS = {
  paused: { type: 'boolean', optional: true },
  pause_reason: { type: 'string', max: 256, optional: true, nullable: true },
  resume_at: {
    type: 'string',
    max: 64,
    format: 'date-time',
    optional: true,
    nullable: true,
    description: 'When the pause ends automatically; only allowed while paused.',
  },
} as const satisfies Record<string, Schema>;

/** A worker or schedule that {@link readPause} changes. */
interface Pausable {
  paused: boolean;
  pauseReason: string | null;
  resumeAt: number | null;
}

/**
 * Reads {@link PAUSE_FIELDS} into `target`. Without a pause there is no reason and no end of the pause.
 *
 * @param noun the kind of the target for faults, such as `worker`
 */
export function readPause(fields: Fields, target: Pausable, noun: string, reader: FieldReader): void {
  if (fields.paused !== undefined) target.paused = fields.paused as boolean;
  const resumeAt = reader.time(fields.resume_at, '/resume_at');
  if (fields.pause_reason !== undefined) target.pauseReason = fields.pause_reason as string | null;
  if (resumeAt !== undefined) target.resumeAt = resumeAt;
  if (target.paused) return;
  for (const name of ['resume_at', 'pause_reason'] as const) {
    if (fields[name] == null) continue;
    reader.fault(`/${name}`, 'forbidden', `is only allowed while the ${noun} is paused: set paused to true`);
  }
  target.pauseReason = null;
  target.resumeAt = null;
}

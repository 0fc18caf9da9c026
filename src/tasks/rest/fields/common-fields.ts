import { DAY_MS } from '../../../base/clock.ts';
import type { RetryPolicy } from '../../model/retry-policy.ts';
import { formatDuration } from '../../model/time.ts';
import type { FieldReader, Fields } from '../checks/field-reader.ts';
import type { ObjectSchema, OneOfSchema, Schema } from '../checks/schema.ts';

/** A duration as requests give it: a text with units, or a number of seconds. Readers check it, and say what is accepted. */
export const DURATION: OneOfSchema = {
  type: 'one_of',
  of: [
    { type: 'string', max: 64 },
    { type: 'number', min: 0 },
  ],
};

/** A duration that may be left out, or cleared. */
export function durationField(description: string): Schema {
  return { ...DURATION, optional: true, nullable: true, description };
}

/** When to try again, as requests give it: any subset of the fields (specification 3.6). */
export const RETRY_SCHEMA: ObjectSchema = {
  type: 'object',
  name: 'RetryFields',
  optional: true,
  nullable: true,
  description: 'When to try again. What is left out stays as it is, or is the default.',
  properties: {
    max_attempts: { type: 'number', integer: true, min: 1, max: 100, optional: true },
    base: { ...DURATION, optional: true, description: 'First wait, 100ms to 1h.' },
    factor: { type: 'number', min: 1, max: 10, optional: true, description: '1 waits the same each time.' },
    max: { ...DURATION, optional: true, description: 'Longest wait, at most 24h.' },
    jitter: { type: 'number', min: 0, max: 1, optional: true },
    schedule: {
      type: 'array',
      items: DURATION,
      min: 1,
      max: 50,
      optional: true,
      nullable: true,
      description: 'Waits in place of base, factor, max and jitter, each at most 30d; the last one repeats.',
    },
    max_age: durationField('No further attempt so long after the first one began, 1s to 366d.'),
  },
};

const BASE = { minMs: 100, maxMs: 3_600_000 };
const LONGEST = { minMs: 100, maxMs: DAY_MS };
const WAIT = { minMs: 0, maxMs: 30 * DAY_MS };
const AGE = { minMs: 1_000, maxMs: 366 * DAY_MS };

/** What a body says of a policy; only what it says. */
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

/** A policy as answers have it. */
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

/** How workers and schedules are paused. */
export const PAUSE_FIELDS = {
  paused: { type: 'boolean', optional: true },
  pause_reason: { type: 'string', max: 256, optional: true, nullable: true },
  resume_at: {
    type: 'string',
    max: 64,
    format: 'date-time',
    optional: true,
    nullable: true,
    description: 'Goes on by itself then; only for one that is paused.',
  },
} as const satisfies Record<string, Schema>;

/** What can be paused; {@link readPause} changes it. */
interface Pausable {
  paused: boolean;
  pauseReason: string | null;
  resumeAt: number | null;
}

/**
 * Reads {@link PAUSE_FIELDS} into `target`. What is not paused has neither a reason nor an end of the pause.
 *
 * @param noun for faults: `worker`
 */
export function readPause(fields: Fields, target: Pausable, noun: string, reader: FieldReader): void {
  if (fields.paused !== undefined) target.paused = fields.paused as boolean;
  const resumeAt = reader.time(fields.resume_at, '/resume_at');
  if (fields.pause_reason !== undefined) target.pauseReason = fields.pause_reason as string | null;
  if (resumeAt !== undefined) target.resumeAt = resumeAt;
  if (target.paused) return;
  for (const name of ['resume_at', 'pause_reason'] as const) {
    if (fields[name] == null) continue;
    reader.fault(`/${name}`, 'forbidden', `is for a ${noun} that is paused: give paused true with it`);
  }
  target.pauseReason = null;
  target.resumeAt = null;
}

import type { FieldReader, Fields } from '../checks/field-reader.ts';
import type { Schema } from '../checks/schema.ts';

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

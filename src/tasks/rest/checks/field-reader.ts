import { isDeepStrictEqual } from 'node:util';
import type { ProblemPart } from '../../../base/schema/problem-part.ts';
import type { AnySchema, ObjectSchema } from '../../../base/schema/schema.ts';
import {
  DURATION_ACCEPTED,
  formatDuration,
  parseDuration,
  parseTime,
  TIME_ACCEPTED,
} from '../../model/time.ts';
import { Problem } from './problem.ts';

/** Fields of a body, or of an object in it, as parsed from JSON. */
export type Fields = Readonly<Record<string, unknown>>;

/** The shortest and the longest duration that is accepted. */
export interface DurationBounds {
  readonly minMs: number;
  readonly maxMs: number;
}

/** Maximum number of faults in a response. */
const MAX_FAULTS = 20;

/**
 * Reads fields that a schema alone cannot check, and collects all faults, so that one response reports all of them. A
 * field that is left out is read as undefined, and a field that is to be cleared as null. A faulty field is read as
 * undefined, and {@link finish} throws.
 */
export class FieldReader {
  readonly #at: string;
  readonly #faults: ProblemPart[] = [];

  /** @param at JSON pointer of the object that is read; empty for the whole body */
  constructor(at = '') {
    this.#at = at;
  }

  /** Reads a duration in whole milliseconds. */
  duration(value: unknown, pointer: string, bounds: DurationBounds): number | null | undefined {
    if (value === undefined || value === null) return value;
    const ms = parseDuration(value);
    if (ms === null) {
      this.fault(pointer, 'invalid', `must be ${DURATION_ACCEPTED}`);
    } else if (ms < bounds.minMs || ms > bounds.maxMs) {
      const range = `from ${formatDuration(bounds.minMs)} to ${formatDuration(bounds.maxMs)}`;
      this.fault(pointer, 'out_of_range', `must be ${range}, but is ${formatDuration(ms)}`);
    } else return ms;
    return undefined;
  }

  /** Reads a time in milliseconds since the Unix epoch. */
  time(value: unknown, pointer: string): number | null | undefined {
    if (value === undefined || value === null) return value;
    const ms = typeof value === 'string' ? parseTime(value) : null;
    if (ms !== null) return ms;
    this.fault(pointer, 'invalid', `must be ${TIME_ACCEPTED}`);
    return undefined;
  }

  /** @param detail continues the name of the field: `must be …` */
  fault(pointer: string, code: string, detail: string): void {
    const whole = this.#at + pointer;
    if (this.#faults.length < MAX_FAULTS) {
      const named = whole === '' ? detail : `${whole} ${detail}`;
      this.#faults.push({ pointer: whole, code, detail: named });
    }
  }

  /** @throws Problem `validation_failed` with all faults, if there are any */
  finish(): void {
    if (this.#faults.length === 0) return;
    const [first] = this.#faults;
    const more = this.#faults.length === 1 ? '' : ` (and ${this.#faults.length - 1} more; see errors)`;
    throw new Problem('validation_failed', `${first.detail}${more}`, { errors: this.#faults });
  }
}

/**
 * Checks that at most one of two fields has a value.
 *
 * @param at JSON pointer of the object that has the fields; empty for the whole body
 * @throws Problem `conflicting_fields`
 */
export function excludeEachOther(fields: Fields, one: string, other: string, at = ''): void {
  if (fields[one] == null || fields[other] == null) return;
  const detail = `${at}/${one} and ${at}/${other} exclude each other. Give only one of them.`;
  throw new Problem('conflicting_fields', detail, {
    errors: [one, other].map(name => ({ pointer: `${at}/${name}`, code: 'conflicting_fields', detail })),
  });
}

const READ_ONLY: AnySchema = {
  type: 'any',
  optional: true,
  nullable: true,
  readOnly: true,
  description: 'Read-only. Accepted with the value that GET returns, so that a response can be sent back.',
};

/** The schema of a change that also accepts the read-only fields of the response; see {@link writableFields}. */
export function acceptingAnswer(changes: ObjectSchema, answer: ObjectSchema): ObjectSchema {
  const others = Object.keys(answer.properties).filter(name => !Object.hasOwn(changes.properties, name));
  const readOnly = Object.fromEntries(others.map(name => [name, READ_ONLY]));
  return { ...changes, properties: { ...changes.properties, ...readOnly } };
}

/**
 * The fields of a body that a change can set. Read-only fields are ignored if they have the values that a GET returns.
 *
 * @param writable the fields that can be set, before {@link acceptingAnswer}
 * @param shown what a GET returns now
 * @param moving names of fields that change without a request, and are therefore always ignored
 * @throws Problem `validation_failed` for each read-only field with a different value
 */
export function writableFields(
  body: Fields,
  writable: ObjectSchema,
  shown: Fields,
  moving: ReadonlySet<string>,
): Fields {
  const fields: Record<string, unknown> = {};
  const reader = new FieldReader();
  for (const [name, value] of Object.entries(body)) {
    if (Object.hasOwn(writable.properties, name)) fields[name] = value;
    else if (!moving.has(name) && !isDeepStrictEqual(value, shown[name]))
      reader.fault(`/${name}`, 'read_only', 'is read-only and differs from the current value: leave it out');
  }
  reader.finish();
  return fields;
}

/** The fields whose values differ from those that are shown. */
export function changedFields(fields: Fields, shown: Fields): Fields {
  const changed = Object.entries(fields).filter(([name, value]) => !isDeepStrictEqual(value, shown[name]));
  return Object.fromEntries(changed);
}

import { isDeepStrictEqual } from 'node:util';
import {
  DURATION_ACCEPTED,
  formatDuration,
  parseDuration,
  parseTime,
  TIME_ACCEPTED,
} from '../../model/time.ts';
import { Problem, type ProblemPart } from './problem.ts';
import type { AnySchema, ObjectSchema } from './schema.ts';

/** Fields of a body, or of an object in it, as JSON has them. */
export type Fields = Readonly<Record<string, unknown>>;

export interface DurationBounds {
  readonly minMs: number;
  readonly maxMs: number;
}

/** No more faults than so many are told of. */
const MAX_FAULTS = 20;

/**
 * Reads fields that a schema alone cannot check, and gathers what is wrong with them, so that a caller learns of
 * everything at once. A field that is left out is undefined, and one that is to be cleared is null; a field at fault is
 * undefined too, and {@link finish} throws.
 */
export class FieldReader {
  readonly #at: string;
  readonly #faults: ProblemPart[] = [];

  /** @param at pointer of the object that is read; empty for the whole body */
  constructor(at = '') {
    this.#at = at;
  }

  /** Whole milliseconds. */
  duration(value: unknown, pointer: string, bounds: DurationBounds): number | null | undefined {
    if (value === undefined || value === null) return value;
    const ms = parseDuration(value);
    if (ms === null) {
      this.fault(pointer, 'invalid', `has to be ${DURATION_ACCEPTED}`);
    } else if (ms < bounds.minMs || ms > bounds.maxMs) {
      const range = `from ${formatDuration(bounds.minMs)} to ${formatDuration(bounds.maxMs)}`;
      this.fault(pointer, 'out_of_range', `has to be ${range}, and is ${formatDuration(ms)}`);
    } else return ms;
    return undefined;
  }

  /** Milliseconds since the epoch. */
  time(value: unknown, pointer: string): number | null | undefined {
    if (value === undefined || value === null) return value;
    const ms = typeof value === 'string' ? parseTime(value) : null;
    if (ms !== null) return ms;
    this.fault(pointer, 'invalid', `has to be ${TIME_ACCEPTED}`);
    return undefined;
  }

  /** @param detail goes on from the name of the field: `has to be …` */
  fault(pointer: string, code: string, detail: string): void {
    const whole = this.#at + pointer;
    if (this.#faults.length < MAX_FAULTS) {
      const named = whole === '' ? detail : `${whole} ${detail}`;
      this.#faults.push({ pointer: whole, code, detail: named });
    }
  }

  /** @throws Problem `validation_failed` with everything that was wrong */
  finish(): void {
    if (this.#faults.length === 0) return;
    const [first] = this.#faults;
    const more = this.#faults.length === 1 ? '' : ` (and ${this.#faults.length - 1} more; see errors)`;
    throw new Problem('validation_failed', `${first.detail}${more}`, { errors: this.#faults });
  }
}

/**
 * Of two fields at most one may have a value.
 *
 * @param at pointer of the object that has them; empty for the whole body
 * @throws Problem `conflicting_fields`
 */
export function excludeEachOther(fields: Fields, one: string, other: string, at = ''): void {
  if (fields[one] == null || fields[other] == null) return;
  const detail = `${one} and ${other} exclude each other: give one of them`;
  throw new Problem('conflicting_fields', detail, {
    errors: [one, other].map(name => ({ pointer: `${at}/${name}`, code: 'conflicting_fields', detail })),
  });
}

const READ_ONLY: AnySchema = {
  type: 'any',
  optional: true,
  nullable: true,
  readOnly: true,
  description: 'Accepted as GET shows it, so that what was read can be sent back.',
};

/** The schema of a change that accepts the other fields of the answer, too: see {@link writableFields}. */
export function acceptingAnswer(changes: ObjectSchema, answer: ObjectSchema): ObjectSchema {
  const others = Object.keys(answer.properties).filter(name => !Object.hasOwn(changes.properties, name));
  const readOnly = Object.fromEntries(others.map(name => [name, READ_ONLY]));
  return { ...changes, properties: { ...changes.properties, ...readOnly } };
}

/**
 * The fields of a body that a change can set. The others are left out if they are as the answer to a GET shows them.
 *
 * @param writable the fields that can be set, before {@link acceptingAnswer}
 * @param shown what a GET shows now
 * @param moving names of fields that change without anybody's request: they are left out whatever they are
 * @throws Problem `validation_failed` that names each read-only field with another value
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
      reader.fault(`/${name}`, 'read_only', 'is read-only, and has another value: leave it out');
  }
  reader.finish();
  return fields;
}

/** The fields that are not as they are shown. */
export function changedFields(fields: Fields, shown: Fields): Fields {
  const changed = Object.entries(fields).filter(([name, value]) => !isDeepStrictEqual(value, shown[name]));
  return Object.fromEntries(changed);
}

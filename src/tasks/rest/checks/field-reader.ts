import {
  DURATION_ACCEPTED,
  formatDuration,
  parseDuration,
  parseTime,
  TIME_ACCEPTED,
} from '../../model/time.ts';
import { Problem, type ProblemPart } from './problem.ts';

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

import type { JsonObject, JsonValue } from '../base/json.ts';
import { GREATEST_LIMIT } from '../rules/rule-set.ts';
import {
  idOf,
  MAX_RECORD_BYTES,
  recordJson,
  type SteeringKind,
  type SteeringRecord,
  timeText,
} from './record.ts';

const MAX_ENTRIES = 16;
const MAX_DOMAIN_BYTES = 256;
const MAX_KEY_BYTES = 256;
const MAX_VALUE_BYTES = 1_024;
const MAX_REASON_BYTES = 500;
const MAX_BY_BYTES = 128;
/** A record that should last longer belongs into the rules. */
const MAX_DAYS = 400;
const DAY_S = 86_400;
const MAX_FACTOR = 1_000_000;
const RFC3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/i;

/** A fault of a record that an operator has sent. */
interface RecordFault {
  /** Where it is, as a JSON pointer. */
  readonly pointer: string;
  /** What is accepted, as the rest of a sentence. */
  readonly detail: string;
}

/** A record was refused. Lists all faults. */
export class RecordRefused extends Error {
  readonly faults: readonly RecordFault[];

  constructor(faults: readonly RecordFault[]) {
    super(faults.map(({ pointer, detail }) => `\`${pointer}\` ${detail}`).join('; '));
    this.name = 'RecordRefused';
    this.faults = faults;
  }
}

/** What a record has beside the fields that the operator has sent. */
interface RecordOrigin {
  readonly kind: SteeringKind;
  readonly nowS: number;
  readonly by: string;
}

/**
 * Checks a record that an operator has sent: an object with `domain`, `entries`, `until`, `reason`, and for an override one
 * of `requests_per_unit` and `factor`.
 *
 * @throws RecordRefused with all faults
 */
export function checkRecord(input: JsonValue, { kind, nowS, by }: RecordOrigin): SteeringRecord {
  const check = new RecordCheck();
  const given = check.object(input, '', fieldsOf(kind));
  const effect = kind === 'override' ? check.effect(given) : { requestsPerUnit: null, factor: null };
  const target = {
    kind,
    domain: check.text(given['domain'], '/domain', MAX_DOMAIN_BYTES),
    entries: check.entries(given['entries']),
  };
  const record: SteeringRecord = {
    id: idOf(target),
    ...target,
    ...effect,
    untilS: check.until(given['until'], nowS),
    reason: check.text(given['reason'], '/reason', MAX_REASON_BYTES),
    createdS: nowS,
    by: Buffer.from(by).subarray(0, MAX_BY_BYTES).toString(),
  };
  if (check.faults.length > 0) throw new RecordRefused(check.faults);
  const bytes = Buffer.byteLength(JSON.stringify(recordJson(record)));
  if (bytes > MAX_RECORD_BYTES) {
    const detail = `must have at most ${MAX_RECORD_BYTES} bytes as JSON, but has ${bytes}`;
    throw new RecordRefused([{ pointer: '', detail }]);
  }
  return record;
}

/** Reads a stored record; null if it is none, for example because a later version has written it. */
export function readRecord(stored: JsonObject): SteeringRecord | null {
  const { id, kind, created, by, ...given } = stored;
  if (kind !== 'override' && kind !== 'ban' && kind !== 'pass') return null;
  const createdS = secondOf(created);
  if (createdS === null || typeof by !== 'string') return null;
  try {
    const record = checkRecord(given, { kind, nowS: createdS, by });
    return record.id === id ? record : null;
  } catch {
    return null;
  }
}

function fieldsOf(kind: SteeringKind): readonly string[] {
  const common = ['domain', 'entries', 'until', 'reason'];
  return kind === 'override' ? [...common, 'requests_per_unit', 'factor'] : common;
}

/** The second of a time in RFC 3339, since the epoch, rounded down; null if it is none. */
function secondOf(value: JsonValue | undefined): number | null {
  if (typeof value !== 'string' || !RFC3339.test(value)) return null;
  const ms = Date.parse(value);
  // `Date.parse` takes 30 February as a day of March, and the record would not end when the operator expects it.
  const day = value.slice(0, 'yyyy-mm-dd'.length);
  const dayMs = Date.parse(day);
  if (Number.isNaN(dayMs) || !new Date(dayMs).toISOString().startsWith(day)) return null;
  return Number.isNaN(ms) ? null : Math.floor(ms / 1_000);
}

class RecordCheck {
  readonly faults: RecordFault[] = [];

  /** Returns an empty object after a fault. */
  object(value: JsonValue | undefined, pointer: string, fields: readonly string[]): JsonObject {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      this.#fault(pointer, `must be an object with ${fields.join(', ')}`);
      return {};
    }
    for (const name of Object.keys(value)) {
      if (!fields.includes(name)) this.#fault(`${pointer}/${name.slice(0, 50)}`, 'is not a known field');
    }
    return value as JsonObject;
  }

  text(value: JsonValue | undefined, pointer: string, maxBytes: number): string {
    const isText = typeof value === 'string' && value !== '' && Buffer.byteLength(value) <= maxBytes;
    if (isText) return value;
    this.#fault(pointer, `must be a text of 1 to ${maxBytes} bytes`);
    return '';
  }

  entries(value: JsonValue | undefined): SteeringRecord['entries'] {
    if (!Array.isArray(value) || value.length === 0 || value.length > MAX_ENTRIES) {
      this.#fault('/entries', `must be a list of 1 to ${MAX_ENTRIES} objects with key and value`);
      return [];
    }
    return value.map((each: JsonValue, i) => {
      const pointer = `/entries/${i}`;
      const entry = this.object(each, pointer, ['key', 'value']);
      const key = this.text(entry['key'], `${pointer}/key`, MAX_KEY_BYTES);
      if (key.includes('*'))
        this.#fault(`${pointer}/key`, 'must have no `*`; only values may have wildcards');
      const isEmpty = entry['value'] === undefined || entry['value'] === '';
      return { key, value: isEmpty ? '' : this.text(entry['value'], `${pointer}/value`, MAX_VALUE_BYTES) };
    });
  }

  effect(given: JsonObject): Pick<SteeringRecord, 'requestsPerUnit' | 'factor'> {
    const { requests_per_unit: requests, factor } = given;
    if ((requests === undefined) === (factor === undefined)) {
      this.#fault('', 'must have one of `requests_per_unit` and `factor`');
      return { requestsPerUnit: null, factor: null };
    }
    if (requests !== undefined) {
      const isLimit = isWithin(requests, GREATEST_LIMIT) && Number.isInteger(requests);
      if (!isLimit) this.#fault('/requests_per_unit', `must be a whole number from 0 to ${GREATEST_LIMIT}`);
      return { requestsPerUnit: isLimit ? requests : null, factor: null };
    }
    const isFactor = isWithin(factor, MAX_FACTOR);
    if (!isFactor) this.#fault('/factor', `must be a number from 0 to ${MAX_FACTOR}`);
    return { requestsPerUnit: null, factor: isFactor ? factor : null };
  }

  until(value: JsonValue | undefined, nowS: number): number {
    const second = secondOf(value);
    if (second !== null && second > nowS && second <= nowS + MAX_DAYS * DAY_S) return second;
    const range = `after ${timeText(nowS)} and within ${MAX_DAYS} days`;
    this.#fault('/until', `must be a time such as 2030-01-31T12:00:00Z, ${range}`);
    return 0;
  }

  #fault(pointer: string, detail: string): void {
    this.faults.push({ pointer, detail });
  }
}

function isWithin(value: JsonValue | undefined, most: number): value is number {
  return typeof value === 'number' && value >= 0 && value <= most;
}

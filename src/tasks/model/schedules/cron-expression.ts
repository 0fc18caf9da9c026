/** Longer texts are rejected without parsing. */
export const MAX_CRON_LENGTH = 256;

/** The accepted forms, for error texts. */
const CRON_ACCEPTED =
  'five fields (minute hour day-of-month month day-of-week), six with seconds first, or one of @hourly @daily @weekly @monthly @yearly';

/** The values of one field. */
export interface CronField {
  /** Whether the field is `*` and nothing else. */
  readonly star: boolean;
  /** For each number from 0 to one above the greatest: the least value that is not below it, or -1. */
  readonly next: Int8Array;
}

/** A parsed cron expression. Whether the hour is `*` decides how it treats clock changes (`cron.ts`). */
export interface CronExpression {
  readonly kind: 'cron';
  readonly second: CronField;
  readonly minute: CronField;
  readonly hour: CronField;
  readonly dayOfMonth: CronField;
  /** 1 to 12. */
  readonly month: CronField;
  /** 0 to 6, from Sunday. */
  readonly dayOfWeek: CronField;
}

/** Why an expression is not valid: the field, the part of it, and what is accepted. */
interface CronFault {
  readonly kind: 'fault';
  readonly detail: string;
}

interface FieldKind {
  readonly title: string;
  readonly min: number;
  readonly max: number;
  readonly names?: readonly string[];
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

const FIELDS: readonly FieldKind[] = [
  { title: 'second', min: 0, max: 59 },
  { title: 'minute', min: 0, max: 59 },
  { title: 'hour', min: 0, max: 23 },
  { title: 'day-of-month', min: 1, max: 31 },
  { title: 'month', min: 1, max: 12, names: MONTHS },
  // Sunday is 0 and 7; the two become one when the field is read.
  { title: 'day-of-week', min: 0, max: 7, names: WEEKDAYS },
];

const NICKNAMES: ReadonlyMap<string, string> = new Map([
  ['@hourly', '0 * * * *'],
  ['@daily', '0 0 * * *'],
  ['@midnight', '0 0 * * *'],
  ['@weekly', '0 0 * * 0'],
  ['@monthly', '0 0 1 * *'],
  ['@yearly', '0 0 1 1 *'],
  ['@annually', '0 0 1 1 *'],
]);

/** Thrown and caught within this file. */
class Refused extends Error {}

/**
 * Reads a cron expression: `*`, numbers, names of months and weekdays, ranges, lists, and steps of `*` or a range.
 *
 * The fields of day-of-month and day-of-week are taken together as cron takes them: a day matches when either does, if
 * neither is `*`.
 */
export function parseCron(text: string): CronExpression | CronFault {
  if (text.length > MAX_CRON_LENGTH) {
    return { kind: 'fault', detail: `the expression is longer than ${MAX_CRON_LENGTH} characters` };
  }
  const trimmed = text.trim().toLowerCase();
  const plain = trimmed.startsWith('@') ? NICKNAMES.get(trimmed) : trimmed;
  const parts = plain?.split(/[ \t]+/) ?? [];
  if (parts.length !== 5 && parts.length !== 6) {
    return {
      kind: 'fault',
      detail: `${JSON.stringify(text)} is not a cron expression: use ${CRON_ACCEPTED}`,
    };
  }
  if (parts.length === 5) parts.unshift('0');
  try {
    const [second, minute, hour, dayOfMonth, month, dayOfWeek] = parts.map((part, place) =>
      readField(part, FIELDS[place]),
    );
    return { kind: 'cron', second, minute, hour, dayOfMonth, month, dayOfWeek };
  } catch (failure) {
    if (failure instanceof Refused) return { kind: 'fault', detail: failure.message };
    throw failure;
  }
}

function readField(text: string, field: FieldKind): CronField {
  const values = new Set<number>();
  for (const item of text.split(',')) readItem(item, field, values);
  if (field.max === 7 && values.delete(7)) values.add(0);
  return { star: text === '*', next: nextTable(values, field.max) };
}

function nextTable(values: ReadonlySet<number>, max: number): Int8Array {
  const next = new Int8Array(max + 2).fill(-1);
  for (let value = max; value >= 0; value--) next[value] = values.has(value) ? value : next[value + 1];
  return next;
}

/** One item of a list: `*`, `5`, `mon-fri`, `10-30/5`, or `*` with a step. */
function readItem(item: string, field: FieldKind, values: Set<number>): void {
  const [range, stepText, ...more] = item.split('/');
  if (more.length > 0) throw refused(field, item, 'has more than one step');
  const [from, to] = readRange(range, item, field);
  if (stepText !== undefined && from === to && !range.includes('-')) {
    throw refused(field, item, `steps from a single value: write ${range}-${field.max}/${stepText}`);
  }
  const step = stepText === undefined ? 1 : readStep(stepText, item, field);
  for (let value = from; value <= to; value += step) values.add(value);
}

function readRange(range: string, item: string, field: FieldKind): readonly [number, number] {
  if (range === '*') return [field.min, field.max === 7 ? 6 : field.max];
  const [fromText, toText, ...more] = range.split('-');
  if (more.length > 0) throw refused(field, item, 'has more than two ends');
  const from = readValue(fromText, item, field);
  if (toText === undefined) return [from, from];
  let to = readValue(toText, item, field);
  // A range of weekdays may end with Sunday.
  if (toText === 'sun' && from > 0) to = 7;
  if (from > to) throw refused(field, item, 'ends before it begins: write two ranges, with a comma between');
  return [from, to];
}

function readValue(text: string, item: string, field: FieldKind): number {
  const named = field.names?.indexOf(text) ?? -1;
  if (named >= 0) return named + field.min;
  const value = /^\d{1,2}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= field.min && value <= field.max) return value;
  const names = field.names === undefined ? '' : `, or a name such as ${field.names[0]}`;
  throw refused(field, item, `is not valid: use values from ${field.min} to ${field.max}${names}`);
}

function readStep(text: string, item: string, field: FieldKind): number {
  const step = /^\d{1,2}$/.test(text) ? Number(text) : 0;
  if (step >= 1 && step <= field.max) return step;
  throw refused(field, item, `is not valid: use a step from 1 to ${field.max}`);
}

function refused(field: FieldKind, item: string, what: string): Refused {
  return new Refused(`the ${field.title} field: ${JSON.stringify(item)} ${what}`);
}

import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../base/clock.ts';

/**
 * A time that the store is given: milliseconds since the epoch, or a delay that the store adds to its own clock in the
 * step that uses it. A delay is exact even if the clock of this process and that of the store differ.
 */
export type GivenTime = number | { readonly afterMs: number };

/** The time that is meant, by a clock that says `nowMs`. */
export function resolveTime(given: GivenTime, nowMs: number): number;
export function resolveTime(given: GivenTime | null, nowMs: number): number | null;
export function resolveTime(given: GivenTime | null, nowMs: number): number | null {
  return typeof given === 'object' && given !== null ? nowMs + given.afterMs : given;
}

/** The accepted forms, for error texts. */
export const TIME_ACCEPTED =
  'a time as in RFC 3339, such as "2026-03-01T10:00:00Z" or "2026-03-01T11:00:00.250+01:00"';

const PATTERN =
  /^(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/;

/**
 * Reads a time as RFC 3339 writes it. Digits below a millisecond are cut off; second 60 is the one after 59.
 *
 * @returns milliseconds since the epoch, or null if the text is not a time, or no such day exists
 */
export function parseTime(text: string): number | null {
  const match = PATTERN.exec(text);
  if (match === null) return null;
  const [
    ,
    year,
    month,
    day,
    hour,
    minute,
    second,
    fraction = '',
    sign,
    offsetHour = '0',
    offsetMinute = '0',
  ] = match;
  const midnight = dayStartMs(Number(year), Number(month), Number(day));
  if (midnight === null || Number(hour) > 23 || Number(minute) > 59 || Number(second) > 60) return null;
  if (Number(offsetHour) > 23 || Number(offsetMinute) > 59) return null;
  const offsetMinutes = Number(offsetHour) * 60 + Number(offsetMinute);
  const minutes = Number(hour) * 60 + Number(minute) - (sign === '-' ? -offsetMinutes : offsetMinutes);
  const ms = Number(fraction.slice(0, 3).padEnd(3, '0'));
  return midnight + minutes * 60_000 + Number(second) * 1_000 + ms;
}

/** RFC 3339 in UTC, with milliseconds: `2026-03-01T10:00:00.000Z`. */
export function formatTime(ms: number): string {
  const day = Math.floor(ms / DAY_MS);
  if (day !== lastDay) {
    const text = new Date(ms).toISOString();
    lastDay = day;
    lastDate = text.slice(0, text.indexOf('T') + 1);
  }
  const inDay = ms - day * DAY_MS;
  const seconds = Math.floor(inDay / SECOND_MS);
  const minutes = Math.floor(seconds / 60);
  const time = `${TWO_DIGITS[Math.floor(minutes / 60)]}:${TWO_DIGITS[minutes % 60]}:${TWO_DIGITS[seconds % 60]}`;
  return `${lastDate}${time}.${String(Math.floor(inDay - seconds * SECOND_MS)).padStart(3, '0')}Z`;
}

/** The day that was formatted last, since 1970, and its date: a whole time takes five times as long to format as within a day. */
let lastDay = Number.NaN;
let lastDate = '';
const TWO_DIGITS = Array.from({ length: 60 }, (_, n) => String(n).padStart(2, '0'));

/** As {@link formatTime}; null for null. */
export function formatTimeOrNull(ms: number | null): string | null {
  return ms === null ? null : formatTime(ms);
}

/** Returns when a day begins in UTC; null if there is no such day. Months are counted from 1. */
function dayStartMs(year: number, month: number, day: number): number | null {
  // Date.UTC takes years below 100 for those of the last century.
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? date.getTime() : null;
}

/** A duration as text: `90s`, `1h30m`, `250ms` (specification 3.0). */
const DURATION_PATTERN = /^(?:\d+(?:ms|s|m|h|d))+$/;

/** The accepted forms, for error texts. */
export const DURATION_ACCEPTED =
  'a duration such as "90s" or "1h30m" (units ms, s, m, h, d), or a number of seconds';

/** Longer texts are rejected without parsing. */
const MAX_TEXT_LENGTH = 64;
/** Some 3000 years: further than any bound on a duration, and far from where numbers lose milliseconds. */
const MAX_MS = 1e14;

/** The largest first. */
const UNITS = [
  { name: 'd', ms: DAY_MS },
  { name: 'h', ms: HOUR_MS },
  { name: 'm', ms: MINUTE_MS },
  { name: 's', ms: 1_000 },
  { name: 'ms', ms: 1 },
] as const;
const UNIT_MS: ReadonlyMap<string, number> = new Map(UNITS.map(unit => [unit.name, unit.ms]));

/**
 * Reads a duration: text as in {@link DURATION_PATTERN}, or a number of seconds, which may have a fraction.
 *
 * @returns whole milliseconds, or null if the text is not a duration
 */
export function parseDuration(value: unknown): number | null {
  if (typeof value === 'number') {
    const ms = Math.round(value * 1_000);
    return ms >= 0 && ms <= MAX_MS ? ms : null;
  }
  if (typeof value !== 'string' || value.length > MAX_TEXT_LENGTH || !DURATION_PATTERN.test(value))
    return null;
  let ms = 0;
  for (const [, count, unit] of value.matchAll(/(\d+)([a-z]+)/g)) ms += Number(count) * UNIT_MS.get(unit)!;
  return ms <= MAX_MS ? ms : null;
}

/** The shortest text of a duration of whole milliseconds, which {@link parseDuration} reads back: `90s`, not `1m30s`. */
export function formatDuration(ms: number): string {
  let text = formatted.get(ms);
  if (text === undefined) {
    text = ms === 0 ? '0s' : shortest(ms, 0);
    if (formatted.size >= MAX_FORMATTED) formatted.clear();
    formatted.set(ms, text);
  }
  return text;
}

/** The texts of durations, of which most tasks have the same few: to find the shortest takes ten times as long as to look it up. */
const formatted = new Map<number, string>();
const MAX_FORMATTED = 256;

/** The shortest text that uses units from this place on. */
function shortest(ms: number, place: number): string {
  if (ms === 0) return '';
  const unit = UNITS[place];
  const count = Math.floor(ms / unit.ms);
  if (place === UNITS.length - 1) return `${count}${unit.name}`;
  const without = shortest(ms, place + 1);
  if (count === 0) return without;
  const withUnit = `${count}${unit.name}${shortest(ms % unit.ms, place + 1)}`;
  return withUnit.length <= without.length ? withUnit : without;
}

/** Times from `from`, which is included, to `before`, which is not; null where there is no bound. Milliseconds. */
interface TimeRange {
  readonly kind: 'range';
  readonly from: number | null;
  readonly before: number | null;
}

/** A problem with a range, and the parameter at fault. */
interface TimeRangeFault {
  readonly kind: 'fault';
  readonly parameter: 'start' | 'end';
  readonly detail: string;
}

/** The accepted forms, for error texts. */
const TIME_RANGE_ACCEPTED =
  'a time as in RFC 3339 ("2026-03-01T10:00:00Z"), a date ("2026-03-01"), a month ("2026-03"), a year ("2026"), ' +
  'Unix seconds or milliseconds (9 or 10, 12 or 13 digits), or a time ago ("-24h")';

/** From when to before when; equal for a full timestamp. */
interface Period {
  readonly from: number;
  readonly before: number;
}

/**
 * Reads the parameters `start` and `end` of lists (specification 3.10). A partial value covers its whole period, so that
 * `start=2026&end=2026` is all of 2026; a full timestamp is included as a start and not as an end. Days are those of UTC.
 */
export function parseTimeRange(
  start: string | undefined,
  end: string | undefined,
  nowMs: number,
): TimeRange | TimeRangeFault {
  const first = start === undefined ? null : parsePeriod(start, nowMs);
  if (first === undefined) return unreadable('start', start!);
  const last = end === undefined ? null : parsePeriod(end, nowMs);
  if (last === undefined) return unreadable('end', end!);
  if (first !== null && last !== null && endsBefore(last, first)) {
    return { kind: 'fault', parameter: 'end', detail: 'end is before start: swap the two' };
  }
  return { kind: 'range', from: first?.from ?? null, before: last?.before ?? null };
}

/** Two equal timestamps are an empty range, and no mistake. */
function endsBefore(last: Period, first: Period): boolean {
  return last.before < first.from || (last.before === first.from && last.from !== last.before);
}

function unreadable(parameter: 'start' | 'end', text: string): TimeRangeFault {
  const shown = JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text);
  return {
    kind: 'fault',
    parameter,
    detail: `${parameter} ${shown} is not valid: use ${TIME_RANGE_ACCEPTED}`,
  };
}

/** Undefined when it cannot be read. */
function parsePeriod(text: string, nowMs: number): Period | undefined {
  const partial = /^(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?$/.exec(text);
  if (partial !== null) return partialPeriod(Number(partial[1]), partial[2], partial[3]);
  const instant = parseInstant(text, nowMs);
  return instant === null ? undefined : { from: instant, before: instant };
}

function partialPeriod(year: number, monthText?: string, dayText?: string): Period | undefined {
  const month = Number(monthText ?? 1);
  const from = dayStartMs(year, month, Number(dayText ?? 1));
  if (from === null) return undefined;
  const next = new Date(from);
  if (dayText !== undefined) next.setUTCDate(next.getUTCDate() + 1);
  else if (monthText !== undefined) next.setUTCMonth(month);
  else next.setUTCFullYear(year + 1);
  return { from, before: next.getTime() };
}

function parseInstant(text: string, nowMs: number): number | null {
  // Eight digits are nearly always a date without its hyphens, so numbers below those of 1973 are not read as Unix time.
  if (/^\d{9,10}$/.test(text)) return Number(text) * 1_000;
  if (/^\d{12,13}$/.test(text)) return Number(text);
  if (text.startsWith('-')) {
    const ago = parseDuration(text.slice(1));
    return ago === null ? null : nowMs - ago;
  }
  return parseTime(text);
}

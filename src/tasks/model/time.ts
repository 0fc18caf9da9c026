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

/** What a fault says is accepted. */
export const TIME_ACCEPTED =
  'a time as in RFC 3339, such as "2026-03-01T10:00:00Z" or "2026-03-01T11:00:00.250+01:00"';

const PATTERN =
  /^(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/;

/**
 * Reads a time as RFC 3339 writes it. What is finer than a millisecond is cut off; second 60 is the one after 59.
 *
 * @returns milliseconds since the epoch, or null when it is none, or no such day exists
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
  return new Date(ms).toISOString();
}

/** The same for a time that there need not be. */
export function formatTimeOrNull(ms: number | null): string | null {
  return ms === null ? null : formatTime(ms);
}

/** When a day of UTC begins; null when there is none. Months from 1. */
export function dayStartMs(year: number, month: number, day: number): number | null {
  // Date.UTC takes years below 100 for those of the last century.
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? date.getTime() : null;
}

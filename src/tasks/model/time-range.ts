import { parseDuration } from './duration.ts';
import { dayStartMs, parseTime } from './time.ts';

/** Times from `from`, which is included, to `before`, which is not; null where there is no bound. Milliseconds. */
interface TimeRange {
  readonly kind: 'range';
  readonly from: number | null;
  readonly before: number | null;
}

/** What is wrong with a range, and with which of its parameters. */
interface TimeRangeFault {
  readonly kind: 'fault';
  readonly parameter: 'start' | 'end';
  readonly detail: string;
}

/** What a fault says is accepted. */
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
    return { kind: 'fault', parameter: 'end', detail: 'end is before start: exchange the two' };
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
    detail: `${parameter} ${shown} cannot be read: give ${TIME_RANGE_ACCEPTED}`,
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

import type { Schedule } from '../documents.ts';
import { nextReading } from './cron-calendar.ts';
import type { CronExpression } from './cron-expression.ts';
import type { TimeZone } from './time-zone.ts';

/**
 * The first time after `after` at which the expression fires in a zone, in milliseconds since the epoch; null when there
 * is none.
 *
 * Where clocks change (specification 3.9) it depends on the hour:
 *
 * - `*`: the pattern does not care what the clock shows. It fires at each instant that matches: in both passes of an hour
 *   that comes twice, and not at all in one that is left out, so that the times of `*` + `/15` stay 15 minutes apart.
 * - anything else: an appointment by the clock. What falls into a gap fires once, at the first instant after it (or not,
 *   with `gap: skip`); what comes twice fires the first time (or both times, with `overlap: twice`).
 *
 * The calendar gives readings of a clock (`cron-calendar.ts`); this walks along the stretches of time in which the
 * offset stays the same, and so decides at their ends what readings that are missing or doubled are worth.
 */
export function nextCronTime(
  expression: CronExpression,
  zone: TimeZone,
  dst: Schedule['dst'],
  after: number,
): number | null {
  const appointment = !expression.hour.star;
  const once = appointment && dst.overlap === 'once';
  const afterGap = appointment && dst.gap === 'run_after';
  let from = after + 1;
  let changedAt = after;
  let offset = zone.offsetAt(after);
  for (;;) {
    const unread = once ? Math.max(from + offset, zone.readBefore(from)) : from + offset;
    const reading = nextReading(expression, unread);
    if (reading === null) return null;
    const change = zone.nextTransition(changedAt, reading - offset);
    if (change === null) return reading - offset;
    if (afterGap && reading < change.at + change.after) return change.at;
    from = change.at;
    changedAt = change.at;
    offset = change.after;
  }
}

import type { CalendarTerms } from '../../base/calendar/calendar-windows.ts';
import { TIME_ZONE_ACCEPTED, timeZone } from '../../base/calendar/time-zone.ts';
import { nearest } from '../../base/nearest.ts';
import { quote } from '../../base/printable.ts';
import { hasValue, offsetOf, textField, writtenField } from './fields/fields.ts';
import type { FileCheck } from './fields/file-check.ts';
import { checkedMap } from './fields/repeated-keys.ts';
import type { YamlMap } from './yaml/yaml-node.ts';

type Period = CalendarTerms['period'];

/** When a period can start. */
interface Starts {
  /** The start if the rule has no `starts`. */
  readonly first: number;
  readonly accepted: string;
  /** The number of {@link CalendarTerms.starts}; null if the text is not accepted. */
  read(text: string): number | null;
  /** The text of a number. */
  write(starts: number): string;
}

const WEEKDAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];
const DAYS_OF_MONTHS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const;

const STARTS: Readonly<Record<Period, Starts>> = {
  day: {
    first: 0,
    accepted: 'the hour at which the day starts, from 0 to 23',
    read: text => numberWithin(text, 0, 23),
    write: String,
  },
  week: {
    first: 1,
    accepted: 'the day on which the week starts, from `monday` to `sunday`, or from 1 for Monday to 7',
    read: text => {
      const named = WEEKDAYS.indexOf(text.toLowerCase());
      return named < 0 ? numberWithin(text, 1, 7) : named + 1;
    },
    write: starts => WEEKDAYS[starts - 1],
  },
  month: {
    first: 1,
    accepted: 'the day on which the month starts, from 1 to 31 (a shorter month starts on its last day)',
    read: text => numberWithin(text, 1, 31),
    write: String,
  },
  year: {
    first: 101,
    accepted: 'the month and day on which the year starts, such as `04-01` for the first of April',
    read: monthAndDay,
    write: starts => `${twoDigits(Math.floor(starts / 100))}-${twoDigits(starts % 100)}`,
  },
};

/** A `calendar` that was read, and its window as messages show it: `month@15 Europe/Berlin`. */
interface Calendar {
  readonly terms: CalendarTerms;
  readonly text: string;
}

/** Checks a `calendar`. Returns null after reporting a fault. */
export function checkCalendar(check: FileCheck, written: YamlMap): Calendar | null {
  const map = checkedMap(check, written, 'calendar');
  const period = checkPeriod(check, map);
  const zone = checkZone(check, map);
  const starts = period === null ? null : checkStarts(check, map, period);
  if (period === null || zone === null || starts === null) return null;
  const at = starts === STARTS[period].first ? '' : `@${STARTS[period].write(starts)}`;
  return { terms: { period, zone, starts }, text: `${period}${at} ${zone}` };
}

function checkPeriod(check: FileCheck, map: YamlMap): Period | null {
  const text = textField(check, map, 'period');
  if (text === null) return null;
  const period = text.toLowerCase();
  if (isPeriod(period)) return period;
  const found = text === '' ? 'the calendar has no `period`' : `${quote(text)} is not a period of a calendar`;
  check.fault(offsetOf(map, 'period'), `${found}: write one of ${Object.keys(STARTS).join(', ')}`);
  return null;
}

function isPeriod(text: string): text is Period {
  return Object.hasOwn(STARTS, text);
}

/** The zone as written; `UTC` if absent. */
function checkZone(check: FileCheck, map: YamlMap): string | null {
  const zone = textField(check, map, 'zone');
  if (zone === null || zone === '') return zone === null ? null : 'UTC';
  if (timeZone(zone) !== null) return zone;
  const guess = nearest(zone, Intl.supportedValuesOf('timeZone'));
  const hint = guess === null ? '' : `did you mean \`${guess}\`? `;
  check.fault(
    offsetOf(map, 'zone'),
    `${quote(zone)} is not a known time zone: ${hint}write ${TIME_ZONE_ACCEPTED.replaceAll('"', '`')}`,
  );
  return null;
}

function checkStarts(check: FileCheck, map: YamlMap, period: Period): number | null {
  if (!hasValue(map, 'starts')) return STARTS[period].first;
  const text = writtenField(check, map, 'starts');
  if (text === null) return null;
  const starts = STARTS[period].read(text);
  if (starts !== null) return starts;
  const message = `a ${period} cannot start at ${quote(text)}: \`starts\` is ${STARTS[period].accepted}`;
  check.fault(offsetOf(map, 'starts'), message);
  return null;
}

function numberWithin(text: string, least: number, greatest: number): number | null {
  const number = /^[0-9]{1,2}$/.test(text) ? Number(text) : -1;
  return number >= least && number <= greatest ? number : null;
}

function monthAndDay(text: string): number | null {
  const [, month, day] = (/^([0-9]{1,2})-([0-9]{1,2})$/.exec(text) ?? []).map(Number);
  return day >= 1 && day <= DAYS_OF_MONTHS[month - 1] ? month * 100 + day : null;
}

function twoDigits(number: number): string {
  return String(number).padStart(2, '0');
}

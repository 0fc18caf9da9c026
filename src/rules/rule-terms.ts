import type { CalendarTerms } from '../base/calendar/calendar-windows.ts';
import { CALENDAR_PERIODS, TERMS } from './layout.ts';
import { ALGORITHMS, type Algorithm } from './rule-set.ts';

/** How a limit counts that is not plain, as read from compiled rules. See `LimitTerms` of `rule-set.ts`. */
export interface RuleTerms {
  readonly algorithm: Algorithm;
  /** Length of the window in units of the limit; 1 with a calendar. */
  readonly multiplier: number;
  /** Token bucket: the most tokens it holds. Else 0. */
  readonly burst: number;
  /** Null for windows of equal length. */
  readonly calendar: CalendarTerms | null;
  readonly window: string;
  /** The end of the cache key. */
  readonly tag: Uint8Array;
}

const ALGORITHM_NAMES = Object.keys(ALGORITHMS) as readonly Algorithm[];
const PERIOD_NAMES = Object.keys(CALENDAR_PERIODS) as readonly CalendarTerms['period'][];

/**
 * Reads a record of {@link TERMS}.
 *
 * @param words all words of the compiled rules
 * @param at index of the first word of the record
 * @param text reads text from the pool
 */
export function readTerms(
  words: Int32Array,
  at: number,
  text: (offset: number, length: number) => string,
): RuleTerms {
  const textOf = (field: number): string => text(words[at + field], words[at + field + 1]);
  const period = words[at + TERMS.calendarPeriod];
  const calendar =
    period === 0
      ? null
      : {
          period: PERIOD_NAMES[period - 1],
          zone: textOf(TERMS.zone),
          starts: words[at + TERMS.calendarStarts],
        };
  return {
    algorithm: ALGORITHM_NAMES[words[at + TERMS.algorithm]],
    multiplier: words[at + TERMS.multiplier],
    burst: words[at + TERMS.burst] >>> 0,
    calendar,
    window: textOf(TERMS.window),
    tag: Buffer.from(textOf(TERMS.tag)),
  };
}

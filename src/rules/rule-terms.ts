import type { CalendarTerms } from '../base/calendar/calendar-windows.ts';
import { CALENDAR_PERIODS, highBits, lowContent, TERMS, wholeNumber } from './layout.ts';
import {
  ALGORITHMS,
  type Algorithm,
  type ClassRule,
  type LeaseRule,
  type LimitTerms,
  type PenaltyRule,
} from './rule-set.ts';

/** How a limit counts that is not plain, as read from compiled rules. See `LimitTerms` of `rule-set.ts`. */
export interface RuleTerms {
  readonly algorithm: Algorithm;
  /** Length of the window in units of the limit; 1 with a calendar. */
  readonly multiplier: number;
  /** Token bucket: the most tokens it holds. Else 0. */
  readonly burst: number;
  /** Null for windows of equal length. */
  readonly calendar: CalendarTerms | null;
  readonly penalty: PenaltyRule | null;
  readonly classes: ClassRule | null;
  /** The share of the hits beyond the limit that pass; 0 for none. */
  readonly afterLimit: number;
  readonly lease: LeaseRule | null;
  /** How many hits one of the requests of the limit is worth. */
  readonly scale: number;
  readonly window: string;
  /** The end of the cache key. */
  readonly tag: Uint8Array;
}

const ALGORITHM_NAMES = Object.keys(ALGORITHMS) as readonly Algorithm[];
const PERIOD_NAMES = Object.keys(CALENDAR_PERIODS) as readonly CalendarTerms['period'][];

/** Adds text to the pool of compiled rules. */
export type TextPool = (text: string) => { readonly offset: number; readonly length: number };

/**
 * Writes a record of {@link TERMS}.
 *
 * @param at index of the first word of the record
 * @param pooled adds text to the pool
 */
export function writeTerms(words: Int32Array, at: number, terms: LimitTerms, pooled: TextPool): void {
  const { algorithm, multiplier, burst, calendar, penalty, classes, afterLimit, lease, scale } = terms;
  const writeText = (field: number, text: string): void => {
    const { offset, length } = pooled(text);
    words[at + field] = offset;
    words[at + field + 1] = length;
  };
  words[at + TERMS.algorithm] = ALGORITHMS[algorithm] | highBits(burst);
  words[at + TERMS.multiplier] = multiplier;
  words[at + TERMS.burst] = burst;
  words[at + TERMS.calendarPeriod] = calendar === null ? 0 : CALENDAR_PERIODS[calendar.period];
  words[at + TERMS.calendarStarts] = calendar?.starts ?? 0;
  writeText(TERMS.zone, calendar?.zone ?? '');
  writeText(TERMS.window, terms.window);
  writeText(TERMS.tag, terms.tag);
  words[at + TERMS.penaltyAfter] = penalty?.after ?? 0;
  words[at + TERMS.penaltyFor] = penalty?.forS ?? 0;
  words[at + TERMS.penaltyFactor] = penalty?.factor ?? 0;
  words[at + TERMS.penaltyMax] = penalty?.maxS ?? 0;
  writeText(TERMS.classes, classes === null ? '' : JSON.stringify(classes));
  words[at + TERMS.afterLimit] = afterLimit;
  writeText(TERMS.lease, lease === null ? '' : JSON.stringify(lease));
  words[at + TERMS.scale] = scale;
}

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
  const classes = textOf(TERMS.classes);
  const lease = textOf(TERMS.lease);
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
    algorithm: ALGORITHM_NAMES[lowContent(words[at + TERMS.algorithm])],
    multiplier: words[at + TERMS.multiplier],
    burst: wholeNumber(words[at + TERMS.burst], words[at + TERMS.algorithm]),
    calendar,
    penalty: penaltyIn(words, at),
    classes: classes === '' ? null : (JSON.parse(classes) as ClassRule),
    afterLimit: words[at + TERMS.afterLimit],
    lease: lease === '' ? null : (JSON.parse(lease) as LeaseRule),
    scale: words[at + TERMS.scale],
    window: textOf(TERMS.window),
    tag: Buffer.from(textOf(TERMS.tag)),
  };
}

function penaltyIn(words: Int32Array, at: number): PenaltyRule | null {
  const after = words[at + TERMS.penaltyAfter];
  if (after === 0) return null;
  const [forS, factor] = [words[at + TERMS.penaltyFor], words[at + TERMS.penaltyFactor]];
  return { after, forS, factor, maxS: words[at + TERMS.penaltyMax] };
}

const LENGTHS = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'm'],
] as const;

/** A length as rule files write it, in the largest unit that is exact: `90s`, `2m`, `7d`. */
export function lengthText(seconds: number): string {
  const [unit, letter] = LENGTHS.find(([length]) => seconds % length === 0) ?? [1, 's'];
  return `${seconds / unit}${letter}`;
}

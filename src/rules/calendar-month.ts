import type { LimitTerms, Unit } from './rule-set.ts';
import type { RuleTerms } from './rule-terms.ts';

/**
 * The terms of a plain limit with the unit `month`, if the months are those of the calendar
 * (`USE_CALENDAR_MONTH_RATE_LIMIT`). Without a tag, its cache key is the one that envoyproxy/ratelimit uses with this
 * setting: it ends with the start of the month.
 */
export const CALENDAR_MONTH: LimitTerms = {
  algorithm: 'fixed_window',
  multiplier: 1,
  burst: 0,
  calendar: { period: 'month', zone: 'UTC', starts: 1 },
  penalty: null,
  classes: null,
  afterLimit: 0,
  lease: null,
  scale: 1,
  window: 'month UTC',
  tag: '',
};

/** Begins the tags of other limits whose month is that of the calendar because of the setting. No window begins so. */
const TAG_START = 'month/';

/**
 * How a limit counts if the months are those of the calendar. Sliding windows, token buckets and windows of several months
 * keep their months of 30 days, because the lengths of a calendar differ.
 */
export function withCalendarMonth(unit: Unit | null, terms: LimitTerms | null): LimitTerms | null {
  if (unit !== 'month') return terms;
  if (terms === null) return CALENDAR_MONTH;
  const { algorithm, multiplier, calendar, tag } = terms;
  if (algorithm !== 'fixed_window' || multiplier !== 1 || calendar !== null) return terms;
  const { calendar: month, window } = CALENDAR_MONTH;
  return { ...terms, calendar: month, window, tag: tag === '' ? '' : TAG_START + tag };
}

/** Whether rule files write a limit with these terms as a plain one. */
export function isWrittenPlain({ tag, afterLimit, scale }: RuleTerms): boolean {
  return tag.length === 0 && afterLimit === 0 && scale === 1;
}

/** Whether rule files write the window of these terms as `unit: month`. */
export function isWrittenAsMonth({ tag }: RuleTerms): boolean {
  return tag.length === 0 || Buffer.from(tag).toString('latin1').startsWith(TAG_START);
}

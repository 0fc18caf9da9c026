import { UNIT_NAMES, UNIT_SECONDS } from '../../messages/current-limit.ts';
import { withCalendarMonth } from '../calendar-month.ts';
import type { CompiledRules } from '../compiled-rules.ts';
import { LIMIT, LIMIT_FLAG } from '../layout.ts';
import {
  type Algorithm,
  type ClassRule,
  isDefaultQuota,
  type LeaseRule,
  type LimitTerms,
  type PenaltyRule,
  type QuotaRule,
  type RuleEntry,
  type RuleLimit,
  type RuleSet,
  UNIT_NUMBERS,
  type Unit,
} from '../rule-set.ts';
import { lengthText } from '../rule-terms.ts';
import { shareOf, shareText } from '../shares.ts';

/** A limit that is not plain, or of which proxies get a part that the rule says, explained. */
interface ExplainedLimit {
  /** The path of the rule, with the level of a limit in `rate_limits`: as in `/rlconfig` and statistics. */
  readonly rule: string;
  readonly name: string;
  /** `5m`, `month@15 Europe/Berlin`. */
  readonly window: string;
  readonly algorithm: Algorithm;
  readonly meaning: string;
}

/**
 * The limits of a set of rules that say more than a number of requests per unit, in definition order.
 *
 * @param calendarMonths whether months are those of the calendar instead of 30 days
 */
export function* explainedLimits({ domains }: RuleSet, calendarMonths: boolean): Iterable<ExplainedLimit> {
  for (const { name, entries } of domains) yield* limitsOf(entries, name, calendarMonths);
}

function* limitsOf(
  entries: readonly RuleEntry[],
  above: string,
  calendarMonths: boolean,
): Iterable<ExplainedLimit> {
  for (const entry of entries) {
    const path = `${above}.${entry.composite}`;
    const quota = entry.quota === undefined || isDefaultQuota(entry.quota) ? null : entry.quota;
    for (const limit of entry.limits) {
      const { name, item, unit } = limit;
      const own = calendarMonths ? withCalendarMonth(unit, limit.terms) : limit.terms;
      const ofUnit = quota === null || unit === null ? null : { ...PLAIN, window: windowOfUnit(unit) };
      const terms = own ?? ofUnit;
      if (terms === null) continue;
      const modes = [
        ...(entry.shadowMode || item?.shadowMode ? ['shadow mode, so it is counted and not enforced'] : []),
        ...(entry.quotaMode || item?.quotaMode ? ['quota mode'] : []),
      ];
      const meaning = [limitInWords(limit, terms, quota), ...modes].join('; ');
      const rule = item === null ? path : `${path}.${item.level}`;
      yield { rule, name, window: terms.window, algorithm: terms.algorithm, meaning };
    }
    yield* limitsOf(entry.entries, path, calendarMonths);
  }
}

/** The parts of terms that the words are made from. */
type TermsInWords = Omit<LimitTerms, 'tag'>;

const PLAIN: TermsInWords = {
  algorithm: 'fixed_window',
  multiplier: 1,
  burst: 0,
  calendar: null,
  penalty: null,
  classes: null,
  afterLimit: 0,
  lease: null,
  scale: 1,
  window: '',
};

/** What a limit of compiled rules allows, in words. */
export function compiledLimitInWords(rules: CompiledRules, limit: number): string {
  if ((rules.flags(limit) & LIMIT_FLAG.unlimited) !== 0) return 'unlimited';
  const terms = rules.limit(limit, LIMIT.terms) - 1;
  const number = rules.limit(limit, LIMIT.unit);
  const unit = number === 0 ? null : (UNIT_NAMES[number].toLowerCase() as Unit);
  const requestsPerUnit = rules.requestsPerUnit(limit);
  const counting = terms < 0 ? PLAIN : rules.terms(terms);
  return limitInWords({ unit, requestsPerUnit }, counting, rules.quotaOf(limit));
}

/**
 * What a limit allows, to which classes and holders, what passes after it, what happens to keys that keep exceeding it, and
 * what proxies get of it.
 */
function limitInWords(
  limit: Pick<RuleLimit, 'unit' | 'requestsPerUnit'>,
  terms: TermsInWords,
  quota: QuotaRule | null,
): string {
  const { algorithm, burst, classes, afterLimit, penalty, scale, lease } = terms;
  const most = algorithm === 'token_bucket' ? burst : limit.requestsPerUnit;
  return [
    allowedInWords(limit, terms),
    ...(scale === 1 ? [] : [`each one is worth ${scale} hits`]),
    ...(classes === null ? [] : [classesInWords(classes, most)]),
    ...(afterLimit === 0 ? [] : [`of the hits beyond it, ${shareText(afterLimit)} pass`]),
    ...(penalty === null ? [] : [penaltyInWords(penalty, terms)]),
    ...(lease === null ? [] : leaseInWords(lease)),
    ...(quota === null ? [] : [quotaInWords(quota)]),
  ].join('; ');
}

/** `proxies get at most 80% of it, for 20s each time`. */
function quotaInWords({ share, forS }: QuotaRule): string {
  return `proxies get at most ${shareText(share)} of it, for ${lengthText(forS)} each time`;
}

/** `by tier: critical up to 100, sheddable up to 60, others up to 60`. For a bucket, these are tokens. */
function classesInWords({ key, names, shares, otherShare }: ClassRule, most: number): string {
  const of = (name: string, share: number): string => `${name} up to ${shareOf(most, share)}`;
  const each = names.map((name, i) => of(name, shares[i]));
  return `by ${key}: ${[...each, of('others', otherShare)].join(', ')}`;
}

/** `a key with rejections in 3 windows is rejected for 2m, then each time 2 times as long, at most 1h`. */
function penaltyInWords({ after, forS, factor, maxS }: PenaltyRule, { algorithm }: TermsInWords): string {
  const windows = algorithm === 'fixed_window' ? 'window' : 'period';
  const when = after === 1 ? `a rejection` : `rejections in ${after} ${windows}s`;
  const growth = factor === 1 ? '' : `, then each time ${factor} times as long, at most ${lengthText(maxS)}`;
  return `a key with ${when} is penalized for ${lengthText(forS)}${growth}`;
}

/** What calls of a holder do. */
function leaseInWords({ mode, forS, holder, estimate, settles, zeroHits, overdraft }: LeaseRule): string[] {
  const length = lengthText(forS);
  if (mode === 'once') return [`of each ${holder}, only the first call in ${length} counts`];
  if (mode === 'concurrency')
    return [`each ${holder} holds one until it is ${settles ? 'settled' : 'released'}, or for ${length}`];
  const beyond = overdraft === 'allow' ? ['hits beyond those that were held take no room'] : [];
  if (holder === '')
    return [
      `each call without hits holds ${estimate} for ${length}, until the next call with hits settles them`,
      ...beyond,
    ];
  const without = zeroHits === 'extend' ? 'one without hits extends the time' : 'one without hits frees them';
  const first = estimate === 0 ? [] : [`a first call without hits holds ${estimate}`];
  const calls = `the first call of each ${holder} holds its hits for ${length}, a later one settles them, and ${without}`;
  return [calls, ...first, ...beyond];
}

/** What a limit allows: `at most 100 in each window of 5 minutes`. */
function allowedInWords(limit: Pick<RuleLimit, 'unit' | 'requestsPerUnit'>, terms: TermsInWords): string {
  const { unit, requestsPerUnit: requests } = limit;
  const { calendar, multiplier, burst } = terms;
  if (requests === 0) return 'every request is rejected';
  if (calendar !== null) return `at most ${requests} in each ${calendarWords(terms)}`;
  if (unit === null) return `at most ${requests} at the same time`;
  const length = lengthWords(unit, multiplier);
  const any = length.replace(/^1 /, '');
  const seconds = multiplier * UNIT_SECONDS[UNIT_NUMBERS[unit]];
  if (terms.algorithm === 'sliding_window') {
    return `at most ${requests} in each ${any}, and about as many in any ${any}`;
  }
  if (terms.algorithm === 'token_bucket') {
    const rate = `${requests} per ${any} on average (one every ${intervalWords(seconds / requests)})`;
    return `${rate}, bursts of at most ${burst}, so at most ${requests + burst} in any ${any}`;
  }
  if (any !== length) return `at most ${requests} in each ${any}`;
  return `at most ${requests} in each window of ${length}${startWords(seconds)}`;
}

/** Windows that neither divide a day nor consist of whole days start at another time of day each time. */
function startWords(seconds: number): string {
  const day = 86_400;
  const isAligned = day % seconds === 0 || seconds % day === 0;
  if (isAligned || seconds < 3_600) return '';
  return '; they are counted from 1970-01-01 00:00 UTC, so they do not start at the same time each day';
}

/** `month from day 15, Europe/Berlin time`. */
function calendarWords({ calendar, window }: TermsInWords): string {
  if (calendar === null) return '';
  const { period, zone } = calendar;
  const [, start] = /@([^ ]+) /.exec(window) ?? [];
  const at = {
    day: `from ${start}:00`,
    week: `from ${start}`,
    month: `from day ${start}`,
    year: `from ${start}`,
  };
  return `${period}${start === undefined ? '' : ` ${at[period]}`}, ${zone} time`;
}

/** `1 minute`, `5 minutes`. A month has 30 days and a year 365, which the words have to say. */
function lengthWords(unit: Unit, multiplier: number): string {
  if (unit === 'month') return `${multiplier * 30} days`;
  if (unit === 'year') return `${multiplier * 365} days`;
  return `${multiplier} ${unit}${multiplier === 1 ? '' : 's'}`;
}

/** The window of a plain limit, as terms have it: `1m`, `1w`, `30d`. */
function windowOfUnit(unit: Unit): string {
  return unit === 'week' ? '1w' : lengthText(UNIT_SECONDS[UNIT_NUMBERS[unit]]);
}

/** A time with three digits: `600ms`, `3s`, `2.5h`. */
function intervalWords(seconds: number): string {
  const [unit, letter] = INTERVALS.find(([length]) => seconds >= length) ?? [0.001, 'ms'];
  return `${Number((seconds / unit).toPrecision(3))}${letter}`;
}

const INTERVALS: readonly (readonly [seconds: number, letter: string])[] = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'm'],
  [1, 's'],
];

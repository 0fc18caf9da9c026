import type { CalendarTerms } from '../../base/calendar/calendar-windows.ts';
import { nearestWithin } from '../../base/nearest.ts';
import { quote } from '../../base/printable.ts';
import {
  ALGORITHMS,
  type Algorithm,
  GREATEST_DRAIN,
  GREATEST_LIMIT,
  GREATEST_SLIDING_LIMIT,
  type LimitTerms,
  type Unit,
} from '../rule-set.ts';
import { checkAfterLimit, checkAfterLimitTerms } from './check-after-limit.ts';
import { checkCalendar } from './check-calendar.ts';
import { checkClasses, checkClassTerms } from './check-classes.ts';
import { checkConcurrency, checkReserve, checkScale, LEASE_TAG } from './check-leases.ts';
import { checkPenalty } from './check-penalty.ts';
import { ADDED_FIELDS } from './fields/field-names.ts';
import { countField, hasValue, mapField, offsetOf, textField, wholeField } from './fields/fields.ts';
import type { FileCheck } from './fields/file-check.ts';
import { LONGEST_S, lengthS, unitWindow, type WindowLength, writtenWindow } from './window-length.ts';
import type { YamlMap } from './yaml/yaml-node.ts';

/** The unit of a limit, and how the limit counts. */
interface Counting {
  /** Null for a limit on concurrency. */
  readonly unit: Unit | null;
  readonly requestsPerUnit: number;
  readonly terms: LimitTerms;
}

/** A window of either kind. */
interface Window extends WindowLength {
  readonly calendar: CalendarTerms | null;
}

/** The ends of tags. A tag is the end of a cache key, so the counters of two algorithms never mix. */
const TAGS: Readonly<Record<Algorithm, string>> = {
  fixed_window: '',
  sliding_window: '.sliding',
  token_bucket: '.bucket',
};

/** The end of the tag of a limit with a penalty, whose counters have another form. */
const PENALTY_TAG = '.penalty';

/** The same for a fixed window with classes. The other algorithms count classes as they count all requests. */
const CLASSES_TAG = '.classes';

/**
 * Checks the fields of a limit that say how much it allows and how it counts. Returns null after reporting a fault of the
 * window.
 *
 * @param alternative what can be written instead of a unit, for messages
 */
export function checkTerms(check: FileCheck, block: YamlMap, alternative: string): Counting | null {
  if (hasValue(block, 'concurrency')) {
    const concurrency = checkConcurrency(check, block);
    return concurrency && { unit: null, requestsPerUnit: concurrency.limit, terms: concurrency.terms };
  }
  const requestsPerUnit = countField(check, block, 'requests_per_unit');
  const window = checkWindow(check, block, alternative);
  const algorithm = checkAlgorithm(check, block, window?.calendar ?? null);
  const burst = checkBurst(check, block, algorithm, requestsPerUnit);
  const penalty = checkPenalty(check, block);
  const classes = checkClasses(check, block);
  const afterLimit = checkAfterLimit(check, block);
  const scale = checkScale(check, block, algorithm, requestsPerUnit);
  const lease = checkReserve(check, block);
  if (window === null) return null;
  const { unit, multiplier, calendar, text } = window;
  if (algorithm === 'token_bucket') checkCapacity(check, block, { window, requestsPerUnit, burst });
  if (algorithm === 'sliding_window') checkSlidingLimit(check, block, requestsPerUnit);
  const how = { algorithm, multiplier, burst, calendar, penalty, classes, afterLimit, lease, scale };
  const tag = `${text.replace(' ', '.')}${TAGS[algorithm]}${formTag(how)}`;
  const terms = { ...how, window: text, tag };
  checkClassTerms(check, block, terms);
  checkAfterLimitTerms(check, block, terms);
  return { unit, requestsPerUnit, terms };
}

/** The part of a tag that says which form the counters have. */
function formTag({
  algorithm,
  penalty,
  classes,
  lease,
}: Pick<LimitTerms, 'algorithm' | 'penalty' | 'classes' | 'lease'>): string {
  if (lease !== null) return LEASE_TAG;
  if (penalty !== null) return PENALTY_TAG;
  return classes !== null && algorithm === 'fixed_window' ? CLASSES_TAG : '';
}

/** The terms of a `rate_limit`; null for a plain limit. One that is counted as a plain limit keeps its cache key. */
export function termsOfOne(terms: LimitTerms): LimitTerms | null {
  const { algorithm, multiplier, calendar, penalty, classes, afterLimit, lease, scale } = terms;
  const isAdmitted = algorithm !== 'fixed_window' || penalty !== null || classes !== null || lease !== null;
  if (isAdmitted || multiplier !== 1 || calendar !== null) return terms;
  return afterLimit === 0 && scale === 1 ? null : { ...terms, tag: '' };
}

/** A field of a limit that envoyproxy/ratelimit does not know and that has a value. Null if the limit has only known fields. */
export function addedField(block: YamlMap): string | null {
  // Only a second look finds out whether a field has a value, because most limits have no such field at all.
  if (!block.pairs.some(pair => ADDED_FIELDS.has(pair.key))) return null;
  for (const name of ADDED_FIELDS) if (hasValue(block, name)) return name;
  return null;
}

function checkWindow(check: FileCheck, block: YamlMap, alternative: string): Window | null {
  if (hasValue(block, 'calendar')) {
    for (const name of ['window', 'unit', 'unit_multiplier']) {
      const why = 'the `period` of the `calendar` is the window';
      if (hasValue(block, name))
        check.fault(offsetOf(block, name), `${why}: remove \`${name}\` or \`calendar\``);
    }
    return calendarWindow(check, block);
  }
  if (!hasValue(block, 'window')) {
    const window = unitWindow(check, block, alternative);
    return window && { ...window, calendar: null };
  }
  for (const name of ['unit', 'unit_multiplier']) {
    const why = '`window` is the whole length of the window';
    if (hasValue(block, name)) check.fault(offsetOf(block, name), `${why}: remove \`${name}\` or \`window\``);
  }
  const window = writtenWindow(check, block);
  return window && { ...window, calendar: null };
}

function calendarWindow(check: FileCheck, block: YamlMap): Window | null {
  const map = mapField(check, block, 'calendar');
  const calendar = map === null ? null : checkCalendar(check, map);
  return (
    calendar && { unit: calendar.terms.period, multiplier: 1, text: calendar.text, calendar: calendar.terms }
  );
}

function checkAlgorithm(check: FileCheck, block: YamlMap, calendar: CalendarTerms | null): Algorithm {
  const text = textField(check, block, 'algorithm');
  if (text === null || text === '') return 'fixed_window';
  const name = text.toLowerCase();
  if (!Object.hasOwn(ALGORITHMS, name)) {
    const names = Object.keys(ALGORITHMS);
    const guess = names.find(known => name !== '' && known.startsWith(name)) ?? nearestWithin(name, names, 4);
    const hint = guess === null ? '' : `did you mean \`${guess}\`? `;
    const list = `accepted here: ${names.join(', ')}`;
    check.fault(offsetOf(block, 'algorithm'), `${quote(text)} is not an algorithm; ${hint}${list}`);
    return 'fixed_window';
  }
  if (calendar !== null && name !== 'fixed_window') {
    check.fault(
      offsetOf(block, 'algorithm'),
      `the windows of a calendar have different lengths, so they are always fixed windows: ` +
        `remove \`algorithm: ${name}\`, or write \`window: \` and a length instead of \`calendar\``,
    );
  }
  return name as Algorithm;
}

/** The burst of a token bucket: the limit if absent. Else 0. */
function checkBurst(check: FileCheck, block: YamlMap, algorithm: Algorithm, limit: number): number {
  const burst = wholeField(check, block, 'burst', { least: 1, greatest: GREATEST_LIMIT });
  if (burst === null) return algorithm === 'token_bucket' ? limit : 0;
  if (algorithm !== 'token_bucket') {
    const message = '`burst` is only for token buckets: write `algorithm: token_bucket` or remove `burst`';
    check.fault(offsetOf(block, 'burst'), message);
    return 0;
  }
  if (limit === 0) {
    const message =
      'the bucket is never filled because `requests_per_unit` is 0: remove `burst`, or write a number from 1';
    check.fault(offsetOf(block, 'burst'), message);
  }
  return burst;
}

interface Bucket {
  readonly window: WindowLength & Pick<Window, 'calendar'>;
  readonly requestsPerUnit: number;
  readonly burst: number;
}

/**
 * Refuses a bucket whose level would not be exact in every store. A bucket is counted in parts of a hit, so that it drains
 * by a whole number of parts in every millisecond. Stores keep the second at which it is full, which must be a 32-bit number.
 */
function checkCapacity(check: FileCheck, block: YamlMap, { window, requestsPerUnit, burst }: Bucket): void {
  if (window.calendar !== null || requestsPerUnit === 0) return;
  const windowMs = lengthS(window) * 1_000;
  const divisor = greatestDivisor(windowMs, requestsPerUnit);
  if (requestsPerUnit / divisor > GREATEST_DRAIN) {
    check.fault(
      offsetOf(block, 'requests_per_unit'),
      `a bucket that gets ${requestsPerUnit} tokens in ${window.text} cannot be counted exactly: ` +
        `write \`requests_per_unit: ${requestsPerUnit - (requestsPerUnit % windowMs)}\``,
    );
    return;
  }
  const partsOfHit = windowMs / divisor;
  const mostExact = Math.floor(GREATEST_LIMIT / partsOfHit);
  const mostFilled = Math.floor((LONGEST_S * requestsPerUnit) / lengthS(window));
  if (burst <= mostExact && burst <= mostFilled) return;
  const [why, instead] =
    burst > mostExact
      ? ['cannot be counted exactly', ', or a rounder number for `requests_per_unit`']
      : ['takes more than ten years to become full', ''];
  check.fault(
    offsetOf(block, hasValue(block, 'burst') ? 'burst' : 'requests_per_unit'),
    `a bucket of ${burst} tokens that gets ${requestsPerUnit} in ${window.text} ${why}: ` +
      `write \`burst: ${Math.min(mostExact, mostFilled)}\` or less${instead}`,
  );
}

/** Refuses a sliding window whose hits would not be exact in every store. */
function checkSlidingLimit(check: FileCheck, block: YamlMap, requestsPerUnit: number): void {
  if (requestsPerUnit <= GREATEST_SLIDING_LIMIT) return;
  check.fault(
    offsetOf(block, 'requests_per_unit'),
    `a sliding window cannot count ${requestsPerUnit} hits exactly: ` +
      `write \`requests_per_unit: ${GREATEST_SLIDING_LIMIT}\` or less, or remove \`algorithm: sliding_window\``,
  );
}

function greatestDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestDivisor(b, a % b);
}

import { SECOND_MS } from '../../base/clock.ts';
import { ADMISSION, type AdmissionTerms } from '../../counters/admission/admission.ts';
import type { PenaltyTerms } from '../../counters/admission/penalty.ts';
import { restForWeight } from '../../counters/admission/sliding-window.ts';
import { LEASE_MODE, type LeaseTerms } from '../../counters/leases/lease.ts';
import { SECOND } from '../../counters/window.ts';
import { isWrittenPlain } from '../../rules/calendar-month.ts';
import { GREATEST_DRAIN, GREATEST_LIMIT, GREATEST_SLIDING_LIMIT } from '../../rules/rule-set.ts';
import { shareOf } from '../../rules/shares.ts';
import { LimitClasses, OTHERS } from './limit-classes.ts';
import { LimitHolders } from './limit-holders.ts';
import { isAdmitted, type LimitWindow } from './limit-window.ts';

/** Times to live are 32-bit numbers. */
const LONGEST_TTL_S = 2 ** 31 - 1;

/**
 * How a limit counts that is not plain. All limits with the same terms and requests share one object, or of a limit with
 * classes one for each class.
 */
export class CountingTerms {
  readonly window: LimitWindow;
  /** The terms under which the store admits hits; null if it counts all of them in fixed windows. */
  readonly admission: AdmissionTerms | null;
  /** The requests of the limit: those that were asked for, unless they cannot be counted exactly. */
  readonly requests: number;
  /** How many hits one of the requests is worth. */
  readonly scale: number;
  /**
   * The most hits that an unused limit admits: the burst of a token bucket, else those that the requests of the limit are
   * worth. For a class, its share of {@link total}.
   */
  readonly most: number;
  /** The same for all classes together. */
  readonly total: number;
  /** Null if all requests may use the whole limit. */
  readonly classes: LimitClasses | null;
  /** The number of the class; see {@link LimitClasses}. */
  readonly classNumber: number;
  /** Null if hits are not leased. */
  readonly holders: LimitHolders | null;
  /** The share of the hits beyond the limit that pass, in hundredths of a percent. */
  readonly afterLimit: number;
  /** Whether the store admits hits of fixed windows. */
  readonly isFixed: boolean;
  /** Whether keys are penalized that keep exceeding the limit. */
  readonly hasPenalty: boolean;
  /** How long a penalty can last, in milliseconds; 0 without penalties. */
  readonly longestPenaltyMs: number;
  /** The unit for the store: it only has to recognize windows of a second, and a tag tells apart all other keys. */
  readonly storeUnit: number;
  /** Whether rule files write the limit as a plain one, so that everything but its window is that of a plain limit. */
  readonly isWrittenPlain: boolean;
  /** Whether leases hold hits of the limit. If not, it may still have holders, whose first calls are counted. */
  readonly hasLeases: boolean;
  /** Whether the limit is one on what runs at the same time. */
  readonly isConcurrency: boolean;
  /** Whether the limit has further rows of statistics. */
  readonly hasExtras: boolean;
  /** The level up to which hits fit. */
  readonly #ceiling: number;
  /** Of the terms of the class {@link OTHERS}: those of all classes, by number. */
  readonly #byClass: readonly CountingTerms[];

  /**
   * @param asked `requests_per_unit` of the limit; only those of an override may be too large for the algorithm
   * @param burst size of a token bucket; that of the terms unless given
   * @param classes those of the limit, and the number of one, if the limit has classes
   */
  constructor(
    window: LimitWindow,
    asked: number,
    burst = window.terms.burst,
    { classes, number }: ClassOfLimit = classOthers(window),
  ) {
    const { algorithm, afterLimit } = window.terms;
    const requests = countableRequests(window, asked);
    this.window = window;
    this.requests = requests;
    this.afterLimit = afterLimit;
    this.classes = classes;
    this.classNumber = number;
    const admission = admissionTerms(window, requests, burst);
    const { lease } = window.terms;
    this.holders = lease === null ? null : new LimitHolders(lease);
    this.hasLeases = lease !== null && lease.mode !== 'once';
    this.isConcurrency = lease !== null && lease.mode === 'concurrency';
    this.hasExtras = classes !== null || afterLimit > 0 || this.hasLeases;
    this.isFixed = admission?.admission === ADMISSION.fixedWindow || (lease !== null && !this.isConcurrency);
    this.hasPenalty = window.terms.penalty !== null;
    // Penalties end at a full second, rounded up.
    this.longestPenaltyMs = this.hasPenalty ? (1 + window.terms.penalty!.maxS) * SECOND_MS : 0;
    const isBucket = algorithm === 'token_bucket' && admission !== null;
    this.isWrittenPlain = isWrittenPlain(window.terms);
    // A bucket into which no token flows would only ever admit its first burst.
    this.scale = window.terms.scale;
    this.total = requests === 0 ? 0 : isBucket ? admission.capacity / admission.scale : requests * this.scale;
    this.most = classes === null ? this.total : shareOf(this.total, classes.share(number));
    const capacity = admission?.capacity ?? 0;
    this.#ceiling = classes === null || admission === null ? capacity : this.most * admission.scale;
    this.admission = admission === null ? null : { ...admission, reserve: capacity - this.#ceiling };
    this.#byClass = this.#inAllClasses(requests, burst);
    const isOfSecond = window.lengthS === 1 && lease === null;
    this.storeUnit = isOfSecond ? SECOND : window.hasKeysOfUnit ? window.unit : 0;
  }

  /** The terms of the same limit for a class. Only of terms for the class {@link OTHERS}. */
  inClass(number: number): CountingTerms {
    return number === this.classNumber ? this : this.#byClass[number];
  }

  #inAllClasses(requests: number, burst: number): readonly CountingTerms[] {
    const { classes, window } = this;
    if (classes === null || this.classNumber !== OTHERS) return [];
    return Array.from({ length: classes.count }, (_, number) =>
      number === OTHERS ? this : new CountingTerms(window, requests, burst, { classes, number }),
    );
  }

  /**
   * Time to live of a count, in seconds: as long as it matters, and a random `jitterS`. The window must be the current one.
   * Months of the calendar that are written as plain limits expire when they end, as in envoyproxy/ratelimit.
   */
  ttlS(nowS: number, jitterS: number): number {
    const { window, admission } = this;
    const fromS = this.isWrittenPlain ? nowS : window.startS;
    const longestS = admission === null || this.isFixed ? window.endS - fromS : lastingS(admission);
    return Math.min(longestS + jitterS, LONGEST_TTL_S);
  }

  /** The second after which a count that changes now does not matter, since the epoch. */
  expiryS(nowS: number): number {
    const { window, admission } = this;
    return admission === null || this.isFixed ? window.endS : nowS + lastingS(admission);
  }

  /** Whole hits that take up a level. */
  usedAt(level: number): number {
    return Math.ceil(level / this.admission!.scale);
  }

  /** Whole hits that fit at a level. */
  leftAt(level: number): number {
    return Math.max(Math.floor((this.#ceiling - level) / this.admission!.scale), 0);
  }

  /** Whether a request is refused however long it waits, because the limit never admits its hits, or one if it has none. */
  neverFits(hits: number): boolean {
    return this.admission !== null && Math.max(hits, 1) > this.most;
  }

  /**
   * Milliseconds until the limit admits more hits than now. Not for fixed windows.
   *
   * - Limit on what runs at the same time: until the first lease ends
   * - Token bucket: until the next whole token, 0 if the bucket is full
   * - Sliding window: if no hit fits, until one fits, assuming no others are added; else until the current window ends
   */
  resetMs(state: LimitState): number {
    const terms = this.admission!;
    const { level } = state;
    if (terms.admission === ADMISSION.leased) return state.leaseEndsMs;
    if (terms.admission === ADMISSION.tokenBucket)
      return level <= 0 && terms.drain > 0 ? 0 : this.waitMs(state, this.leftAt(level) + 1);
    return level + 1 <= this.#ceiling || this.#ceiling === 0
      ? windowLeftMs(terms, state.nowMs)
      : this.waitMs(state, 1);
  }

  /**
   * Milliseconds until a request fits, assuming no other hits are added; 0 if it fits now. A request without hits waits until
   * one fits. For a request that {@link neverFits}, it is the length of the window, or the rest of a fixed window.
   */
  waitMs(state: LimitState, hits: number): number {
    const terms = this.admission!;
    const needed = Math.max(hits, 1);
    const { level, fixedLeftMs } = state;
    if (level + needed * terms.scale <= this.#ceiling) return 0;
    if (terms.admission === ADMISSION.leased) return this.#leaseWaitMs(state, needed);
    if (this.isFixed) return fixedLeftMs;
    if (needed > this.most) return this.window.lengthS * SECOND_MS;
    if (terms.admission === ADMISSION.slidingWindow)
      return slidingWaitMs(terms, state, this.#ceiling - needed);
    return Math.ceil((level - this.#ceiling + needed * terms.scale) / terms.drain);
  }

  /** Held hits may be free when the first lease ends; those that are spent are free in the next window. */
  #leaseWaitMs({ level, held, leaseEndsMs, fixedLeftMs }: LimitState, needed: number): number {
    const leftMs = this.isFixed ? fixedLeftMs : this.window.lengthS * SECOND_MS;
    return level - held + needed > this.#ceiling || leaseEndsMs === 0
      ? leftMs
      : Math.min(leaseEndsMs, leftMs);
  }
}

/** How full a limit is whose hits the store admits. */
export interface LimitState {
  /** The present time in milliseconds since the epoch, and how long the current window lasts, if it is a fixed one. */
  nowMs: number;
  fixedLeftMs: number;
  level: number;
  /** Of a sliding window: the part of the level that is left from the previous window, and the hits of that window. */
  floor: number;
  previous: number;
  /** With leases: the part of the level that is held, and milliseconds until the first lease ends; 0 without leases. */
  held: number;
  leaseEndsMs: number;
}

/** A class of a limit. */
interface ClassOfLimit {
  readonly classes: LimitClasses | null;
  readonly number: number;
}

function classOthers({ terms }: LimitWindow): ClassOfLimit {
  return { classes: terms.classes === null ? null : new LimitClasses(terms.classes), number: OTHERS };
}

function admissionTerms(window: LimitWindow, requests: number, burst: number): AdmissionTerms | null {
  const penalty = penaltyTerms(window);
  const { terms, lengthS } = window;
  const lease = leaseTerms(window);
  // Terms of one shape, which is faster to read.
  const ofWindow = (admission: number, windowS: number): AdmissionTerms => {
    return { admission, scale: 1, capacity: requests * terms.scale, drain: 0, windowS, penalty, lease };
  };
  switch (terms.algorithm) {
    case 'fixed_window':
      if (!isAdmitted(terms)) return null;
      return ofWindow(lease === null ? ADMISSION.fixedWindow : ADMISSION.leased, longestWindowS(window));
    case 'sliding_window':
      return ofWindow(ADMISSION.slidingWindow, lengthS);
    default:
      return { ...bucketTerms(lengthS * SECOND_MS, requests, burst), penalty };
  }
}

/** The most requests, up to a number, that are counted exactly. Rules with larger ones are refused. */
function countableRequests({ terms, lengthS }: LimitWindow, asked: number): number {
  if (terms.algorithm === 'sliding_window') return Math.min(asked, GREATEST_SLIDING_LIMIT);
  if (terms.algorithm === 'fixed_window') return Math.min(asked, Math.floor(GREATEST_LIMIT / terms.scale));
  if (asked <= GREATEST_DRAIN) return asked;
  const windowMs = lengthS * SECOND_MS;
  const isExact = asked / greatestDivisor(windowMs, asked) <= GREATEST_DRAIN;
  return isExact ? asked : asked - (asked % windowMs);
}

/** The longest windows of a calendar in seconds, with the hour by which a day may be longer. */
const LONGEST_S = { day: 90_000, week: 608_400, month: 2_682_000, year: 31_626_000 } as const;

function longestWindowS({ terms, lengthS }: LimitWindow): number {
  return terms.calendar === null ? lengthS : LONGEST_S[terms.calendar.period];
}

function penaltyTerms(window: LimitWindow): PenaltyTerms | null {
  const { penalty } = window.terms;
  return penalty && { ...penalty, windowS: longestWindowS(window) };
}

function leaseTerms({ terms: { lease } }: LimitWindow): LeaseTerms | null {
  if (lease === null) return null;
  const { mode, forS, holder, estimate, settles, zeroHits, overdraft } = lease;
  return {
    mode: LEASE_MODE[mode],
    forS,
    hasHolders: holder !== '',
    estimate,
    settles,
    zeroSettles: zeroHits === 'settle',
    allowsOverdraft: overdraft === 'allow',
  };
}

/** `requests` tokens flow in every `windowMs`. A token and a millisecond are both a whole number of units. */
function bucketTerms(windowMs: number, requests: number, burst: number): AdmissionTerms {
  if (requests === 0)
    return { admission: ADMISSION.tokenBucket, scale: 1, capacity: 0, drain: 0, windowS: 0 };
  const common = greatestDivisor(windowMs, requests);
  const scale = windowMs / common;
  const capacity = Math.min(burst, Math.floor(GREATEST_LIMIT / scale)) * scale;
  return { admission: ADMISSION.tokenBucket, scale, capacity, drain: requests / common, windowS: 0 };
}

function greatestDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestDivisor(b, a % b);
}

/** The longest time for which a level matters: two windows, or the time in which an empty bucket becomes full. */
function lastingS({ windowS, capacity, drain }: AdmissionTerms): number {
  if (windowS > 0) return 2 * windowS;
  return drain === 0 ? 1 : Math.ceil(capacity / drain / SECOND_MS) + 1;
}

/** How long the current sliding window lasts. Not that of `LimitWindow`, which may have moved on while the store was asked. */
function windowLeftMs({ windowS }: AdmissionTerms, nowMs: number): number {
  const windowMs = windowS * SECOND_MS;
  // Not with `%`, which takes longer for doubles than everything else here.
  return windowMs - (nowMs - Math.floor(nowMs / windowMs) * windowMs);
}

/**
 * The hits of the previous window must weigh less first, or else those of the current one, as the previous one.
 * @param room the level at which the request fits
 */
function slidingWaitMs(
  terms: AdmissionTerms,
  { nowMs, level, floor, previous }: LimitState,
  room: number,
): number {
  const windowMs = terms.windowS * SECOND_MS;
  const leftMs = windowLeftMs(terms, nowMs);
  const current = level - floor;
  if (current <= room) {
    const waitMs = leftMs - restForWeight(previous, room - current, windowMs);
    // For a process whose clock is slightly behind, the window has not begun yet.
    return waitMs > 0 ? waitMs : waitMs + windowMs;
  }
  return leftMs + windowMs - restForWeight(current, room, windowMs);
}

import { SECOND_MS } from '../base/clock.ts';
import type { DescriptorEntry } from '../messages/client-codec.ts';
import { type LimitFacts, PrepaidLimit, type PrepaidWindow } from './prepaid-limit.ts';
import type { Subscriber, Usage } from './subscriber.ts';

/** Lengths of the intervals in which token buckets are filled, in seconds. */
const INTERVALS_S = [1, 2, 5, 10, 20, 30, 60] as const;

/** Tokens that all proxies together should get in an interval: fewer ones could not be divided well. */
const LEAST_TOKENS = 20;

/** Intervals that a window should have: what token buckets save up is a part of it that is lost to the others. */
const LEAST_INTERVALS = 10;

/** Grants last at least as long as this number of intervals between reports, so that a late report ends none. */
const REPORTS_OF_GRANT = 2.5;

/** Grants do not last longer than this number of windows, because each window is paid for by itself. */
const MOST_WINDOWS = 60;

/** How long grants last, and answers without a limit, unless the rule says it. */
export const DEFAULT_TTL_S = 10;

/** The longest that a grant lasts. */
const LONGEST_TTL_S = 300;

/** The part of the rate of a bucket that all its proxies get, whether they use it or not, so that each of them can start. */
const FLOOR = 0.05;

/** Levels fall all the time. */
const LEVEL_RETRY_MS = SECOND_MS;

/**
 * What a bucket answers: one answer for all requests if its rule says so, or if it has none; or its limits are divided
 * among the proxies.
 */
export type Verdict = 'allow_all' | 'deny_all' | 'divided';

/** A bucket of a domain: the proxies that have it, and its limits. */
export class QuotaBucket {
  /** Names the bucket among all others. */
  readonly name: string;
  readonly domain: string;
  /** Those of its id, sorted by key. */
  readonly entries: readonly DescriptorEntry[];
  readonly subscribers = new Set<Subscriber>();
  verdict: Verdict = 'allow_all';
  /** Whether the rule has limits that cannot be divided among proxies. */
  isUnserved = false;
  limits: readonly PrepaidLimit[] = [];
  /** How long grants of the bucket last, and the intervals in which their tokens are filled. */
  ttlS = 0;
  intervalS = 1;
  /** Requests per second that no proxy may exceed, and when it was last asked for; see `DemandBoard`. */
  cap = Number.POSITIVE_INFINITY;
  askedInterval = 0;
  /** When a proxy that got less than it wants can get more; infinite if there is none. */
  retryMs = Number.POSITIVE_INFINITY;

  constructor(name: string, domain: string, entries: readonly DescriptorEntry[]) {
    this.name = name;
    this.domain = domain;
    this.entries = entries;
  }

  /** Requests per second that all proxies together may be granted. */
  get rate(): number {
    return this.#rateAt(this.intervalS);
  }

  /** Tokens of a proxy that reports no requests. */
  get floor(): number {
    return Math.max(1, Math.floor((this.rate * this.intervalS * FLOOR) / Math.max(1, this.subscribers.size)));
  }

  /**
   * Sets what planning says of the limits at the present time. Counts what the proxies have reported as spent.
   *
   * @param grantS how long grants last, as the rule says it; the shortest of several
   */
  look(facts: readonly LimitFacts[], grantS: number, nowMs: number): void {
    if (facts.length !== this.limits.length) this.limits = facts.map(each => new PrepaidLimit(each));
    for (const [i, each] of facts.entries()) this.limits[i].facts = each;
    this.#setTimes(grantS);
    const windows = this.limits.map(limit => limit.window(limit.facts, nowMs));
    this.retryMs = Number.POSITIVE_INFINITY;
    for (const subscriber of this.subscribers) {
      for (const window of windows) window.spent += spentIn(window, subscriber, nowMs);
      subscriber.take();
    }
  }

  /** The proxy does not report any more. What it may still admit, or has not reported, counts as spent. */
  leave(subscriber: Subscriber, nowMs: number): void {
    this.subscribers.delete(subscriber);
    for (const { windows } of this.limits) {
      for (const window of windows)
        if (window.fromMs <= nowMs && nowMs < window.toMs) window.spent += spentIn(window, subscriber, nowMs);
    }
    subscriber.take();
    for (const { windows } of this.limits)
      for (const window of windows) window.spent += subscriber.most(window);
  }

  /** The reports since the last look, of all proxies. */
  get reported(): Usage {
    let allowed = 0;
    let denied = 0;
    for (const { reported } of this.subscribers) {
      allowed += reported.allowed;
      denied += reported.denied;
    }
    return { allowed, denied };
  }

  /** A proxy was denied everything. It can get something when the first of the present windows ends. */
  waitForRoom(nowMs: number): void {
    const ends = this.limits.map(({ facts, hasLevel }) => (hasLevel ? nowMs + LEVEL_RETRY_MS : facts.toMs));
    this.retryMs = Math.min(...ends);
  }

  /**
   * The intervals are the shortest in which the tokens can be divided. They stay the same for as long as the limits do,
   * because proxies may not notice that they change.
   */
  #setTimes(grantS: number): void {
    let betweenMs = 0;
    let shortestMs = Number.POSITIVE_INFINITY;
    for (const { intervalMs } of this.subscribers) betweenMs = Math.max(betweenMs, intervalMs);
    for (const { facts } of this.limits) shortestMs = Math.min(shortestMs, facts.lengthMs);
    const asked = Math.max(grantS, Math.ceil((betweenMs * REPORTS_OF_GRANT) / SECOND_MS));
    this.ttlS = Math.min(asked, LONGEST_TTL_S, (shortestMs * MOST_WINDOWS) / SECOND_MS);
    const longestS = Math.max(1, shortestMs / SECOND_MS / LEAST_INTERVALS);
    const fits = (intervalS: number) => this.#rateAt(intervalS) * intervalS >= LEAST_TOKENS;
    const possible = INTERVALS_S.filter(intervalS => intervalS <= longestS);
    this.intervalS = possible.find(fits) ?? possible.at(-1)!;
  }

  #rateAt(intervalS: number): number {
    let rate = Number.POSITIVE_INFINITY;
    for (const limit of this.limits) rate = Math.min(rate, limit.rate(this.ttlS, intervalS));
    return rate;
  }
}

/**
 * How many of the requests that a proxy reports it has admitted in the window of the present time, at most: those that no
 * grant explains, and those that its grants allowed in the window.
 */
function spentIn({ fromMs, reckoning }: PrepaidWindow, subscriber: Subscriber, nowMs: number): number {
  const { allowed } = subscriber.reported;
  if (allowed === 0) return 0;
  const all = subscriber.most({ fromMs: Number.NEGATIVE_INFINITY, toMs: nowMs, reckoning: 'all' });
  const explained = Math.min(allowed, all);
  return allowed - explained + Math.min(explained, subscriber.most({ fromMs, toMs: nowMs, reckoning }));
}

import { SECOND_MS } from '../base/clock.ts';
import type { RuleGeneration } from '../decision/statistics/rule-statistics.ts';
import type { DescriptorEntry } from '../messages/client-codec.ts';
import type { Grant } from './grant.ts';
import { type LimitFacts, PrepaidLimit, type PrepaidWindow } from './prepaid-limit.ts';
import type { Subscriber, Told, Usage } from './subscriber.ts';

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

/** The longest that a grant lasts. */
const LONGEST_TTL_S = 300;

/** The part of the rate of a bucket that all its proxies get, whether they use it or not, so that each of them can begin. */
const FLOOR = 0.05;

/** The part that proxies get until their second report, which says what they need: Envoy sends it after five seconds. */
const START = 0.25;

/** How long a proxy is new, so that the others leave it a part. */
const NEW_MS = 12 * SECOND_MS;

/** Levels fall all the time. */
const LEVEL_RETRY_MS = SECOND_MS;

/**
 * What a bucket answers: one answer for all requests if its rule says so, or if it has none; or its limits are divided
 * among the proxies.
 */
export type Verdict = 'allow_all' | 'deny_all' | 'divided';

/** A bucket as rules match it. */
export interface BucketRequests {
  readonly generation: RuleGeneration;
  /** The entries in the order in which the rules have their keys; sorted by key if there is no such order. */
  readonly descriptor: readonly DescriptorEntry[];
  /** The `RateLimitRequest`s that count hits of the bucket, and that give them back. */
  readonly asking: Uint8Array;
  readonly refunding: Uint8Array;
}

/** A bucket of a domain: the proxies that have it, and its limits. */
export class QuotaBucket {
  /** Names the bucket among all others. */
  readonly name: string;
  readonly domain: string;
  /** Those of its id, sorted by key. */
  readonly entries: readonly DescriptorEntry[];
  /** For the rules of the last round; see `requestsFor`. Null before. */
  requests: BucketRequests | null = null;
  readonly subscribers = new Set<Subscriber>();
  /** Those that wait for an assignment: they have reported, or can be granted something again. */
  readonly waiting = new Set<Subscriber>();
  verdict: Verdict = 'allow_all';
  /** Whether the rule has limits that cannot be divided among proxies. */
  isUnserved = false;
  limits: readonly PrepaidLimit[] = [];
  /** The number of the rules that the limits are from; 0 before. */
  rules = 0;
  /** How long grants of the bucket last, and the intervals in which their tokens are filled. */
  ttlS = 0;
  intervalS = 1;
  /** Requests per second that all proxies together may be granted. */
  rate = 0;
  /** Requests per second that no proxy may exceed, and when it was last asked for; see `DemandBoard`. */
  cap = Number.POSITIVE_INFINITY;
  askedInterval = 0;
  /** Requests per second that all proxies together get. */
  demand = 0;
  /** Until when a proxy is new. */
  newUntilMs = 0;
  /** When proxies that were denied everything can get something. Infinite if no proxy waits for that. */
  retryMs = Number.POSITIVE_INFINITY;
  #allowed = 0;
  #denied = 0;
  /** Requests that proxies have reported before they left, and that no grant explains. */
  #unexplained = 0;
  /** The longest time between two reports of a proxy. */
  #betweenMs = 0;

  constructor(name: string, domain: string, entries: readonly DescriptorEntry[]) {
    this.name = name;
    this.domain = domain;
    this.entries = entries;
  }

  /** The entries in the order in which the rules of the last round have their keys. */
  get descriptor(): readonly DescriptorEntry[] {
    return this.requests?.descriptor ?? this.entries;
  }

  /** Tokens of a proxy that reports no requests, and of one whose demand is not known. */
  floorOf({ usage }: Subscriber): number {
    const part = usage.intervalMs === 0 ? START : FLOOR;
    return Math.max(1, Math.floor((this.rate * this.intervalS * part) / this.subscribers.size));
  }

  /** A proxy has reported. */
  report(subscriber: Subscriber, allowed: number, denied: number, nowMs: number): void {
    this.demand -= subscriber.demand;
    subscriber.report(allowed, denied, nowMs);
    this.demand += subscriber.demand;
    this.#allowed += allowed;
    this.#denied += denied;
    if (!this.subscribers.has(subscriber)) this.newUntilMs = nowMs + NEW_MS;
    this.subscribers.add(subscriber);
    this.waiting.add(subscriber);
  }

  /** The reports since the last look, of all proxies, also of those that have gone. */
  get reported(): Usage {
    return { allowed: this.#allowed, denied: this.#denied };
  }

  /**
   * Sets the limits of other rules. What was paid stays known of those that count in the same counters.
   *
   * @param counters name the counters of the limits, see `counterOf`
   */
  use(rules: number, counters: readonly string[], facts: readonly LimitFacts[]): void {
    const before = [...this.limits];
    this.rules = rules;
    this.limits = counters.map((counter, i) => {
      const known = before.findIndex(limit => limit.counter === counter);
      return known < 0 ? new PrepaidLimit(counter, facts[i]) : before.splice(known, 1)[0];
    });
  }

  /**
   * Sets what planning says of the limits at the present time. Counts what proxies have reported as spent. Returns the
   * proxies that wait for an assignment; they do not wait any more.
   *
   * @param grantS how long grants last, as the rule says it; the shortest of several
   */
  look(facts: readonly LimitFacts[], grantS: number, nowMs: number): Subscriber[] {
    for (const [i, each] of facts.entries()) this.limits[i].facts = each;
    const windows = this.limits.map(limit => this.window(limit, limit.facts, nowMs));
    const waiting = [...this.waiting];
    this.waiting.clear();
    this.#allowed = 0;
    this.#denied = 0;
    if (this.retryMs <= nowMs) this.retryMs = Number.POSITIVE_INFINITY;
    for (const window of windows) window.spent += this.#unexplained;
    this.#unexplained = 0;
    for (const subscriber of waiting) this.#take(subscriber, windows, nowMs);
    for (const limit of this.limits) limit.forgive();
    this.#setTimes(grantS);
    return waiting;
  }

  /** The window of a limit with these bounds. */
  window(limit: PrepaidLimit, bounds: Pick<LimitFacts, 'fromMs' | 'toMs'>, nowMs: number): PrepaidWindow {
    return limit.window(bounds, nowMs, span => {
      let unreported = 0;
      for (const subscriber of this.subscribers) unreported += subscriber.most(span);
      return unreported;
    });
  }

  /** A proxy is sent an assignment. @param grants those that it may use from now on */
  tell(subscriber: Subscriber, told: Told, grants: readonly Grant[]): void {
    this.#change(subscriber, () => subscriber.tell(told, grants));
  }

  /** The proxy does not report any more. What it may still admit, or has not reported, counts as spent. */
  leave(subscriber: Subscriber, nowMs: number): void {
    const windows = this.limits.flatMap(limit => limit.windows);
    const present = windows.filter(({ fromMs, toMs }) => fromMs <= nowMs && nowMs < toMs);
    const explained = explainedOf(subscriber, nowMs);
    for (const window of present) window.spent += explainedIn(window, subscriber, explained, nowMs);
    this.#unexplained += subscriber.allowed - explained;
    this.demand -= subscriber.demand;
    this.#change(subscriber, () => subscriber.take());
    for (const window of windows) {
      const most = subscriber.most(window);
      window.unreported -= most;
      window.spent += most;
    }
    this.subscribers.delete(subscriber);
    this.waiting.delete(subscriber);
  }

  /** A proxy was denied everything. It can get something when the first of the present windows ends. */
  waitForRoom(nowMs: number): void {
    const ends = this.limits.map(({ facts, hasLevel }) => (hasLevel ? nowMs + LEVEL_RETRY_MS : facts.toMs));
    this.retryMs = Math.min(...ends);
  }

  /** Takes what a proxy has reported. @param windows those of the present time */
  #take(subscriber: Subscriber, windows: readonly PrepaidWindow[], nowMs: number): void {
    const explained = explainedOf(subscriber, nowMs);
    const unexplained = subscriber.allowed - explained;
    for (const window of windows)
      window.spent += unexplained + explainedIn(window, subscriber, explained, nowMs);
    this.#change(subscriber, () => subscriber.take());
    this.#betweenMs = Math.max(this.#betweenMs, subscriber.usage.intervalMs);
  }

  /** Changes what a proxy may admit. */
  #change(subscriber: Subscriber, change: () => void): void {
    for (const { windows } of this.limits)
      for (const window of windows) window.unreported -= subscriber.most(window);
    change();
    for (const { windows } of this.limits)
      for (const window of windows) window.unreported += subscriber.most(window);
  }

  /**
   * The intervals are the shortest in which the tokens can be divided. They stay the same for as long as the limits do,
   * because proxies may not notice that they change.
   */
  #setTimes(grantS: number): void {
    let shortestMs = Number.POSITIVE_INFINITY;
    for (const { facts } of this.limits) shortestMs = Math.min(shortestMs, facts.lengthMs);
    const asked = Math.max(grantS, Math.ceil((this.#betweenMs * REPORTS_OF_GRANT) / SECOND_MS));
    this.ttlS = Math.min(asked, LONGEST_TTL_S, (shortestMs * MOST_WINDOWS) / SECOND_MS);
    const longestS = Math.max(1, shortestMs / SECOND_MS / LEAST_INTERVALS);
    for (const intervalS of INTERVALS_S) {
      if (intervalS > longestS) return;
      this.intervalS = intervalS;
      this.rate = this.#rateAt(intervalS);
      if (this.rate * intervalS >= LEAST_TOKENS) return;
    }
  }

  #rateAt(intervalS: number): number {
    let rate = Number.POSITIVE_INFINITY;
    for (const limit of this.limits) rate = Math.min(rate, limit.rate(this.ttlS, intervalS));
    return rate;
  }
}

/** How many of the requests that a proxy reports its grants explain. It has admitted the others without one, at any time. */
function explainedOf(subscriber: Subscriber, nowMs: number): number {
  const { allowed } = subscriber;
  if (allowed === 0) return 0;
  return Math.min(
    allowed,
    subscriber.most({ fromMs: Number.NEGATIVE_INFINITY, toMs: nowMs, reckoning: 'all' }),
  );
}

/** How many of the requests that grants explain a proxy has admitted in a window of the present time, at most. */
function explainedIn(
  { fromMs, reckoning }: PrepaidWindow,
  subscriber: Subscriber,
  explained: number,
  nowMs: number,
): number {
  if (explained === 0) return 0;
  return Math.min(explained, subscriber.most({ fromMs, toMs: nowMs, reckoning }));
}

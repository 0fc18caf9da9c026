import { SECOND_MS } from '../base/clock.ts';
import { endAfter, ended, type Grant, isRenewable, newGrant, perToken, renewed } from './grant.ts';
import { type PrepaidWindow, ROUNDING, roomIn } from './prepaid-limit.ts';
import type { QuotaBucket } from './quota-bucket.ts';
import type { Subscriber } from './subscriber.ts';

/** Tokens for each request that a proxy gets: requests come in bursts. */
export const HEADROOM = 1.25;

/** A grant is kept while it has at least this number of tokens for each request of the proxy. */
const KEPT_FROM_DEMAND = 1.05;

/** A grant is also kept while it has at least this part of the most tokens that the proxy may have. */
const KEPT_FROM_CAP = 0.9;

/** A grant with more than this number of times the tokens that the proxy should get is replaced. */
const KEPT_UP_TO = 2;

/** The most tokens of a token bucket: `uint32`. */
const MOST_TOKENS = 0xffff_ffff;

/** A proxy keeps a grant that cannot be prolonged for as long as it lasts longer than this. */
const STILL_GOOD_MS = 3 * SECOND_MS;

/** What a proxy should get: more time for the grant that it has, or another grant. */
export interface Wish {
  readonly subscriber: Subscriber;
  readonly isRenewal: boolean;
  readonly tokens: number;
  /** The grants that the proxy would have. */
  readonly grants: readonly Grant[];
}

/** What a proxy gets: more time, another grant, nothing new, or no more requests. */
export type Allotted = 'renewed' | 'granted' | 'kept' | 'denied';

/** What a proxy should get by its demand. */
export function wishOf(bucket: QuotaBucket, subscriber: Subscriber, nowMs: number): Wish {
  const { intervalS, ttlS } = bucket;
  const cap = Math.max(1, Math.floor(Math.min(bucket.cap, bucket.rate) * intervalS));
  const ofDemand = (factor: number) => Math.ceil(subscriber.demand * intervalS * factor);
  const tokens = Math.min(Math.max(ofDemand(HEADROOM), bucket.floorOf(subscriber)), cap, MOST_TOKENS);
  const active = subscriber.activeAt(nowMs);
  const isRenewal =
    active !== null &&
    isRenewable(active, nowMs) &&
    active.intervalS === intervalS &&
    active.tokens >= Math.min(ofDemand(KEPT_FROM_DEMAND), cap * KEPT_FROM_CAP) &&
    active.tokens <= Math.min(cap, tokens * KEPT_UP_TO);
  if (!isRenewal) return grantOf(bucket, subscriber, tokens, nowMs);
  const grants = [...subscriber.grants.slice(0, -1), renewed(active, nowMs, ttlS)];
  return { subscriber, isRenewal, tokens: active.tokens, grants };
}

/** What a proxy has if it is sent a token bucket, or if it is denied everything because there are no tokens. */
function grantOf(
  { intervalS, ttlS }: QuotaBucket,
  subscriber: Subscriber,
  tokens: number,
  nowMs: number,
): Wish {
  const grants =
    tokens === 0
      ? ended(subscriber.grants, nowMs, ttlS)
      : [...subscriber.grants, newGrant(tokens, intervalS, nowMs, ttlS)];
  return { subscriber, isRenewal: false, tokens, grants };
}

/** The proxies of a bucket and its windows at a time, and what is paid in each window and not used by any grant. */
export class Allotment {
  readonly #bucket: QuotaBucket;
  readonly #nowMs: number;
  /** The windows of the limits that refuse requests. */
  readonly #windows: readonly PrepaidWindow[];
  /** By window. */
  readonly #room: number[];

  constructor(bucket: QuotaBucket, nowMs: number) {
    this.#bucket = bucket;
    this.#nowMs = nowMs;
    const windows: PrepaidWindow[] = [];
    for (const limit of bucket.limits) if (limit.refuses) windows.push(...limit.windows);
    this.#windows = windows;
    this.#room = windows.map(roomIn);
  }

  /**
   * Divides what is paid, by max-min fairness: those that want least are served first, and each of the others gets an equal
   * part of the rest, as far as it wants it. If hits are missing, those that want most come first, because what is missing
   * is taken from them. Calls `give` for each proxy.
   */
  divide(wishes: readonly Wish[], give: (allotted: Allotted, wish: Wish) => void): void {
    const isShort = this.#room.some(room => room < -ROUNDING);
    const inOrder = [...wishes];
    if (wishes.length > 1) inOrder.sort((one, other) => (isShort ? -1 : 1) * (one.tokens - other.tokens));
    for (let i = 0; i < inOrder.length; i++) {
      const wish = inOrder[i];
      const isStillGood = this.#isStillGood(wish.subscriber);
      if (wish.isRenewal && this.#isPaid(wish)) this.#give('renewed', wish, give);
      // Another grant would have to begin full.
      else if (wish.isRenewal && isStillGood) give('kept', wish);
      else {
        const tokens = this.#noticed(wish.subscriber, this.#tokensFor(wish, inOrder.length - i));
        const allotted = tokens > 0 ? 'granted' : isStillGood ? 'kept' : 'denied';
        if (allotted === 'kept') give('kept', wish);
        else this.#give(allotted, grantOf(this.#bucket, wish.subscriber, tokens, this.#nowMs), give);
      }
    }
  }

  #give(allotted: Allotted, wish: Wish, give: (allotted: Allotted, wish: Wish) => void): void {
    for (let w = 0; w < this.#windows.length; w++) this.#room[w] -= moreBy(wish, this.#windows[w]);
    give(allotted, wish);
  }

  /** Whether a renewal is paid in all windows that it reaches, also where it adds no whole fill. */
  #isPaid(wish: Wish): boolean {
    const renewedMs = wish.grants.at(-1)!.endMs;
    const endMs = wish.subscriber.grants.at(-1)!.endMs;
    return this.#windows.every((window, w) => {
      const isReached = window.fromMs < renewedMs && window.toMs > endMs;
      return !isReached || moreBy(wish, window) <= this.#room[w] + ROUNDING;
    });
  }

  /**
   * The tokens, or one fewer if the proxy would not notice another interval, because it compares only tokens. Denied
   * everything, it takes its next grant as a new one. A single token may stay in an interval that is too long.
   */
  #noticed(subscriber: Subscriber, tokens: number): number {
    const active = subscriber.activeAt(this.#nowMs);
    const { intervalS } = this.#bucket;
    if (active === null || active.tokens !== tokens || active.intervalS === intervalS) return tokens;
    return tokens > 1 || active.intervalS < intervalS ? tokens - 1 : tokens;
  }

  /** The tokens that a proxy gets at most, if it has to share with `others`, of which it is one. */
  #tokensFor({ subscriber, tokens }: Wish, others: number): number {
    let most = tokens;
    for (const [w, window] of this.#windows.entries()) {
      const room = this.#room[w];
      // What is missing has to come from this proxy as far as it can.
      most = Math.min(most, this.#fitting(subscriber, window, room > 0 ? room / others : room));
    }
    return Math.max(Math.floor(most + ROUNDING), 0);
  }

  /**
   * The tokens of another grant for a proxy with which it can admit `more` requests in a window. What it can admit rises
   * with the tokens: slower as long as they are fewer than those of the grant before, which counts until the other one has
   * arrived.
   */
  #fitting(subscriber: Subscriber, window: PrepaidWindow, more: number): number {
    const { ttlS, intervalS } = this.#bucket;
    const nowMs = this.#nowMs;
    const untilMs = Math.min(window.toMs, endAfter(nowMs, ttlS));
    const each = perToken(this.#bucket, Math.max(window.fromMs, nowMs), untilMs, window.reckoning);
    if (each === 0) return Number.POSITIVE_INFINITY;
    const before = subscriber.grants.at(-1)?.tokens ?? 0;
    const moreWith = (tokens: number) =>
      subscriber.most(window, [...subscriber.grants, newGrant(tokens, intervalS, nowMs, ttlS)]) -
      subscriber.most(window);
    const withSame = moreWith(before);
    if (withSame <= more + ROUNDING) return before + (more - withSame) / each;
    if (before === 0) return 0;
    const withNone = moreWith(0);
    // The window ends before another grant can arrive.
    if (withSame - withNone <= ROUNDING) return before;
    return (before * (more - withNone)) / (withSame - withNone);
  }

  #isStillGood(subscriber: Subscriber): boolean {
    const active = subscriber.activeAt(this.#nowMs);
    return active !== null && active.endMs - this.#nowMs >= STILL_GOOD_MS;
  }
}

/** How many more requests a proxy could admit in a window if its wish was fulfilled; less than 0 if fewer. */
export function moreBy({ subscriber, grants }: Wish, window: PrepaidWindow): number {
  return subscriber.most(window, grants) - subscriber.most(window);
}

import { SECOND_MS } from '../base/clock.ts';
import { DELAY_MS, type Span } from './grant.ts';

/**
 * In windows of at least this length, proxies never admit more than the limit. In shorter ones, what token buckets have
 * saved up would be most of the limit, so it is not paid for: the limit is one on the rate, and each proxy may admit two
 * fills of its token bucket beyond it: one that is saved up, and one that is just due.
 */
const EXACT_WINDOW_MS = 10 * SECOND_MS;

/** What planning says of a limit of a bucket at a time. */
export interface LimitFacts {
  /** Hits that a window, or the level of the limit, has room for. */
  readonly total: number;
  /** The part of them that grants may use. Infinite for a limit in shadow mode, which is counted and never refuses. */
  readonly grantable: number;
  /** The window of the time, `[fromMs, toMs)`; without bounds for a limit with a level. */
  readonly fromMs: number;
  readonly toMs: number;
  /** In how many milliseconds the limit has room for as much again. */
  readonly lengthMs: number;
}

/** Sums of fractions of tokens are exact to this. */
export const ROUNDING = 1e-6;

/** Hits in a window that are paid and that no grant needs; below 0 if hits are missing. */
export function roomIn({ paid, spent, unreported }: PrepaidWindow): number {
  return paid - spent - unreported;
}

/** A window of a limit, as this process has paid for requests in it. */
export interface PrepaidWindow extends Span {
  /** Hits that were counted for requests of proxies, and not given back. */
  paid: number;
  /** The most requests that proxies have admitted in the window, as far as they have reported them or have gone. */
  spent: number;
  /** The most requests that proxies have admitted in it, or will admit, without having reported them. */
  unreported: number;
  /** Hits that were counted although they did not fit, so nobody may use them. They are given back. */
  excess: number;
  /** Hits that grants may still use, when the store was asked last; NaN before. */
  left: number;
}

/**
 * One limit of a bucket, and what was paid for it. Fixed windows are paid for each by itself, also before they begin. A
 * limit with a level, such as a sliding window or a token bucket, is one window without an end.
 */
export class PrepaidLimit {
  /** Names its counters; see `counterOf`. */
  readonly counter: string;
  facts: LimitFacts;
  windows: PrepaidWindow[] = [];

  constructor(counter: string, facts: LimitFacts) {
    this.counter = counter;
    this.facts = facts;
  }

  get hasLevel(): boolean {
    return this.facts.toMs === Number.POSITIVE_INFINITY;
  }

  /** Whether requests are refused because of the limit. Others are counted only. */
  get refuses(): boolean {
    return this.facts.grantable < Number.POSITIVE_INFINITY;
  }

  /** Forgets what proxies have used of a level and what is not paid, as far as it is more than the whole limit. */
  forgive(): void {
    if (!this.hasLevel) return;
    for (const window of this.windows) window.spent = Math.min(window.spent, window.paid + this.facts.total);
  }

  /** Requests per second that all proxies together may be granted for a time: those that fill the limit in it. */
  rate(ttlS: number, intervalS: number): number {
    const { grantable, lengthMs } = this.facts;
    const grantMs = (ttlS + 2 * intervalS) * SECOND_MS + 2 * DELAY_MS;
    return (grantable * SECOND_MS) / Math.min(lengthMs, grantMs);
  }

  /**
   * The window with these bounds. Windows that have ended are forgotten.
   *
   * @param unreportedIn returns `unreported` of a window that is new
   */
  window(
    { fromMs, toMs }: Pick<LimitFacts, 'fromMs' | 'toMs'>,
    nowMs: number,
    unreportedIn: (span: Span) => number,
  ): PrepaidWindow {
    if (this.windows.some(window => window.toMs <= nowMs))
      this.windows = this.windows.filter(window => window.toMs > nowMs);
    const known = this.windows.find(window => window.fromMs === fromMs && window.toMs === toMs);
    if (known !== undefined) return known;
    const reckoning = toMs - fromMs >= EXACT_WINDOW_MS ? 'all' : 'flow';
    const unreported = unreportedIn({ fromMs, toMs, reckoning });
    const window: PrepaidWindow = {
      fromMs,
      toMs,
      reckoning,
      paid: 0,
      spent: 0,
      unreported,
      excess: 0,
      left: Number.NaN,
    };
    this.windows.push(window);
    return window;
  }
}

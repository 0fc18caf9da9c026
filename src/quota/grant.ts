import { SECOND_MS } from '../base/clock.ts';

/**
 * The time in milliseconds within which a message reaches a proxy, or comes from it, and takes effect there; together with
 * the difference between the clocks of instances. The bounds hold as far as this is true.
 */
export const DELAY_MS = 1_000;

/**
 * Which requests of a span are counted:
 *
 * - `all`: as many as the proxy can admit in the span, whatever it has done before
 * - `flow`: as many as its token bucket gets in the span, without those that it has saved up before
 */
type Reckoning = 'all' | 'flow';

/** Requests between two times, by the clock of this process, and which of them are counted. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
  readonly reckoning: Reckoning;
}

/**
 * A token bucket that a proxy was sent: it holds `tokens`, and gets as many in each interval. It may begin full. Proxies
 * fill it continuously, as Envoy does, or at once at the end of each interval.
 */
export interface Grant {
  readonly tokens: number;
  readonly intervalS: number;
  /** When it was sent, for the first time and for the last. The same assignment, sent again, only prolongs it. */
  readonly sentMs: number;
  readonly renewedMs: number;
  readonly ttlS: number;
  /** After this time it has ended at the proxy, if no other assignment has replaced it before. */
  readonly endMs: number;
}

/** A grant that is sent now. */
export function newGrant(tokens: number, intervalS: number, nowMs: number, ttlS: number): Grant {
  const endMs = endAfter(nowMs, ttlS);
  return { tokens, intervalS, sentMs: nowMs, renewedMs: nowMs, ttlS, endMs };
}

/** The grant, sent again. */
export function renewed(grant: Grant, nowMs: number, ttlS: number): Grant {
  return { ...grant, renewedMs: nowMs, ttlS, endMs: Math.max(grant.endMs, endAfter(nowMs, ttlS)) };
}

/** The grant at another time, if the clock was set in between. */
export function moved(grant: Grant, byMs: number): Grant {
  const { sentMs, renewedMs, endMs } = grant;
  return { ...grant, sentMs: sentMs + byMs, renewedMs: renewedMs + byMs, endMs: endMs + byMs };
}

/** Whether a grant that is sent again now reaches the proxy before it has ended there, so that it does not begin full. */
export function isRenewable({ renewedMs, ttlS }: Grant, nowMs: number): boolean {
  return nowMs + DELAY_MS <= renewedMs + ttlS * SECOND_MS;
}

/** The grants of a proxy that is sent an assignment without tokens now: one that denies or allows all requests. */
export function ended(grants: readonly Grant[], nowMs: number, ttlS: number): readonly Grant[] {
  const last = grants.at(-1);
  return last === undefined || last.tokens === 0
    ? grants
    : [...grants, newGrant(0, last.intervalS, nowMs, ttlS)];
}

/**
 * The grants that a proxy may still use when a report arrives, or may have used since. What was sent two delays ago has
 * arrived before the proxy sent the report, because the stream still works. Until then it may have got lost with the
 * stream, so that the proxy uses the grant before to its end.
 */
export function stillUsed(grants: readonly Grant[], arrivedMs: number): readonly Grant[] {
  const first = grants.findLastIndex(({ sentMs }) => sentMs + 2 * DELAY_MS <= arrivedMs);
  return grants.filter(({ endMs }, i) => i >= first && endMs > arrivedMs - DELAY_MS);
}

/** When a proxy has surely ended an assignment that was sent at a time. */
export function endAfter(sentMs: number, ttlS: number): number {
  return sentMs + ttlS * SECOND_MS + DELAY_MS;
}

/**
 * The most requests that a proxy admits in a span from grants that replace each other. A grant is in use until the next one
 * has arrived, or to its end if that gets lost with the stream.
 */
export function mostFrom(grants: readonly Grant[], span: Span): number {
  let most = 0;
  for (let i = 0; i < grants.length; i++) {
    const next = grants[i + 1];
    if (next === undefined) most += mostUntil(grants[i], span.toMs, span);
    else if (span.reckoning === 'flow')
      most += mostUntil(grants[i], next.sentMs, span) + mostBeyond(grants[i], next, next.sentMs, span);
    else {
      const replacedMs = next.sentMs + DELAY_MS;
      most += mostUntil(grants[i], replacedMs, span) + mostBeyond(grants[i], next, replacedMs, span);
    }
  }
  return most;
}

/** The most requests of a grant in the part of a span before a time. */
function mostUntil(grant: Grant, untilMs: number, { fromMs, toMs, reckoning }: Span): number {
  const beginMs = Math.max(fromMs, grant.sentMs);
  return grant.tokens * perToken(grant, beginMs, Math.min(toMs, grant.endMs, untilMs), reckoning);
}

/**
 * How many more requests a grant admits than the next one, if it is still in use after a time in a span.
 *
 * With `all`, if the next one arrives u after the time, the intervals of the grant until then are at most one more than
 * those that the next one has lost, unless these are as long as the delay that is counted for both.
 */
function mostBeyond(grant: Grant, next: Grant, afterMs: number, { fromMs, toMs, reckoning }: Span): number {
  const { tokens, intervalS } = grant;
  const beginMs = Math.max(fromMs, grant.sentMs, afterMs);
  const endMs = Math.min(toMs, grant.endMs);
  if (endMs <= beginMs) return 0;
  const isFollowed = next.intervalS === intervalS && next.endMs >= grant.endMs;
  const more = isFollowed ? Math.max(0, tokens - next.tokens) : tokens;
  const intervals = (endMs - beginMs) / (intervalS * SECOND_MS);
  if (reckoning === 'flow') return more * intervals;
  if (afterMs <= Math.max(fromMs, grant.sentMs)) return 2 * tokens + more * Math.floor(intervals);
  const whole = Math.ceil(intervals);
  return intervalS * SECOND_MS <= DELAY_MS ? more * whole : tokens + more * (whole - 1);
}

/**
 * The most requests in a span for each token of a grant. With `all`: one that is saved up, one for each interval in the
 * span, and one because the intervals may begin anywhere. A continuous fill gives no more.
 */
export function perToken(
  { intervalS }: Pick<Grant, 'intervalS'>,
  fromMs: number,
  toMs: number,
  reckoning: Reckoning,
): number {
  if (toMs <= fromMs) return 0;
  const intervals = (toMs - fromMs) / (intervalS * SECOND_MS);
  return reckoning === 'flow' ? intervals : 2 + Math.floor(intervals);
}

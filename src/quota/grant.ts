import { SECOND_MS } from '../base/clock.ts';

/**
 * The time in milliseconds within which a message reaches a proxy, or comes from it, and takes effect there. The bounds hold
 * as far as this is true.
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
  if (grants.length === 1 && grants[0].endMs > arrivedMs - DELAY_MS) return grants;
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
 *
 * @param sinceMs only requests from this time on
 */
export function mostFrom(
  grants: readonly Grant[],
  { fromMs, toMs, reckoning }: Span,
  sinceMs = Number.NEGATIVE_INFINITY,
): number {
  let most = 0;
  for (let i = 0; i < grants.length; i++) {
    const grant = grants[i];
    const next = grants[i + 1];
    const beginMs = Math.max(fromMs, sinceMs, grant.sentMs);
    const endMs = Math.min(toMs, grant.endMs);
    if (next === undefined) most += grant.tokens * perToken(grant, beginMs, endMs, reckoning);
    else if (reckoning === 'flow') {
      most += grant.tokens * perToken(grant, beginMs, Math.min(endMs, next.sentMs), 'flow');
      most += excess(grant, next) * perToken(grant, Math.max(beginMs, next.sentMs), endMs, 'flow');
    } else most += mostReplaced(grant, next, beginMs, endMs);
  }
  return most;
}

/** The tokens by which a grant exceeds the next one while either may be in use. */
function excess(grant: Grant, next: Grant): number {
  const isFollowed = next.intervalS === grant.intervalS && next.endMs >= grant.endMs;
  return isFollowed ? Math.max(0, grant.tokens - next.tokens) : grant.tokens;
}

/**
 * The most requests of a grant in a span that is a part of its time, beside those that are counted for the next one.
 *
 * Both count until the next one has surely arrived. If it gets lost, or arrives much later, the grant goes on instead: of
 * each interval from then on, the tokens by which it exceeds the next one count. It may have one interval more than the next
 * one loses by this, unless intervals are as short as the delay, which is counted for both.
 */
function mostReplaced(grant: Grant, next: Grant, beginMs: number, endMs: number): number {
  const { tokens, intervalS } = grant;
  const replacedMs = next.sentMs + DELAY_MS;
  const most = tokens * perToken(grant, beginMs, Math.min(endMs, replacedMs), 'all');
  const beyondMs = endMs - Math.max(beginMs, replacedMs);
  if (beyondMs <= 0) return most;
  const intervals = beyondMs / (intervalS * SECOND_MS);
  const more = excess(grant, next);
  if (replacedMs <= beginMs) return 2 * tokens + more * Math.floor(intervals);
  const whole = Math.ceil(intervals);
  return most + (intervalS * SECOND_MS <= DELAY_MS ? more * whole : tokens + more * (whole - 1));
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

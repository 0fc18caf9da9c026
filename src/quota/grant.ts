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
  /** After this time the proxy admits nothing more from it: it has ended there, or another assignment has replaced it. */
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

/** Whether a grant that is sent again now reaches the proxy before it has ended there, so that it does not begin full. */
export function isRenewable({ renewedMs, ttlS }: Grant, nowMs: number): boolean {
  return nowMs + DELAY_MS <= renewedMs + ttlS * SECOND_MS;
}

/** The grants of a proxy, if the last one ends at a time or before. */
export function cut(grants: readonly Grant[], endMs: number): Grant[] {
  const last = grants.at(-1);
  return last === undefined ? [] : [...grants.slice(0, -1), { ...last, endMs: Math.min(last.endMs, endMs) }];
}

/** When a proxy has surely ended an assignment that was sent at a time. */
export function endAfter(sentMs: number, ttlS: number): number {
  return sentMs + ttlS * SECOND_MS + DELAY_MS;
}

/**
 * The most requests that a proxy admits in a span from grants that follow each other. Until a grant has arrived, the one
 * before is in use: of a `flow`, the greater one counts for this time.
 */
export function mostFrom(grants: readonly Grant[], { fromMs, toMs, reckoning }: Span): number {
  let most = 0;
  for (let i = 0; i < grants.length; i++) {
    const grant = grants[i];
    const next = grants[i + 1];
    const beginMs = Math.max(fromMs, grant.sentMs);
    const endMs = Math.min(toMs, grant.endMs);
    if (reckoning === 'all' || next === undefined)
      most += grant.tokens * perToken(grant, beginMs, endMs, reckoning);
    else {
      most += grant.tokens * perToken(grant, beginMs, Math.min(endMs, next.sentMs), 'flow');
      const more = Math.max(0, grant.tokens - (next.tokens * grant.intervalS) / next.intervalS);
      most += more * perToken(grant, Math.max(fromMs, next.sentMs), endMs, 'flow');
    }
  }
  return most;
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

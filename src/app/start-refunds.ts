import { ByteWriter } from '../base/bytes.ts';
import { SECOND_MS } from '../base/clock.ts';
import { secondsUntilReset, windowLengthS } from '../counters/window.ts';
import { LimitWindow } from '../decision/limits/limit-window.ts';
import { RequestTable } from '../messages/request-table.ts';
import type { CompiledRules } from '../rules/compiled-rules.ts';
import { LIMIT } from '../rules/layout.ts';
import { Matcher } from '../rules/matching/matcher.ts';

/**
 * Hits are refunded only if the window lasts at least this much longer. Otherwise the refund could reach the store in
 * the next window, in which the hits were not counted.
 */
const LEAST_WINDOW_MS = 1_000;
/** Hits can be refunded to a token bucket at least this long. */
const LEAST_BUCKET_MS = 1_000;

/**
 * Finds out until when hits of task starts can be refunded. The answer of a decision does not tell it: its reset time is
 * that of one limit, and can be that of the next hit.
 *
 * - Fixed and sliding windows: as long as the window lasts in which the hits were counted. In the next one, the refund would
 *   take off hits of others.
 * - Token bucket: it has no windows, and a refund never fills it above its burst. Of a bucket that was full, others could have
 *   used the tokens that flowed in since, and a refund would let them in once more. These are at most one token, or the
 *   tokens of a second if this is longer.
 */
export class StartRefunds {
  readonly #rules: () => CompiledRules | null;
  readonly #table = new RequestTable();
  readonly #matcher = new Matcher();

  /** @param rules returns the rules that the decider uses; null before the first rules are loaded */
  constructor(rules: () => CompiledRules | null) {
    this.#rules = rules;
  }

  /**
   * Until when the hits of a request with one descriptor can be refunded to all limits of its rule, if they are counted
   * now. In milliseconds since the epoch; 0 if no rule limits the descriptor.
   */
  untilMs(request: Uint8Array, nowMs: number): number {
    const rules = this.#rules();
    if (rules === null) return 0;
    const table = this.#table;
    table.reset();
    table.add(request);
    const level = rules.domainLevel(table.bytes, table.domainStart[0], table.domainEnd[0]);
    const first = level < 0 ? -1 : this.#matcher.match(rules, level, table, 0, new ByteWriter());
    if (first < 0) return 0;
    const last = first + rules.limit(first, LIMIT.siblings);
    let untilMs = Number.POSITIVE_INFINITY;
    for (let limit = first; limit <= last; limit++) {
      untilMs = Math.min(untilMs, untilMsOf(rules, limit, nowMs));
    }
    return untilMs;
  }
}

function untilMsOf(rules: CompiledRules, limit: number, nowMs: number): number {
  const nowS = Math.floor(nowMs / SECOND_MS);
  const unit = rules.limit(limit, LIMIT.unit);
  const number = rules.limit(limit, LIMIT.terms) - 1;
  if (number < 0) return (nowS + secondsUntilReset(unit, nowS)) * SECOND_MS - LEAST_WINDOW_MS;
  const terms = rules.terms(number);
  if (terms.algorithm === 'token_bucket') {
    const tokenMs = (windowLengthS(unit) * terms.multiplier * SECOND_MS) / rules.requestsPerUnit(limit);
    return nowMs + Math.max(tokenMs, LEAST_BUCKET_MS);
  }
  const window = new LimitWindow(terms, unit);
  window.moveTo(nowS);
  return window.endS * SECOND_MS - LEAST_WINDOW_MS;
}

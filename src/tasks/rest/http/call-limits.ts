import type { Clock } from '../../../base/clock.ts';
import { asError } from '../../../base/fault.ts';
import type { Logger } from '../../../base/logger.ts';
import { Problem } from '../checks/problem.ts';
import type { RestRequest } from './http.ts';
import type { ApiCall, ApiLimits, ApiLimitVerdict } from './parts.ts';

/** One line in so long says that the engine cannot answer. */
const LOG_EVERY_MS = 10_000;

const NO_HEADERS: Readonly<Record<string, string>> = {};

/** Asks whether a call is within the limits, and puts the answer into header fields. */
export class CallLimits {
  readonly #limits: ApiLimits;
  readonly #clock: Clock;
  readonly #log: Logger;
  #loggedAt = Number.NEGATIVE_INFINITY;

  constructor(limits: ApiLimits, clock: Clock, log: Logger) {
    this.#limits = limits;
    this.#clock = clock;
    this.#log = log;
  }

  /**
   * Counts the call, unless it was counted before. One that the engine cannot decide about is let through.
   *
   * @param request where the call came from
   * @returns the fields that every answer of the call gets: `RateLimit` and `RateLimit-Policy`
   *   (draft-ietf-httpapi-ratelimit-headers), none where no rule applies
   * @throws Problem rate_limited
   */
  async count(call: ApiCall, request: RestRequest): Promise<Readonly<Record<string, string>>> {
    const verdict = await this.#ask(call, request);
    if (verdict === null) return NO_HEADERS;
    const { nearest, allowed } = verdict;
    const headers = nearest === null ? NO_HEADERS : limitHeaders(nearest);
    if (allowed) return headers;
    const waitSeconds = Math.max(1, nearest?.resetSeconds ?? 1);
    throw new Problem('rate_limited', `too many requests: ask again in ${waitSeconds} s`, {
      headers: { ...headers, 'Retry-After': String(waitSeconds) },
    });
  }

  async #ask(call: ApiCall, { askedLimit = null, headers }: RestRequest): Promise<ApiLimitVerdict | null> {
    try {
      if (askedLimit !== null && (askedLimit.user === null || askedLimit.user === call.user)) {
        return await askedLimit.get();
      }
      return await this.#limits.ask(call, headers.authorization ?? '');
    } catch (thrown) {
      const nowMs = this.#clock.nowMs();
      if (nowMs - this.#loggedAt >= LOG_EVERY_MS) {
        this.#loggedAt = nowMs;
        this.#log.warning(`tasks: calls are not limited for now: ${asError(thrown).message}`);
      }
      return null;
    }
  }
}

function limitHeaders({
  limit,
  remaining,
  windowSeconds,
  resetSeconds,
}: NonNullable<ApiLimitVerdict['nearest']>): Readonly<Record<string, string>> {
  return {
    'RateLimit-Policy': `"default";q=${limit};w=${windowSeconds}`,
    RateLimit: `"default";r=${remaining};t=${resetSeconds}`,
  };
}

import type { Clock } from '../../../base/clock.ts';
import { asError } from '../../../base/fault.ts';
import type { Logger } from '../../../base/logger.ts';
import { Problem } from '../checks/problem.ts';
import type { RestRequest } from './http.ts';
import type { ApiCall, ApiLimits, ApiLimitVerdict } from './parts.ts';

/** Minimum interval between log lines about failures of the decision engine. */
const LOG_EVERY_MS = 10_000;

const NO_HEADERS: Readonly<Record<string, string>> = {};

/** Checks calls against the API limits, and writes the verdict into header fields. */
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
   * Counts the call, unless it was counted before. If the decision engine fails, the call is allowed.
   *
   * @param request the request of the call
   * @returns the header fields for all responses to the call: `RateLimit` and `RateLimit-Policy`
   *   (draft-ietf-httpapi-ratelimit-headers); none if no rule applies
   * @throws Problem rate_limited
   */
  async count(call: ApiCall, request: RestRequest): Promise<Readonly<Record<string, string>>> {
    const verdict = await this.#ask(call, request);
    if (verdict === null) return NO_HEADERS;
    const { nearest, allowed } = verdict;
    const headers = nearest === null ? NO_HEADERS : limitHeaders(nearest);
    if (allowed) return headers;
    const waitSeconds = Math.max(1, nearest?.resetSeconds ?? 1);
    throw new Problem('rate_limited', `Too many requests. Retry in ${waitSeconds} s.`, {
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
        this.#log.warning('API limits are not enforced because the decision engine failed', {
          error: asError(thrown).message,
        });
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
  const window = windowSeconds === null ? '' : `;w=${windowSeconds}`;
  return {
    'RateLimit-Policy': `"default";q=${limit}${window}`,
    RateLimit: `"default";r=${remaining};t=${resetSeconds}`,
  };
}

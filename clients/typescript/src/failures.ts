import type { Problem } from './schemas.ts';

/** The service has answered with an error. `message` says what was wrong and what is accepted. */
export class SluiceProblem extends Error {
  readonly status: number;
  /** Such as `validation_failed`. The OpenAPI document lists all codes; empty if the answer is not one of Sluice. */
  readonly code: Problem['code'] | '';
  /** The fields that were wrong; empty for most codes. */
  readonly errors: NonNullable<Problem['errors']>;
  /** The id of the request, which the log of the service shows as well; empty if the answer has none. */
  readonly requestId: string;
  /** The delay of `Retry-After` in milliseconds; null without this header field. */
  readonly retryAfterMs: number | null;

  constructor(status: number, problem: Partial<Problem>, retryAfterMs: number | null) {
    super(problem.detail ?? problem.title ?? `The answer has status ${status} and is not one of Sluice.`);
    this.name = 'SluiceProblem';
    this.status = status;
    this.code = problem.code ?? '';
    this.errors = problem.errors ?? [];
    this.requestId = problem.instance ?? '';
    this.retryAfterMs = retryAfterMs;
  }
}

/** There was no answer: the connection failed, or the timeout of the attempt passed. `cause` has the reason. */
export class SluiceUnreachable extends Error {
  constructor(message: string, cause: unknown) {
    super(message, { cause });
    this.name = 'SluiceUnreachable';
  }
}

/**
 * The delay of a `Retry-After` header field in milliseconds: seconds or a date. Null if it is absent or malformed.
 *
 * @param nowMs the current time, to which a date is compared
 */
export function retryAfterMs(text: string | null, nowMs: number): number | null {
  if (text === null) return null;
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000;
  // `Date.parse` reads other texts as dates as well, such as "-1".
  const at = / GMT$/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? null : Math.max(0, at - nowMs);
}

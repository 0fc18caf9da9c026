import { asError, Fault } from '../../../base/fault.ts';
import type { Logger } from '../../../base/logger.ts';
import { PROBLEMS, Problem } from '../checks/problem.ts';
import type { RestResponse } from './http.ts';

/** On every answer. Answers hold tokens and the data of tenants: nobody in between keeps them. */
export const COMMON_HEADERS = {
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
} as const;

/** The answer that tells of a problem (RFC 9457). */
export function problemResponse(
  problem: Problem,
  requestId: string,
  further: Readonly<Record<string, string>> = {},
): RestResponse {
  const [status, title] = PROBLEMS[problem.code];
  const { errors, members, headers } = problem.extras;
  const body = {
    type: `/errors/${problem.code}`,
    title,
    status,
    code: problem.code,
    detail: problem.message,
    instance: requestId,
    ...(errors !== undefined && { errors }),
    ...members,
  };
  return {
    status,
    headers: {
      'Content-Type': 'application/problem+json',
      'X-Request-Id': requestId,
      ...COMMON_HEADERS,
      ...further,
      ...headers,
    },
    body: JSON.stringify(body),
  };
}

/** What is thrown while a request is handled, as a problem. Whatever is no fault of the caller goes to the log. */
export function problemOf(thrown: unknown, requestId: string, log: Logger): Problem {
  if (thrown instanceof Problem) return thrown;
  const error = asError(thrown);
  if (error instanceof Fault && (error.code === 'store_failed' || error.code === 'overloaded')) {
    // An outage has its own lines; here each request would be one.
    log.info('Task request failed because the task store is unavailable', {
      reason: error.message,
      request_id: requestId,
    });
    return new Problem(
      'store_unavailable',
      'the store does not answer: repeat the request, a POST with the same Idempotency-Key',
      { headers: { 'Retry-After': '1' } },
    );
  }
  log.error(`tasks: a request failed for a reason nobody foresaw: ${error.stack ?? error.message}`, {
    request_id: requestId,
  });
  return new Problem('internal', `internal error: the log of the service has its cause, under ${requestId}`);
}

import { asError, Fault } from '../../../base/fault.ts';
import type { Logger } from '../../../base/logger.ts';
import { PROBLEMS, Problem } from '../checks/problem.ts';
import type { ObjectSchema } from '../checks/schema.ts';
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

/** Why an item of a request was refused, as answers that tell of each item have it. */
export const ITEM_ERROR: ObjectSchema = {
  type: 'object',
  name: 'ItemError',
  optional: true,
  properties: {
    code: { type: 'string', enum: Object.keys(PROBLEMS) },
    title: { type: 'string' },
    detail: { type: 'string' },
    task_id: { type: 'string', optional: true, description: 'The task that has the key.' },
    limit: { type: 'string', optional: true },
    max: { type: 'number', optional: true },
    errors: {
      type: 'array',
      optional: true,
      items: {
        type: 'object',
        properties: {
          pointer: { type: 'string', optional: true, description: 'Below the item.' },
          parameter: { type: 'string', optional: true },
          code: { type: 'string' },
          detail: { type: 'string' },
        },
      },
    },
  },
};

/** What became of one item: a status as if it had been asked for alone, and the task or the reason. */
export interface ItemResult {
  readonly status: number;
  readonly task?: Record<string, unknown>;
  readonly error?: Record<string, unknown>;
}

export function refusedItem({ code, status, message, extras }: Problem): ItemResult {
  const { errors, members } = extras;
  const known = { code, title: PROBLEMS[code][1], detail: message };
  return { status, error: { ...known, ...members, ...(errors === undefined ? {} : { errors }) } };
}

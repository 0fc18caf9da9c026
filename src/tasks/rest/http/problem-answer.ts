import { asError, Fault } from '../../../base/fault.ts';
import type { Logger } from '../../../base/logger.ts';
import type { ObjectSchema } from '../../../base/schema/schema.ts';
import { Problem, retryLater } from '../checks/problem.ts';
import { PROBLEMS, problemType } from '../checks/problem-list.ts';
import type { RestResponse } from './http.ts';

/** Header fields of all responses. They contain tokens and data of tenants, so caches must not store them. */
export const COMMON_HEADERS = {
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
} as const;

/** The response for a problem (RFC 9457). */
export function problemResponse(
  problem: Problem,
  requestId: string,
  further: Readonly<Record<string, string>> = {},
): RestResponse {
  const { status, title } = PROBLEMS[problem.code];
  const { errors, members, headers } = problem.extras;
  const body = {
    type: problemType(problem.code),
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

/** Converts an error to a problem. Errors that the caller did not cause are logged. */
export function problemOf(thrown: unknown, requestId: string, log: Logger): Problem {
  if (thrown instanceof Problem) return thrown;
  const error = asError(thrown);
  if (error instanceof Fault && (error.code === 'store_failed' || error.code === 'overloaded')) {
    // The store logs outages itself. A warning for each request would flood the log.
    log.info('Task request failed because the task store is unavailable', {
      reason: error.message,
      request_id: requestId,
    });
    return retryLater(
      'store_unavailable',
      'The task store is unavailable. Retry the request; retry a POST with the same Idempotency-Key.',
    );
  }
  log.error('Unexpected error in a task request (this is a bug; please report it)', {
    request_id: requestId,
    stack: error.stack ?? error.message,
  });
  return new Problem(
    'internal',
    `Internal error. The log of the service has the cause, with the request id ${requestId}.`,
  );
}

/** Why an item of a request was rejected, in responses with a result for each item. */
export const ITEM_ERROR: ObjectSchema = {
  type: 'object',
  name: 'ItemError',
  optional: true,
  properties: {
    code: { type: 'string', enum: Object.keys(PROBLEMS) },
    title: { type: 'string' },
    detail: { type: 'string' },
    task_id: { type: 'string', optional: true, description: 'The open task that has the key.' },
    limit: { type: 'string', optional: true },
    max: { type: 'number', optional: true },
    errors: {
      type: 'array',
      optional: true,
      items: {
        type: 'object',
        properties: {
          pointer: { type: 'string', optional: true, description: 'Relative to the item.' },
          parameter: { type: 'string', optional: true },
          code: { type: 'string' },
          detail: { type: 'string' },
        },
      },
    },
  },
};

/** The result of an item: the status that a request for it alone would have, and the task or the error. */
export interface ItemResult {
  readonly status: number;
  readonly task?: Record<string, unknown>;
  readonly error?: Record<string, unknown>;
}

export function refusedItem({ code, status, message, extras }: Problem): ItemResult {
  const { errors, members } = extras;
  const known = { code, title: PROBLEMS[code].title, detail: message };
  return { status, error: { ...known, ...members, ...(errors === undefined ? {} : { errors }) } };
}

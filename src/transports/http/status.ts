import type { FaultCode } from '../../base/fault.ts';
import type { Answer } from './answer.ts';

/** Why a request got no decision or page: the causes of a {@link FaultCode}, and those that HTTP itself brings. */
export type ErrorCode =
  | FaultCode
  | 'not_found'
  | 'method_not_allowed'
  | 'conflict'
  | 'body_too_large'
  | 'stopping'
  | 'head_too_large'
  | 'method_unknown'
  | 'request_timeout'
  | 'expectation_failed'
  | 'version_not_supported';

/** The one place where causes become HTTP statuses (spec 7). */
const STATUSES: Readonly<Record<ErrorCode, string>> = {
  bad_request: '400 Bad Request',
  unparseable: '400 Bad Request',
  too_large: '413 Content Too Large',
  not_found: '404 Not Found',
  method_not_allowed: '405 Method Not Allowed',
  conflict: '409 Conflict',
  body_too_large: '413 Content Too Large',
  // Nobody hears it; no registered status says so.
  cancelled: '499 Client Closed Request',
  internal: '500 Internal Server Error',
  no_rules: '503 Service Unavailable',
  store_failed: '503 Service Unavailable',
  overloaded: '503 Service Unavailable',
  stopping: '503 Service Unavailable',
  head_too_large: '431 Request Header Fields Too Large',
  method_unknown: '501 Not Implemented',
  request_timeout: '408 Request Timeout',
  expectation_failed: '417 Expectation Failed',
  version_not_supported: '505 HTTP Version Not Supported',
};

/** A full queue empties within milliseconds; a second is the least that `Retry-After` can say (RFC 9110, 10.2.3). */
const RETRY_SOON = { 'Retry-After': '1' };

/** What an error body holds under `error`. */
export interface ErrorText {
  readonly code: ErrorCode;
  /** What was wrong, where, and what to do instead. */
  readonly message: string;
  /** The place in the caller's document, such as `descriptors[0].entries`. */
  readonly path?: string;
}

/** The answer to a request that failed: `{"error":{"code":…,"message":…,"path":…}}`. */
export function errorAnswer(error: ErrorText, headers?: Readonly<Record<string, string>>): Answer {
  return {
    status: STATUSES[error.code],
    contentType: 'application/json',
    headers: error.code === 'overloaded' ? { ...headers, ...RETRY_SOON } : (headers ?? {}),
    body: JSON.stringify({ error }),
  };
}

/** The answer to a connection above the limit, before the connection is closed. */
export const TOO_MANY_CONNECTIONS: Answer = errorAnswer({
  code: 'overloaded',
  message: 'too many connections are open: try again later, and use connections for more than one request',
});

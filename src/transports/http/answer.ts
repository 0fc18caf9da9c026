import type { FaultCode } from '../../base/fault.ts';

/** One HTTP answer but for its body. */
export interface AnswerHead {
  /** Code and reason, such as `200 OK`. */
  readonly status: string;
  /** Empty for an answer without a body. */
  readonly contentType: string;
  /** Further header fields. `Content-Length`, `Date` and `Connection` are added when it is written. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** One HTTP answer, complete. */
export interface Answer extends AnswerHead {
  /** Text goes out as UTF-8. Bytes need to stay valid only until the call that hands them over returns. */
  readonly body: string | Uint8Array;
  /** The bytes do not change any more, so a large body is sent without a copy. */
  readonly lasting?: true;
}

const PLAIN_TEXT = 'text/plain; charset=utf-8';

/** A page of plain text that is made while it is sent. */
export const TEXT_PAGE: AnswerHead = { status: '200 OK', contentType: PLAIN_TEXT };

/** A page of plain text. */
export function textAnswer(body: string, status = '200 OK'): Answer {
  return { status, contentType: PLAIN_TEXT, body };
}

/** Returns the body as bytes that do not change while they are sent. */
export function lastingBytes({ body, lasting }: Answer): Uint8Array {
  return lasting === true && typeof body !== 'string' ? body : Buffer.from(body);
}

/** Returns the bytes of an answer that closes the connection, for a request that Node.js could not parse. */
export function rawAnswer({ status, contentType, headers = {}, body }: Answer): string {
  const text = typeof body === 'string' ? body : Buffer.from(body).toString();
  const fields = Object.entries({
    'Content-Type': contentType,
    ...headers,
    Date: new Date().toUTCString(),
    Connection: 'close',
    'Content-Length': String(Buffer.byteLength(text)),
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status}\r\n${fields.join('')}\r\n${text}`;
}

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
  message: 'too many connections are open; retry later, and reuse connections',
});

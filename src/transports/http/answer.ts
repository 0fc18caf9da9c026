import type { FaultCode } from '../../base/fault.ts';

/** An HTTP answer without its body. */
export interface AnswerHead {
  /** Code and reason, such as `200 OK`. */
  readonly status: string;
  /** Empty for an answer without a body. */
  readonly contentType: string;
  /** Other header fields. `Content-Length`, `Date` and `Connection` are added when the answer is written. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A complete HTTP answer. */
export interface Answer extends AnswerHead {
  /** Text is sent as UTF-8. Bytes must stay valid only until the call that passes them on returns. */
  readonly body: string | Uint8Array;
  /** The bytes never change, so a large body can be sent without a copy. */
  readonly lasting?: true;
}

const PLAIN_TEXT = 'text/plain; charset=utf-8';

/** The head of a plain text page whose body is streamed. */
export const TEXT_PAGE: AnswerHead = { status: '200 OK', contentType: PLAIN_TEXT };

/** A page of plain text. */
export function textAnswer(body: string, status = '200 OK'): Answer {
  return { status, contentType: PLAIN_TEXT, body };
}

/** Returns the body as bytes that do not change while they are sent. */
export function lastingBytes({ body, lasting }: Answer): Uint8Array {
  return lasting === true && typeof body !== 'string' ? body : Buffer.from(body);
}

/** Returns the bytes of an answer that closes the connection, for cases in which the library writes no answer. */
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

/** Why a request failed: the codes of a {@link FaultCode}, and codes that exist only for HTTP. */
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
  | 'unknown_host'
  | 'version_not_supported';

/** HTTP statuses by error code (spec 7). */
const STATUSES: Readonly<Record<ErrorCode, string>> = {
  bad_request: '400 Bad Request',
  unparseable: '400 Bad Request',
  too_large: '413 Content Too Large',
  unimplemented: '501 Not Implemented',
  not_found: '404 Not Found',
  method_not_allowed: '405 Method Not Allowed',
  conflict: '409 Conflict',
  body_too_large: '413 Content Too Large',
  // The caller has disconnected, so nobody receives this status. No registered status describes the case.
  cancelled: '499 Client Closed Request',
  internal: '500 Internal Server Error',
  no_rules: '503 Service Unavailable',
  store_failed: '503 Service Unavailable',
  overloaded: '503 Service Unavailable',
  stopping: '503 Service Unavailable',
  head_too_large: '431 Request Header Fields Too Large',
  method_unknown: '501 Not Implemented',
  request_timeout: '408 Request Timeout',
  unknown_host: '421 Misdirected Request',
  expectation_failed: '417 Expectation Failed',
  version_not_supported: '505 HTTP Version Not Supported',
};

/** A full queue empties within milliseconds. One second is the minimum for `Retry-After` (RFC 9110, 10.2.3). */
const RETRY_SOON = { 'Retry-After': '1' };

/** The value of `error` in the body of an error answer. */
export interface ErrorText {
  readonly code: ErrorCode;
  /** The problem, its position, and what is accepted. */
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

/** A problem of RFC 9457 whose type is its status. @param status code and reason */
export function problemAnswer(status: string, detail: string): Answer {
  const problem = {
    type: 'about:blank',
    title: status.slice(4),
    status: Number.parseInt(status, 10),
    detail,
  };
  return { status, contentType: 'application/problem+json', body: JSON.stringify(problem) };
}

/** The answer to a connection above the limit, before the connection is closed. */
export const TOO_MANY_CONNECTIONS: Answer = errorAnswer({
  code: 'overloaded',
  message: 'too many connections are open; retry later, and reuse connections',
});

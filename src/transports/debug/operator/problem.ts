import { asError, Fault, StacklessError } from '../../../base/fault.ts';
import type { Logger } from '../../../base/logger.ts';
import type { ProblemPart } from '../../../base/schema/problem-part.ts';
import type { Answer } from '../../http/answer.ts';

/** All problem codes of the operator's API, with their HTTP status and title (RFC 9457). */
export const OPERATOR_PROBLEMS = {
  invalid_json: ['400 Bad Request', 'The body is not valid JSON'],
  invalid_parameter: ['400 Bad Request', 'Invalid parameter'],
  authentication_required: ['401 Unauthorized', 'Authentication required'],
  invalid_token: ['401 Unauthorized', 'Invalid token'],
  changes_disabled: ['403 Forbidden', 'Changes are disabled'],
  cross_origin: ['403 Forbidden', 'Requests of other web sites are refused'],
  not_found: ['404 Not Found', 'Not found'],
  method_not_allowed: ['405 Method Not Allowed', 'Method not allowed'],
  conflict: ['409 Conflict', 'Conflict'],
  body_too_large: ['413 Content Too Large', 'The body is too large'],
  unsupported_media_type: ['415 Unsupported Media Type', 'The body must be JSON'],
  unknown_host: ['421 Misdirected Request', 'Unknown host name'],
  validation_failed: ['422 Unprocessable Content', 'Invalid field'],
  rate_limited: ['429 Too Many Requests', 'Too many wrong tokens'],
  internal: ['500 Internal Server Error', 'Internal error'],
  tasks_disabled: ['501 Not Implemented', 'The process does not serve tasks'],
  not_supported: ['501 Not Implemented', 'Not supported by the counter store'],
  store_unavailable: ['503 Service Unavailable', 'The store is unavailable'],
  no_rules: ['503 Service Unavailable', 'No rules are loaded'],
  overloaded: ['503 Service Unavailable', 'Too many requests in progress'],
} as const satisfies Record<string, readonly [string, string]>;

export type OperatorProblemCode = keyof typeof OPERATOR_PROBLEMS;

interface Extras {
  readonly errors?: readonly ProblemPart[];
  readonly headers?: Readonly<Record<string, string>>;
}

/** An error for the caller of the operator's API. It becomes an `application/problem+json` answer. */
export class OperatorProblem extends StacklessError {
  readonly code: OperatorProblemCode;
  readonly extras: Extras;

  /** @param detail what is wrong, where, and what is accepted; never contains a token */
  constructor(code: OperatorProblemCode, detail: string, extras: Extras = {}) {
    super(detail);
    this.name = 'OperatorProblem';
    this.code = code;
    this.extras = extras;
  }
}

/** Header fields of all answers of the API. */
export const API_HEADERS = { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' } as const;

/** The answer for a problem. */
export function problemAnswer({ code, message, extras }: OperatorProblem): Answer {
  const [status, title] = OPERATOR_PROBLEMS[code];
  const number = Number.parseInt(status, 10);
  const { errors, headers } = extras;
  return {
    status,
    contentType: 'application/problem+json',
    headers: { ...API_HEADERS, ...headers },
    body: JSON.stringify({
      type: 'about:blank',
      title,
      status: number,
      code,
      detail: message,
      ...(errors !== undefined && { errors }),
    }),
  };
}

/** Converts what a handler threw. Errors that neither the caller nor the store caused are logged. */
export function problemOf(thrown: unknown, log: Logger): OperatorProblem {
  if (thrown instanceof OperatorProblem) return thrown;
  if (thrown instanceof Fault) {
    const code = BY_FAULT[thrown.code];
    if (code !== 'internal') {
      const headers = code === 'overloaded' ? { 'Retry-After': '1' } : {};
      return new OperatorProblem(code, thrown.message, { headers });
    }
  }
  const error = asError(thrown);
  log.error("Unexpected error in the operator's API (this is a bug; please report it)", {
    stack: error.stack ?? error.message,
  });
  return new OperatorProblem('internal', 'Internal error. The log of the service has the cause.');
}

const BY_FAULT: Readonly<Record<Fault['code'], OperatorProblemCode>> = {
  bad_request: 'validation_failed',
  unparseable: 'validation_failed',
  too_large: 'body_too_large',
  unimplemented: 'validation_failed',
  no_rules: 'no_rules',
  store_failed: 'store_unavailable',
  overloaded: 'overloaded',
  cancelled: 'overloaded',
  internal: 'internal',
};

/**
 * Every code that an error answer can have, and its status and title (RFC 9457; specification 3.11). The table is
 * closed: clients may rely on it.
 */
export const PROBLEMS = {
  chunks_too_small: [400, 'The chunks of the body are too small'],
  invalid_json: [400, 'The body is not JSON'],
  invalid_parameter: [400, 'A parameter is not valid'],
  invalid_cursor: [400, 'The cursor is not valid'],
  invalid_status: [400, 'There is no such status'],
  conflicting_fields: [400, 'Fields exclude each other'],
  invalid_time_range: [400, 'The time range is not valid'],
  authentication_required: [401, 'A token is required'],
  invalid_token: [401, 'The token is not valid'],
  token_expired: [401, 'The token has expired'],
  insufficient_role: [403, 'The role does not allow it'],
  insufficient_scope: [403, 'The token does not allow it'],
  tenant_suspended: [403, 'The account is suspended'],
  payload_hidden: [403, 'Payloads are not visible to this caller'],
  not_found: [404, 'There is no such thing'],
  tenant_not_found: [404, 'There is no such tenant'],
  method_not_allowed: [405, 'The path has no such method'],
  not_acceptable: [406, 'No acceptable representation'],
  domain_taken: [409, 'The domain is taken'],
  name_taken: [409, 'The name is taken'],
  task_key_exists: [409, 'A live task has this key'],
  idempotency_in_progress: [409, 'The first request with this key is still running'],
  task_running: [409, 'The task is running'],
  invalid_transition: [409, 'The status does not allow it'],
  lease_lost: [409, 'The lease is lost'],
  worker_has_tasks: [409, 'The worker has tasks'],
  worker_in_use: [409, 'Another worker names the worker'],
  worker_mode_mismatch: [409, 'The worker has another mode'],
  secrets_unreadable: [409, 'A secret of the worker cannot be decrypted'],
  last_owner: [409, 'The last owner cannot go'],
  last_owner_token: [409, 'The last token of an owner cannot go'],
  version_mismatch: [412, 'The version has changed'],
  payload_too_large: [413, 'The payload is too large'],
  body_too_large: [413, 'The body is too large'],
  batch_too_large: [413, 'The batch is too large'],
  unsupported_media_type: [415, 'The body has to be JSON'],
  validation_failed: [422, 'A field is not valid'],
  unknown_field: [422, 'There is no such field'],
  invalid_cron: [422, 'The cron expression is not valid'],
  invalid_timezone: [422, 'There is no such time zone'],
  invalid_url: [422, 'The URL is not valid'],
  forbidden_address: [422, 'The address is not allowed'],
  idempotency_key_reused: [422, 'The idempotency key was used for another request'],
  invalid_domain: [422, 'The domain is not valid'],
  rate_limited: [429, 'Too many requests'],
  quota_exceeded: [429, 'A quota is used up'],
  internal: [500, 'Internal error'],
  store_unavailable: [503, 'The store does not answer'],
  identity_unavailable: [503, 'The identity provider does not answer'],
  overloaded: [503, 'Too many requests wait'],
  interrupted: [503, 'The request was interrupted'],
  shutting_down: [503, 'The service is stopping'],
} as const satisfies Record<string, readonly [number, string]>;

export type ProblemCode = keyof typeof PROBLEMS;

/** One field or parameter that is at fault. */
export interface ProblemPart {
  /** A JSON pointer into the body, such as `/retry/max_attempts`. */
  readonly pointer?: string;
  /** Or the name of a query parameter or header field. */
  readonly parameter?: string;
  readonly code: string;
  readonly detail: string;
}

interface ProblemExtras {
  readonly errors?: readonly ProblemPart[];
  /** Further members of the answer, in snake case. */
  readonly members?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Thrown by whatever handles a request; becomes an `application/problem+json` answer. */
export class Problem extends Error {
  readonly code: ProblemCode;
  readonly extras: ProblemExtras;

  /** @param detail what was wrong, where, and what to do; never a secret or a payload */
  constructor(code: ProblemCode, detail: string, extras: ProblemExtras = {}) {
    super(detail);
    this.name = 'Problem';
    this.code = code;
    this.extras = extras;
  }

  get status(): number {
    return PROBLEMS[this.code][0];
  }
}

/** A query parameter or header field that is not valid. */
export function invalidParameter(parameter: string, detail: string): Problem {
  return new Problem('invalid_parameter', detail, {
    errors: [{ parameter, code: 'invalid_parameter', detail }],
  });
}

/** Maximum number of characters of a name in a pointer; the caller may have made it up. */
const MAX_NAME_LENGTH = 64;

/** One step of a JSON pointer (RFC 6901), shortened if it is long. */
export function pointerPart(name: string): string {
  const short = name.length > MAX_NAME_LENGTH ? `${name.slice(0, MAX_NAME_LENGTH)}…` : name;
  return short.replaceAll('~', '~0').replaceAll('/', '~1');
}

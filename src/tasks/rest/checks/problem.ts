import type { ProblemPart } from '../../../base/schema/problem-part.ts';

/**
 * All problem codes with their HTTP status and title (RFC 9457; specification 3.11). Clients may rely on this list being
 * complete.
 */
export const PROBLEMS = {
  chunks_too_small: [400, 'The chunks of the body are too small'],
  invalid_json: [400, 'The body is not valid JSON'],
  invalid_parameter: [400, 'Invalid parameter'],
  invalid_cursor: [400, 'Invalid cursor'],
  invalid_status: [400, 'Unknown status'],
  conflicting_fields: [400, 'Conflicting fields'],
  invalid_time_range: [400, 'Invalid time range'],
  authentication_required: [401, 'Authentication required'],
  invalid_token: [401, 'Invalid token'],
  token_expired: [401, 'Expired token'],
  insufficient_role: [403, 'Insufficient role'],
  insufficient_scope: [403, 'Insufficient scope'],
  tenant_suspended: [403, 'The account is suspended'],
  payload_hidden: [403, 'Payloads are not visible to this caller'],
  not_found: [404, 'Not found'],
  tenant_not_found: [404, 'Unknown tenant'],
  method_not_allowed: [405, 'Method not allowed'],
  not_acceptable: [406, 'Not acceptable'],
  domain_taken: [409, 'The domain is taken'],
  name_taken: [409, 'The name is taken'],
  task_key_exists: [409, 'An open task has this key'],
  idempotency_in_progress: [409, 'A request with this idempotency key is in progress'],
  task_running: [409, 'The task is running'],
  invalid_transition: [409, 'The status does not allow the change'],
  lease_lost: [409, 'The lease is no longer active'],
  worker_has_tasks: [409, 'The worker has open tasks'],
  worker_in_use: [409, 'Another worker refers to this worker'],
  worker_mode_mismatch: [409, 'The mode of the worker does not allow the request'],
  secrets_unreadable: [409, 'A secret of the worker cannot be decrypted'],
  last_owner: [409, 'The last owner cannot be removed'],
  last_owner_token: [409, 'The last token of an owner cannot be deleted'],
  version_mismatch: [412, 'The version has changed'],
  payload_too_large: [413, 'The payload is too large'],
  body_too_large: [413, 'The body is too large'],
  batch_too_large: [413, 'The batch is too large'],
  unsupported_media_type: [415, 'The body must be JSON'],
  validation_failed: [422, 'Invalid field'],
  unknown_field: [422, 'Unknown field'],
  invalid_cron: [422, 'Invalid cron expression'],
  invalid_timezone: [422, 'Unknown time zone'],
  invalid_url: [422, 'Invalid URL'],
  forbidden_address: [422, 'The address is not allowed'],
  idempotency_key_reused: [422, 'The idempotency key was used for a different request'],
  invalid_domain: [422, 'Invalid domain'],
  rate_limited: [429, 'Too many requests'],
  quota_exceeded: [429, 'Quota exceeded'],
  internal: [500, 'Internal error'],
  store_unavailable: [503, 'The task store is unavailable'],
  wrong_master_key: [503, 'The instance has a wrong master key'],
  identity_unavailable: [503, 'The identity provider is unavailable'],
  overloaded: [503, 'Too many waiting requests'],
  interrupted: [503, 'The request was interrupted'],
  shutting_down: [503, 'The service is shutting down'],
} as const satisfies Record<string, readonly [number, string]>;

export type ProblemCode = keyof typeof PROBLEMS;

interface ProblemExtras {
  readonly errors?: readonly ProblemPart[];
  /** Further members of the response, in snake case. */
  readonly members?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An error for the caller. It becomes an `application/problem+json` response. */
export class Problem extends Error {
  readonly code: ProblemCode;
  readonly extras: ProblemExtras;

  /** @param detail what is wrong, where, and what is accepted; never contains a secret or a payload */
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

/**
 * A problem about one field or parameter.
 *
 * @param partCode the code of the entry in `errors`, if it differs from that of the problem
 */
export function problemAt(
  where: { readonly pointer: string } | { readonly parameter: string },
  code: ProblemCode,
  detail: string,
  partCode: string = code,
): Problem {
  return new Problem(code, detail, { errors: [{ ...where, code: partCode, detail }] });
}

/** The response to an invalid query parameter or header field. */
export function invalidParameter(parameter: string, detail: string): Problem {
  return problemAt({ parameter }, 'invalid_parameter', detail);
}

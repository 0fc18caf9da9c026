/** A kind of problem that the API answers (RFC 9457). */
interface ProblemDescription {
  /** The HTTP status. */
  readonly status: number;
  readonly title: string;
  /** What has happened, in sentences. */
  readonly meaning: string;
  /** What the caller can do about it, in sentences. */
  readonly remedy: string;
}

/**
 * All problems by code (specification 3.11). Clients may rely on this list being complete. The responses, the OpenAPI
 * document and the pages that explain the codes are made from it.
 */
export const PROBLEMS = {
  chunks_too_small: {
    status: 400,
    title: 'The chunks of the body are too small',
    meaning:
      'The body was sent with `Transfer-Encoding: chunked`, in very many tiny chunks. Each chunk costs work, so the service closes the connection.',
    remedy: 'Send the body with a `Content-Length`, or in chunks of at least the size that `detail` names.',
  },
  invalid_json: {
    status: 400,
    title: 'The body is not valid JSON',
    meaning:
      'The body is empty, cannot be parsed as JSON in UTF-8, has the same name twice in an object, or is nested more than 64 levels deep.',
    remedy: 'Read `detail`, which names the place. Let a JSON library write the body.',
  },
  invalid_parameter: {
    status: 400,
    title: 'Invalid parameter',
    meaning:
      'A query parameter or a header field is unknown, is repeated, or has a value that is not accepted.',
    remedy: 'Read `errors`: `parameter` names the parameter, and `detail` says what is accepted.',
  },
  invalid_cursor: {
    status: 400,
    title: 'Invalid cursor',
    meaning:
      'The cursor does not belong to this list, or the filters or the order have changed since the page that returned it.',
    remedy:
      'Send a cursor only with the same path, filters and order. To use other filters, start again without a cursor.',
  },
  invalid_status: {
    status: 400,
    title: 'Unknown status',
    meaning: 'The filter `status` contains a word that is not the status of a task.',
    remedy: 'Use statuses that `detail` lists, separated by commas.',
  },
  conflicting_fields: {
    status: 400,
    title: 'Conflicting fields',
    meaning: 'The body has two fields that exclude each other, such as `run_at` and `delay`.',
    remedy: 'Send only one of the fields that `errors` names.',
  },
  invalid_time_range: {
    status: 400,
    title: 'Invalid time range',
    meaning: '`start` or `end` is not a time that the service understands, or `start` is later than `end`.',
    remedy:
      'Use an RFC 3339 time, a date (`2026-03-01`), a month (`2026-03`), a year, or a relative time such as `-24h`.',
  },
  authentication_required: {
    status: 401,
    title: 'Authentication required',
    meaning: 'The request has no `Authorization` header, or one that is not a bearer token.',
    remedy: 'Send `Authorization: Bearer tk_…` with a token of a user of this account.',
  },
  invalid_token: {
    status: 401,
    title: 'Invalid token',
    meaning:
      'The token is malformed, was deleted, belongs to another account or to a disabled user, or has a wrong signature.',
    remedy:
      'Check that the whole token was copied and that the request goes to the address of its account. Otherwise, create another token.',
  },
  token_expired: {
    status: 401,
    title: 'Expired token',
    meaning: 'The token was valid until the time in its `expires_at`, which has passed.',
    remedy:
      'Create another token, and replace the old one where it is used. Owners and admins can do this in the console.',
  },
  insufficient_role: {
    status: 403,
    title: 'Insufficient role',
    meaning:
      'The role of the user does not allow this operation. The description of each operation names the lowest role.',
    remedy:
      'Use a token of a user with the role that `detail` names, or ask an owner or admin to change the role.',
  },
  insufficient_scope: {
    status: 403,
    title: 'Insufficient scope',
    meaning:
      'The token is restricted to some scopes, or is the token of a pull worker, and does not cover this operation.',
    remedy:
      'Use a token with the scope that `detail` names, or a token without scopes. Scopes of a token never change.',
  },
  tenant_suspended: {
    status: 403,
    title: 'The account is suspended',
    meaning:
      'The operator of the service has suspended the account. It can be read but not changed, and no task starts.',
    remedy: 'Contact the operator of the service.',
  },
  payload_hidden: {
    status: 403,
    title: 'Payloads are not visible to this caller',
    meaning: 'The request asks for payloads, headers and results of tasks, which this caller may not see.',
    remedy:
      'Leave out `include=payload`, or use a token of a member, admin or owner; if the token has scopes, with `tasks:payload`.',
  },
  not_found: {
    status: 404,
    title: 'Not found',
    meaning:
      'There is no resource with this id or name in the account, or no such path. Finished tasks are deleted when their retention ends, and resources of other accounts are answered like missing ones.',
    remedy: 'Check the path, the id and the account of the token. `GET` of the list shows what exists.',
  },
  tenant_not_found: {
    status: 404,
    title: 'Unknown tenant',
    meaning: 'Neither the host of the request nor its token names an existing account.',
    remedy:
      'Send the request to the address of the account (`api_url` in the response that created it), or with a valid token.',
  },
  method_not_allowed: {
    status: 405,
    title: 'Method not allowed',
    meaning: 'The path exists, but not with this method.',
    remedy: 'Use one of the methods in the header `Allow`.',
  },
  not_acceptable: {
    status: 406,
    title: 'Not acceptable',
    meaning: 'The header `Accept` excludes JSON, and all responses are JSON.',
    remedy: 'Send `Accept: application/json`, or leave the header out.',
  },
  domain_taken: {
    status: 409,
    title: 'The domain is taken',
    meaning: 'Another account has this domain, or had it until less than 30 days ago.',
    remedy: 'Choose another domain.',
  },
  name_taken: {
    status: 409,
    title: 'The name is taken',
    meaning:
      'Another resource of the account has this name, or another user has this email address or external id.',
    remedy: 'Choose another name, or change the existing resource.',
  },
  task_key_exists: {
    status: 409,
    title: 'An open task has this key',
    meaning:
      'The worker already has an open task with this `key`, and `on_conflict` is `reject`. `task_id` names that task.',
    remedy: 'Wait until it finishes, or set `on_conflict` to `return` or `replace`.',
  },
  idempotency_in_progress: {
    status: 409,
    title: 'A request with this idempotency key is in progress',
    meaning: 'An earlier request with the same `Idempotency-Key` has not been answered yet.',
    remedy:
      'Repeat the request with the same key after a second. It then gets the response to the earlier request.',
  },
  task_running: {
    status: 409,
    title: 'The task is running',
    meaning: 'The change is not possible while an attempt of the task is in progress.',
    remedy:
      'Wait until the attempt has ended. To delete the task regardless, use `force=true`, or cancel it first.',
  },
  invalid_transition: {
    status: 409,
    title: 'The status does not allow the change',
    meaning:
      'The status of the task or account does not allow this action; for example, a finished task cannot be paused.',
    remedy:
      'Read the resource. `detail` names the status, and the action that is possible instead if there is one.',
  },
  lease_lost: {
    status: 409,
    title: 'The lease is no longer active',
    meaning:
      'The lease has expired, was settled with another outcome, or belongs to another worker. The task may already be running elsewhere.',
    remedy:
      'Stop working on the task; its result is not recorded. If this happens often, send heartbeats earlier or ask for longer leases.',
  },
  worker_has_tasks: {
    status: 409,
    title: 'The worker has open tasks',
    meaning: 'The worker cannot be deleted, renamed or changed to another mode because of its tasks.',
    remedy: 'Wait until the tasks finish, or delete the worker with `cancel_tasks=true`, which cancels them.',
  },
  worker_in_use: {
    status: 409,
    title: 'Another worker refers to this worker',
    meaning: 'Another worker names this one in `on_finish`. `worker` contains its name.',
    remedy: 'Change `on_finish` of the other worker first.',
  },
  worker_mode_mismatch: {
    status: 409,
    title: 'The mode of the worker does not allow the request',
    meaning: 'Only tasks of pull workers can be leased, and only push workers can be tested.',
    remedy: 'Use another worker, or change the `mode` of this one while none of its tasks is running.',
  },
  secrets_unreadable: {
    status: 409,
    title: 'A secret of the worker cannot be decrypted',
    meaning: 'The service no longer has the master key with which a secret of the worker was encrypted.',
    remedy:
      'Create the secret again with the same type and name. If several workers are affected, the operator should restore the earlier key in `SECRETS_PREVIOUS_MASTER_KEYS`.',
  },
  last_owner: {
    status: 409,
    title: 'The last owner cannot be removed',
    meaning: 'The account would have no active owner after this change.',
    remedy: 'Make another user an owner first.',
  },
  last_owner_token: {
    status: 409,
    title: 'The last token of an owner cannot be deleted',
    meaning: 'Without this token, no owner could sign in to the account anymore.',
    remedy: 'Create another token for an owner first.',
  },
  version_mismatch: {
    status: 412,
    title: 'The version has changed',
    meaning:
      'The resource has another version than `If-Match` names, because somebody has changed it in the meantime, or several requests change it at the same time.',
    remedy:
      'Read the resource again, apply your change to what it says now, and send it with the new `ETag`.',
  },
  payload_too_large: {
    status: 413,
    title: 'The payload is too large',
    meaning: 'The payload, result or error details are larger than the limit that `detail` names.',
    remedy: 'Store large data elsewhere, and send a reference to it.',
  },
  body_too_large: {
    status: 413,
    title: 'The body is too large',
    meaning: 'A body has at most 6 MiB, and at most 524,288 values and names in total.',
    remedy: 'Divide the request into several ones.',
  },
  batch_too_large: {
    status: 413,
    title: 'The batch is too large',
    meaning: 'A batch has at most 500 tasks and 5 MiB.',
    remedy: 'Divide the batch. An `Idempotency-Key` for each part makes it safe to repeat.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'The body must be JSON',
    meaning:
      'The header `Content-Type` names another type than `application/json`, or another charset than UTF-8.',
    remedy: 'Send the body as JSON in UTF-8, with `Content-Type: application/json`.',
  },
  validation_failed: {
    status: 422,
    title: 'Invalid field',
    meaning:
      'The body is JSON, but one or more of its fields are missing or have values that are not accepted.',
    remedy:
      'Read `errors`, which has all faults: `pointer` names the field, and `detail` says what is accepted.',
  },
  unknown_field: {
    status: 422,
    title: 'Unknown field',
    meaning:
      'The body has a field that the operation does not know. Unknown fields are rejected, so that a typo in `run_at` never starts a task at once.',
    remedy:
      'Read `errors`, which names the field and the fields that are known. Correct its name or leave it out.',
  },
  invalid_cron: {
    status: 422,
    title: 'Invalid cron expression',
    meaning: '`cron` is not a valid expression, or never matches a time.',
    remedy:
      'Use five fields (minute, hour, day of month, month, day of week), six with seconds first, or `@hourly` to `@yearly`. `POST /v1/schedules/preview` shows the times.',
  },
  invalid_timezone: {
    status: 422,
    title: 'Unknown time zone',
    meaning: '`timezone` is not a name in the IANA time zone data of the service.',
    remedy: 'Use a name such as `Europe/Berlin` or `UTC`.',
  },
  invalid_url: {
    status: 422,
    title: 'Invalid URL',
    meaning:
      'Tasks cannot be pushed to this URL: it is malformed, contains a user name, uses a scheme or a port that is not allowed, or is too long.',
    remedy:
      'Use an `https` URL. The operator can allow plain HTTP (`TASKS_PUSH_HTTP`) and more ports (`TASKS_PUSH_PORTS`).',
  },
  forbidden_address: {
    status: 422,
    title: 'The address is not allowed',
    meaning:
      'The URL leads to a private, link-local or loopback address, to which tasks are not pushed by default.',
    remedy: 'Use a public address. The operator can allow networks with `TASKS_PUSH_NETWORKS`.',
  },
  idempotency_key_reused: {
    status: 422,
    title: 'The idempotency key was used for a different request',
    meaning: 'Within the last day, a request with another path or body had the same `Idempotency-Key`.',
    remedy: 'Use a new key for each new request, and the same key only to repeat a request unchanged.',
  },
  invalid_domain: {
    status: 422,
    title: 'Invalid domain',
    meaning:
      'The domain of an account has 3 to 40 of a–z, 0–9 and single hyphens, begins with a letter, and is not reserved.',
    remedy: 'Choose another domain.',
  },
  rate_limited: {
    status: 429,
    title: 'Too many requests',
    meaning: 'The account or the user has sent more requests than the limits of the operator allow.',
    remedy: 'Wait as long as `Retry-After` says. The `RateLimit` headers of each response show what remains.',
  },
  quota_exceeded: {
    status: 429,
    title: 'Quota exceeded',
    meaning:
      'The account has reached a limit, such as its number of workers or open tasks. `limit` and `max` name it.',
    remedy:
      'Delete or finish something first, or ask the operator for a higher limit. `GET /v1/limits` shows all limits and their use.',
  },
  internal: {
    status: 500,
    title: 'Internal error',
    meaning: 'The service has made a mistake. The request may or may not have taken effect.',
    remedy:
      'Repeat the request with the same `Idempotency-Key`. If it fails again, send the operator the id in `instance`: the log of the service has the cause.',
  },
  store_unavailable: {
    status: 503,
    title: 'The task store is unavailable',
    meaning: 'The service cannot reach the store of its tasks. A write may or may not have taken effect.',
    remedy: 'Repeat the request after `Retry-After`; repeat a `POST` with the same `Idempotency-Key`.',
  },
  wrong_master_key: {
    status: 503,
    title: 'The instance has a wrong master key',
    meaning:
      'This instance of the service has another master key than the task store, so other instances could not decrypt what it encrypts.',
    remedy:
      'Repeat the request: another instance may have the right key. Otherwise, the operator has to set `SECRETS_MASTER_KEY`.',
  },
  identity_unavailable: {
    status: 503,
    title: 'The identity provider is unavailable',
    meaning:
      'The token is a JSON Web Token, and the keys that verify it cannot be read from the identity provider.',
    remedy: 'Repeat the request in a few seconds. Tokens that begin with `tk_` do not need the provider.',
  },
  overloaded: {
    status: 503,
    title: 'Too many waiting requests',
    meaning: 'Too many or too large requests are waiting. This request was not processed.',
    remedy: 'Repeat the request after `Retry-After`. Send fewer requests at the same time.',
  },
  interrupted: {
    status: 503,
    title: 'The request was interrupted',
    meaning:
      'The part of the service that handled the request has ended. `detail` says whether the request may have taken effect.',
    remedy: 'Repeat the request; repeat a `POST` with the same `Idempotency-Key`.',
  },
  shutting_down: {
    status: 503,
    title: 'The service is shutting down',
    meaning: 'This instance is shutting down and no longer hands out leases.',
    remedy: 'Repeat the request; another instance will answer.',
  },
} as const satisfies Record<string, ProblemDescription>;

export type ProblemCode = keyof typeof PROBLEMS;

/** Where the page of a problem is, which is its `type` in responses. It never changes. */
export function problemType(code: ProblemCode): string {
  return `/errors/${code}`;
}

/** A fault of a field of a request. */
interface FieldError {
  /** A JSON pointer; absent for a parameter. */
  readonly pointer?: string;
  readonly detail: string;
}

/** An answer that is not a success, or no answer. */
export class ApiError extends Error {
  /** 0 if the service did not answer. */
  readonly status: number;
  /** The code of the problem, such as `not_found`; empty if there was none. */
  readonly code: string;
  /** The faults of single fields. */
  readonly errors: readonly FieldError[];

  constructor(status: number, code: string, message: string, errors: readonly FieldError[] = []) {
    super(message);
    this.status = status;
    this.code = code;
    this.errors = errors;
  }
}

export interface ApiCall {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent as a bearer token. */
  readonly token?: string;
  readonly signal?: AbortSignal;
}

/** A request that is not answered within this time has failed. */
const TIMEOUT_MS = 10_000;

/**
 * Calls a path of the service.
 *
 * @throws ApiError with what the service says, or that it did not answer
 */
export async function callService<Answer>(path: string, call: ApiCall): Promise<Answer> {
  const { method = 'GET', body, token, signal } = call;
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  let response: Response;
  try {
    response = await fetch(path, {
      method,
      cache: 'no-store',
      headers: {
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...(token !== undefined && { Authorization: `Bearer ${token}` }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
    });
  } catch (thrown) {
    if (signal?.aborted === true) throw thrown;
    throw new ApiError(0, '', 'Sluice did not answer. It may be stopped, or the network is interrupted.');
  }
  const answer = await response.json().catch(() => ({}));
  if (response.ok) return answer as Answer;
  // Paths outside the API answer with `error`.
  const { code = '', errors = [], detail, error } = answer;
  const text = detail ?? error?.message ?? `Sluice answered with status ${response.status}.`;
  throw new ApiError(response.status, error?.code ?? code, text, errors);
}

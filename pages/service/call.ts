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
  /** Sent as it is, in place of `body`: JSON text whose numbers must stay as they are written. */
  readonly text?: string;
  /** Header fields, such as `If-Match`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as a bearer token. */
  readonly token?: string;
  readonly signal?: AbortSignal;
}

/** Reads the text of an answer. */
type Reader = (text: string) => unknown;

/** A request that is not answered within this time has failed. */
const TIMEOUT_MS = 10_000;

/**
 * Calls a path of the service.
 *
 * @param read reads the text of a good answer; `JSON.parse` if absent
 * @throws ApiError with what the service says, or that it did not answer
 */
export async function callService<Answer>(
  path: string,
  call: ApiCall,
  read: Reader = JSON.parse,
): Promise<Answer> {
  const {
    method = 'GET',
    body,
    text: sent = body === undefined ? undefined : JSON.stringify(body),
    headers,
    token,
    signal,
  } = call;
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  let response: Response;
  let answered: string;
  try {
    response = await fetch(path, {
      method,
      cache: 'no-store',
      headers: {
        ...headers,
        ...(sent !== undefined && { 'Content-Type': 'application/json' }),
        ...(token !== undefined && { Authorization: `Bearer ${token}` }),
      },
      ...(sent !== undefined && { body: sent }),
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
    });
    answered = await response.text();
  } catch (thrown) {
    if (signal?.aborted === true) throw thrown;
    throw new ApiError(0, '', 'Sluice did not answer. It may be stopped, or the network is interrupted.');
  }
  if (response.ok) return (answered === '' ? undefined : read(answered)) as Answer;
  throw errorOf(response.status, answered);
}

function errorOf(status: number, answered: string): ApiError {
  const { code = '', errors = [], detail, error } = problemIn(answered);
  // Paths outside the API answer with `error`.
  const text = detail ?? error?.message ?? `Sluice answered with status ${status}.`;
  return new ApiError(status, error?.code ?? code, text, errors);
}

/** The fields of a problem that matter here. */
interface Problem {
  readonly code?: string;
  readonly detail?: string;
  readonly errors?: readonly FieldError[];
  readonly error?: { readonly code?: string; readonly message?: string };
}

function problemIn(text: string): Problem {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}

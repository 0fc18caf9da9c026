import { systemCode } from '../../base/fault.ts';
import type { TraceContext } from '../../base/trace-context.ts';
import type { Worker } from '../model/documents.ts';
import type { HistoryHttp, Task } from '../model/task.ts';

/** The part of a task that a delivery needs. */
interface DeliveredTask
  extends Pick<Task, 'id' | 'type' | 'attempt' | 'timeoutMs' | 'runAt' | 'scheduledFor'> {
  readonly retry: Pick<Task['retry'], 'maxAttempts'>;
}

/** One attempt to push a task to its worker. */
export interface DeliveryRequest {
  readonly tenant: string;
  readonly task: DeliveredTask;
  /** As stores have it (`TaskBody` of `../model/task.ts`); null for none, which sends an empty body. */
  readonly payload: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly worker: Pick<Worker, 'name' | 'url' | 'method' | 'headers'>;
  /** Live signing secrets (`whsec_…`), newest first, and confidential headers: opened, for this attempt only. */
  readonly signing: readonly string[];
  readonly secretHeaders: Readonly<Record<string, string>>;
  /** Is sent as `traceparent` and `tracestate`; null for none. */
  readonly trace: TraceContext | null;
  /** A test of the worker: the request says so in a header field, and the outcome shows it. */
  readonly isTest?: true;
}

/** A request as it was sent. */
export interface SentRequest {
  readonly method: string;
  readonly url: string;
  /** By name in lower case, in the order in which they were sent. Confidential values are {@link HIDDEN}. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Replaces a secret wherever a request is shown. */
export const HIDDEN = '[hidden]';

/** The outcome of an attempt (specification 3.5.1), before any policy. */
export interface DeliveryOutcome {
  /**
   * - `answered`: there was an answer
   * - `timed_out`: none within the task's timeout
   * - `failed`: no connection, TLS, DNS, an answer that breaks the protocol, an address that is not allowed
   * - `aborted`: it was ended by {@link Deliveries.abort}, or because the thread is gone
   */
  readonly kind: 'answered' | 'timed_out' | 'failed' | 'aborted';
  /** 0 when there was no answer; with `failed` and the like that of one which broke off. */
  readonly status: number;
  readonly durationMs: number;
  /** The first 4 KiB of the reply, as text, for the history. */
  readonly http: HistoryHttp | null;
  /** JSON text of at most 16 KiB; null when the reply was none. */
  readonly result: string | null;
  /** `Retry-After`, in milliseconds from now, not above 24 h; null when absent or not to be understood. */
  readonly retryAfterMs: number | null;
  /** The reply said `task-no-retry: true`. */
  readonly noRetry: boolean;
  /** For `last_error` and history; the codes are those of `DELIVERY_ERRORS`. Null for a 2xx. */
  readonly error: { readonly code: string; readonly message: string } | null;
  /** Only of a test, and only if the request was sent, or would have been with a connection. */
  readonly sent?: SentRequest;
}

/** Pushes tasks to workers, in threads of its own. */
export interface Deliveries {
  /** How many more attempts can start now. Further attempts end as `aborted`. */
  readonly free: number;
  readonly capacity: number;
  /** Never rejects. */
  deliver(request: DeliveryRequest): Promise<DeliveryOutcome>;
  /** Closes the connection of an attempt at once; it ends as `aborted`. */
  abort(tenant: string, taskId: string): void;
  start(): Promise<void>;
  /** Aborts what is left, and ends the threads. */
  stop(): Promise<void>;
}

/** Every error code of a delivery, with its default message. */
const DELIVERY_ERRORS = {
  http_3xx: 'the worker answered with a redirect, which is never followed',
  http_4xx: 'the worker refused the task',
  http_5xx: 'the worker failed',
  http_other: 'the worker answered with a status that HTTP does not have',
  no_retry: 'the worker answered with success and asked for no retry',
  timeout: 'the response was not complete within the timeout of the task',
  invalid_url: 'tasks cannot be pushed to the URL of the worker',
  forbidden_address: 'the URL of the worker resolves to an address that tasks may not be pushed to',
  dns: 'the host name in the URL of the worker does not resolve to an address',
  connect_refused: 'nothing listens at the address and port',
  connect_failed: 'the connection failed: no route to the host, or no answer',
  tls: 'the TLS handshake failed, or the certificate is not trusted',
  connection_lost: 'the connection closed before the response was complete',
  reply_headers_too_large: 'the response headers are larger than 16 KiB',
  reply_invalid: 'the response is not valid HTTP/1.1',
  aborted: 'the service ended the attempt',
  thread_lost: 'the thread that made the attempt crashed',
  internal: 'internal error of the service',
} as const;
export type DeliveryErrorCode = keyof typeof DELIVERY_ERRORS;

export interface DeliveryError {
  readonly code: DeliveryErrorCode;
  /** At most 1000 characters, and nothing of secrets or payloads. */
  readonly message: string;
}

const MAX_MESSAGE = 1_000;

/** Why an attempt had no response. */
export class DeliveryFault extends Error {
  readonly code: DeliveryErrorCode;

  constructor(code: DeliveryErrorCode, message: string) {
    super(message);
    this.name = 'DeliveryFault';
    this.code = code;
  }
}

export function deliveryError(code: DeliveryErrorCode, message?: string): DeliveryError {
  return { code, message: (message ?? DELIVERY_ERRORS[code]).slice(0, MAX_MESSAGE) };
}

/** The outcome of an attempt that was not started. It does not count as an attempt. */
export function notMade(message: string): DeliveryOutcome {
  return {
    kind: 'aborted',
    status: 0,
    durationMs: 0,
    http: null,
    result: null,
    retryAfterMs: null,
    noRetry: false,
    error: deliveryError('aborted', message),
  };
}

/** The error of an answer that is no success; null for one that is. */
export function statusError(status: number): DeliveryError | null {
  if (status >= 200 && status < 300) return null;
  return deliveryError(statusCode(status), `${status} from worker`);
}

/** The error of an attempt without a response, as the tenant sees it. */
export function errorOf(failure: unknown): DeliveryError {
  if (failure instanceof DeliveryFault) return deliveryError(failure.code, failure.message);
  // An error of the HTTP client. Its messages address programmers, so only the code is used.
  const code = systemCode(failure);
  if (code === 'UND_ERR_HEADERS_OVERFLOW') return deliveryError('reply_headers_too_large');
  // Compared by name: importing the class would load the library in threads that push nothing.
  const isUnreadable = failure instanceof Error && failure.name === 'HTTPParserError';
  if (isUnreadable || code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH') return deliveryError('reply_invalid');
  if (LOST_CODES.has(code)) return deliveryError('connection_lost');
  return deliveryError('internal');
}

const LOST_CODES = new Set([
  'UND_ERR_SOCKET',
  'UND_ERR_INFO',
  'UND_ERR_DESTROYED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENETDOWN',
]);

function statusCode(status: number): DeliveryErrorCode {
  if (status >= 300 && status < 400) return 'http_3xx';
  if (status >= 400 && status < 500) return 'http_4xx';
  if (status >= 500 && status < 600) return 'http_5xx';
  return 'http_other';
}

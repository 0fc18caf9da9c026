import type { Worker } from '../model/documents.ts';
import type { HistoryHttp } from '../model/history.ts';
import type { Task } from '../model/task.ts';

/** The part of a task that a delivery needs. */
interface DeliveredTask
  extends Pick<Task, 'id' | 'type' | 'attempt' | 'timeoutMs' | 'runAt' | 'scheduledFor'> {
  readonly retry: Pick<Task['retry'], 'maxAttempts'>;
}

/** One attempt to push a task to its worker. */
export interface DeliveryRequest {
  readonly tenant: string;
  readonly task: DeliveredTask;
  /** As stores have it (`../model/payload.ts`); null for none, which sends an empty body. */
  readonly payload: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly worker: Pick<Worker, 'name' | 'url' | 'method' | 'headers'>;
  /** Live signing secrets (`whsec_…`), newest first, and confidential headers: opened, for this attempt only. */
  readonly signing: readonly string[];
  readonly secretHeaders: Readonly<Record<string, string>>;
  /** Becomes `traceparent`; null for none. */
  readonly traceparent: string | null;
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

/** What is shown in place of a secret. */
export const HIDDEN = '[hidden]';

/** What came of it (specification 3.5.1), before any policy. */
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
  /** For `last_error` and history; the codes are those of `DELIVERY_ERRORS` (`./delivery-errors.ts`). Null for a 2xx. */
  readonly error: { readonly code: string; readonly message: string } | null;
  /** Only of a test, and only if the request was sent, or would have been with a connection. */
  readonly sent?: SentRequest;
}

/** Pushes tasks to workers, in threads of its own. */
export interface Deliveries {
  /** How many more attempts it takes now. Asking for more is a defect: they end as `aborted`. */
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

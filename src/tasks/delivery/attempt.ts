import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import type { Clock } from '../../base/clock.ts';
import { bytesOf } from '../model/task.ts';
import type { Connection, Connections } from './connections.ts';
import {
  type DeliveryError,
  type DeliveryErrorCode,
  DeliveryFault,
  type DeliveryOutcome,
  type DeliveryRequest,
  deliveryError,
  errorOf,
  type SentRequest,
  statusError,
} from './delivery.ts';
import type { HostAddresses } from './host-addresses.ts';
import { Reply } from './reply.ts';
import { requestHead, shownRequest } from './request-head.ts';
import { checkWorkerUrl, type Target, type UrlRules } from './worker-url.ts';

const NO_BODY = Buffer.alloc(0);

/** Collaborators that all attempts of a thread share. */
export interface AttemptParts {
  readonly rules: UrlRules;
  readonly addresses: HostAddresses;
  readonly connections: Connections;
  readonly userAgent: string;
  readonly clock: Clock;
}

/**
 * One attempt to push a task: checks the URL and its addresses, sends the request, and reads the answer, all within the
 * timeout of the task. Redirects are not followed and cookies are not kept. A request is sent once, also when its
 * connection turns out to be closed: whether the worker has seen it cannot be known.
 */
export class Attempt {
  readonly request: DeliveryRequest;
  /** Never rejects. */
  readonly outcome: Promise<DeliveryOutcome>;
  readonly #parts: AttemptParts;
  readonly #beganMs: number;
  readonly #reply = new Reply();
  readonly #settle: (outcome: DeliveryOutcome) => void;
  #connection: Connection | null = null;
  #done = false;
  /** Only of a test. */
  #sent: SentRequest | null = null;
  #cancelTimer: () => void;

  constructor(request: DeliveryRequest, parts: AttemptParts) {
    const { promise, resolve } = Promise.withResolvers<DeliveryOutcome>();
    this.request = request;
    this.outcome = promise;
    this.#parts = parts;
    this.#settle = resolve;
    this.#beganMs = parts.clock.nowMs();
    const { timeoutMs } = request.task;
    const timer = parts.clock.after(timeoutMs, () => {
      this.#end('timed_out', deliveryError('timeout', `no complete response within ${timeoutMs} ms`));
    });
    this.#cancelTimer = () => timer.cancel();
    this.#run().catch((failure: unknown) => this.#end('failed', errorOf(failure)));
  }

  /** Closes the connection at once, wherever the attempt stands. */
  abort(code: Extract<DeliveryErrorCode, 'aborted' | 'thread_lost'> = 'aborted'): void {
    this.#end('aborted', deliveryError(code));
  }

  async #run(): Promise<void> {
    const { rules, addresses, connections, clock, userAgent } = this.#parts;
    const { request } = this;
    const target = targetOf(request.worker.url, rules);
    const found = await addresses.of(target.host);
    if (this.#done) return;
    const body = bodyOf(request.payload);
    const headers = requestHead(request, body, userAgent, clock.nowMs());
    if (request.isTest) this.#sent = shownRequest(request, target, headers, body.length);
    this.#connection = connections.take(request.tenant, target.origin, found);
    const { method } = request.worker;
    this.#connection.client.dispatch({ path: target.path, method, headers, body }, this.#handler());
  }

  #handler(): Dispatcher.DispatchHandler {
    return {
      onRequestStart: () => {},
      onResponseStart: (_, status: number, headers: IncomingHttpHeaders) => {
        // Before the answer there may be others that only say that it will come.
        if (status >= 200) this.#reply.begin(status, headers);
      },
      onResponseData: (_, chunk: Buffer) => {
        if (!this.#done && !this.#reply.add(chunk)) this.#answered('closed');
      },
      onResponseEnd: () => this.#answered('kept'),
      onResponseError: (_, failure: Error) =>
        this.#end('failed', errorOf(this.#connection?.alert ?? failure)),
    };
  }

  /** The answer is there, or as much of it as is read. */
  #answered(connection: 'kept' | 'closed'): void {
    if (!this.#finish()) return;
    this.#release(connection);
    const { status } = this.#reply;
    const { clock } = this.#parts;
    const durationMs = this.#durationMs();
    this.#settle({
      kind: 'answered',
      status,
      durationMs,
      http: this.#reply.http(durationMs),
      result: connection === 'kept' ? this.#reply.result() : null,
      retryAfterMs: this.#reply.retryAfterMs(clock.nowMs()),
      noRetry: this.#reply.noRetry,
      error: statusError(status),
      ...(this.#sent !== null && { sent: this.#sent }),
    });
  }

  #end(kind: Exclude<DeliveryOutcome['kind'], 'answered'>, error: DeliveryError): void {
    if (!this.#finish()) return;
    this.#release('closed');
    const durationMs = this.#durationMs();
    const { status } = this.#reply;
    const http = this.#reply.http(durationMs);
    this.#settle({
      kind,
      status,
      durationMs,
      http,
      result: null,
      retryAfterMs: null,
      noRetry: false,
      error,
      ...(this.#sent !== null && { sent: this.#sent }),
    });
  }

  /** False when the attempt has ended before. */
  #finish(): boolean {
    if (this.#done) return false;
    this.#done = true;
    this.#cancelTimer();
    return true;
  }

  #release(connection: 'kept' | 'closed'): void {
    if (this.#connection === null) return;
    if (connection === 'kept') this.#parts.connections.give(this.#connection);
    else this.#parts.connections.drop(this.#connection);
    this.#connection = null;
  }

  #durationMs(): number {
    return Math.max(0, this.#parts.clock.nowMs() - this.#beganMs);
  }
}

/** The bytes that are sent. */
function bodyOf(payload: string | null): Buffer {
  if (payload === null) return NO_BODY;
  const bytes = bytesOf(payload);
  return bytes === null ? Buffer.from(payload, 'utf8') : Buffer.from(bytes.base64, 'base64');
}

/** @throws DeliveryFault `invalid_url` or `forbidden_address` */
function targetOf(url: string | null, rules: UrlRules): Target {
  if (url === null) throw new DeliveryFault('invalid_url', 'the worker has no URL');
  const checked = checkWorkerUrl(url, rules);
  if (checked.kind === 'ok') return checked.target;
  throw new DeliveryFault(checked.code, `tasks cannot be pushed to the URL of the worker: ${checked.detail}`);
}

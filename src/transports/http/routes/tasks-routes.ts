import { STATUS_CODES } from 'node:http';
import { Problem } from '../../../tasks/rest/checks/problem.ts';
import {
  READ_HEADERS,
  type RenderedResponse,
  type RestCall,
  type RestCalls,
  type RestHead,
  type RestReply,
} from '../../../tasks/rest/http/http.ts';
import { BODY_LIMIT_BYTES, bodyTooLarge } from '../../../tasks/rest/http/read-request.ts';
import type { CallSpan, CallTracing, SpanAttributes } from '../../tracing.ts';
import type { Answer } from '../answer.ts';
import { DROPPED_UP_TO, hasTooManyChunks, KeptPieces, LEAST_CHUNK_BYTES } from '../body.ts';
import type { Exchange } from '../exchange.ts';
import { beginRequestSpan, statusAttributes } from '../request-attributes.ts';
import type { Handler, RequestHead, Route } from '../routes.ts';

/**
 * Bodies up to this size are received together with the head. Larger ones wait until the caller has been identified.
 */
const WITH_HEAD_BYTES = 64 * 1024;

interface TasksRoutesOptions {
  readonly calls: RestCalls;
  /** `accounts.<this>` serves accounts at `/`. */
  readonly serviceHost: string;
  /** Answers `/` on all other hosts. */
  readonly root: Handler;
  /** Null while tracing is off. */
  readonly tracing?: CallTracing | null;
}

/** The routes of the REST API for tasks: `/api/…`, `/accounts`, and `/` on the accounts host. */
export function tasksRoutes(options: TasksRoutesOptions): readonly Route[] {
  const { calls, serviceHost, root, tracing = null } = options;
  const serve: Handler = (exchange, request) => {
    const span = tracing === null ? null : spanOf(tracing, request);
    new TaskCall(calls, span, exchange, request).read();
  };
  const accountsHost = `accounts.${serviceHost}`;
  return [
    { path: '/api/*', method: 'any', help: 'the REST API for tasks, on the host of a tenant', handle: serve },
    { path: '/accounts', method: 'any', help: 'creates and lists accounts', handle: serve },
    { path: '/accounts/*', method: 'any', help: 'manages an account', handle: serve },
    {
      path: '/',
      method: 'any',
      help: 'the console of a tenant; on the accounts host, creates accounts',
      handle: (exchange, request) => {
        if (hostOf(request) === accountsHost) serve(exchange, request);
        else root(exchange, request);
      },
    },
  ];
}

/** The part of a path that is used as the route of a span. It excludes ids, so that span names stay few. */
const TRACED_PATH = /^\/api\/v1\/(tasks|workers|leases|schedules|users|limits)(?=\/|$)|^\/accounts(?=\/|$)/;

function spanOf(tracing: CallTracing, request: RequestHead): CallSpan {
  return beginRequestSpan(tracing, request, TRACED_PATH.exec(request.path)?.[0] ?? '/');
}

/**
 * One call of the REST interface, between the connection and the thread that answers it. This class only keeps the
 * pieces of the body and does nothing else with them.
 */
class TaskCall implements RestReply {
  readonly #calls: RestCalls;
  /** Null without tracing, and after the span has ended. */
  #span: CallSpan | null;
  readonly #exchange: Exchange;
  readonly #head: RestHead;
  #call: RestCall | null = null;
  readonly #pieces = new KeptPieces();
  #received = 0;
  #chunks = 0;
  /** True when the whole body has been received. */
  #isWhole = false;
  #isAdmitted = false;
  #isAnswered = false;

  constructor(calls: RestCalls, span: CallSpan | null, exchange: Exchange, request: RequestHead) {
    this.#calls = calls;
    this.#span = span;
    this.#exchange = exchange;
    this.#head = {
      method: request.method,
      host: hostOf(request),
      path: request.path,
      query: request.query,
      headers: headersOf(request, span),
      // Only the creation of accounts needs the address, and reading it costs more than reading all fields.
      remoteAddress: request.path.startsWith(TENANT_PATHS) ? '' : callerAddress(request),
    };
  }

  read(): void {
    const length = this.#exchange.bodyBytes ?? 0;
    if (length > BODY_LIMIT_BYTES) {
      const tooLarge = this.#calls.refused(this.#head, bodyTooLarge());
      this.#endSpan(statusAttributes(tooLarge.status));
      this.#exchange.refuseBody(answerOf(tooLarge), DROPPED_UP_TO * BODY_LIMIT_BYTES);
      return;
    }
    if (this.#span !== null) this.#exchange.onGone(this.#left);
    if (length > WITH_HEAD_BYTES) this.#beginWithout(length);
    // The call may already have been rejected, for example because the queue is full.
    if (this.#isAnswered) return;
    this.#exchange.onChunk((chunk, last) => {
      this.#received += chunk.length;
      if (this.#exchange.bodyBytes === null && hasTooManyChunks(++this.#chunks, this.#received))
        this.#refuseChunks();
      else if (this.#received > BODY_LIMIT_BYTES) this.#drop(last);
      else this.#keep(chunk, last);
    });
  }

  admitted(): void {
    this.#isAdmitted = true;
    if (this.#isWhole) this.#handOver();
    else this.#exchange.resumeInput();
  }

  waits(): void {
    this.#exchange.onGone(this.#left);
    if (this.#exchange.over) this.#left();
    else this.#exchange.watchInput();
  }

  answered(response: RenderedResponse): void {
    this.#isAnswered = true;
    this.#exchange.release();
    this.#endSpan(
      statusAttributes(response.status),
      response.status >= 500 ? 'answered with a server error' : '',
    );
    const answer = answerOf(response);
    if (this.#isWhole) this.#exchange.answer(answer);
    else {
      this.#exchange.resumeInput();
      this.#exchange.refuseBody(answer, DROPPED_UP_TO * BODY_LIMIT_BYTES);
    }
  }

  #keep(chunk: Uint8Array, last: boolean): void {
    if (chunk.length > 0) {
      const bytes = this.#pieces.add(chunk, (this.#exchange.bodyBytes ?? BODY_LIMIT_BYTES) - this.#received);
      if (bytes > 0) this.#exchange.hold(bytes, this.#free);
      if (this.#exchange.answering) return;
    }
    if (last) this.#whole();
    else if (this.#call === null && this.#received > WITH_HEAD_BYTES) this.#beginWithout(BODY_LIMIT_BYTES);
  }

  #whole(): void {
    this.#isWhole = true;
    if (this.#call === null) {
      // From now on the caller may close its sending side and still read the answer.
      this.#exchange.onGone(null);
      this.#call = this.#calls.begin(this.#head, this.#pieces.take(), this);
      this.#exchange.release();
    } else if (this.#isAdmitted) this.#handOver();
    setImmediate(() => this.#exchange.holdInput());
  }

  /** Starts the call without its body. The caller keeps the rest of the body until the caller has been identified. */
  #beginWithout(atMost: number): void {
    this.#exchange.onGone(this.#left);
    this.#exchange.holdInput();
    this.#call = this.#calls.begin(this.#head, { atMost }, this);
  }

  #handOver(): void {
    const pieces = this.#pieces.take();
    this.#exchange.release();
    this.#call?.body(pieces);
  }

  /** Called when the caller has disconnected. No answer follows, or nobody reads it. */
  readonly #left = (): void => {
    this.#call?.gone();
    this.#endSpan({});
  };

  #endSpan(attributes: SpanAttributes, failure = ''): void {
    const span = this.#span;
    this.#span = null;
    span?.end(attributes, failure);
  }

  /** Called when the pieces have been handed over, or when memory runs short. */
  readonly #free = (): void => {
    this.#pieces.take();
  };

  /**
   * Each chunk costs work on the thread that decides, so a body in tiny chunks is rejected and its connection closed.
   */
  #refuseChunks(): void {
    this.#exchange.release();
    this.#call?.gone();
    const answer = this.#calls.refused(this.#head, chunksTooSmall());
    this.#isAnswered = true;
    this.#endSpan(statusAttributes(answer.status));
    this.#exchange.refuseBody(answerOf(answer), 0);
  }

  #drop(last: boolean): void {
    this.#exchange.release();
    this.#call?.gone();
    if (last) this.#isWhole = true;
    else if (this.#received <= DROPPED_UP_TO * BODY_LIMIT_BYTES) return;
    this.answered(this.#calls.refused(this.#head, bodyTooLarge()));
  }
}

function chunksTooSmall(): Problem {
  return new Problem(
    'chunks_too_small',
    `the chunks of the body are too small: send ${LEAST_CHUNK_BYTES} bytes or more in each`,
  );
}

/** The paths of all calls with a tenant. */
const TENANT_PATHS = '/api/';

/** The host in lower case, without the port and without the final dot of an absolute name (RFC 1034, 3.1). */
function hostOf(request: RequestHead): string {
  const host = request.header('host').toLowerCase();
  const port = host.lastIndexOf(':');
  const name = port === -1 || host.endsWith(']') ? host : host.slice(0, port);
  return name.endsWith('.') ? name.slice(0, -1) : name;
}

const READ: ReadonlySet<string> = new Set(READ_HEADERS);

/**
 * The values of the fields in {@link READ_HEADERS}. A field without a value is an empty string, not missing. The values
 * of a repeated field are joined with commas (RFC 9110, 5.3), so that no part of an `Idempotency-Key` is lost. The trace
 * context is that of the span, if there is one.
 */
function headersOf(request: RequestHead, span: CallSpan | null): RestHead['headers'] {
  const headers: { [name: string]: string } = {};
  request.each((name, value) => {
    if (READ.has(name)) headers[name] = name in headers ? `${headers[name]}, ${value}` : value;
  });
  return span === null ? headers : { ...headers, ...span.context };
}

/** Fields that proxies add. */
const FORWARDED = /^(?:forwarded|via|x-real-ip|x-forwarded-.+)$/;

/** Empty if a proxy has forwarded the request: the connection is the proxy's, which may be on this machine. */
function callerAddress(request: RequestHead): string {
  let isForwarded = false;
  request.each(name => {
    isForwarded ||= FORWARDED.test(name);
  });
  return isForwarded ? '' : request.remoteAddress;
}

const STATUS_LINES: ReadonlyMap<number, string> = new Map(
  Object.entries(STATUS_CODES).map(([code, reason]) => [Number(code), `${code} ${reason}`]),
);

function answerOf({ status, headers, body }: RenderedResponse): Answer {
  return {
    status: STATUS_LINES.get(status) ?? String(status),
    contentType: '',
    headers,
    body,
    lasting: true,
  };
}

import { STATUS_CODES } from 'node:http';
import {
  READ_HEADERS,
  type RestHandler,
  type RestRequest,
  type RestResponse,
} from '../../tasks/rest/http.ts';
import { BODY_LIMIT_BYTES } from '../../tasks/rest/read-request.ts';
import type { CallSpan, CallTracing, SpanAttributes } from '../tracing.ts';
import type { Answer } from './answer.ts';
import { readBody } from './body.ts';
import type { Exchange } from './exchange.ts';
import type { RequestHead } from './request-head.ts';
import type { Handler, Route } from './routes.ts';

const NO_BODY = new Uint8Array(0);

export interface TasksRoutesOptions {
  readonly handler: RestHandler;
  /** `accounts.<this>` serves accounts at `/`. */
  readonly serviceHost: string;
  /** Answers `/` on all other hosts. */
  readonly unknown: Handler;
  /** Null while tracing is off. */
  readonly tracing?: CallTracing | null;
}

/** The paths of the REST interface of tasks: `/api/…`, `/accounts`, and `/` on the host of accounts. */
export function tasksRoutes(options: TasksRoutesOptions): readonly Route[] {
  const { handler, serviceHost, unknown, tracing = null } = options;
  const serve: Handler = (exchange, request) => {
    const span = tracing === null ? null : spanOf(tracing, request);
    serveRest(handler, span, exchange, request);
  };
  const accountsHost = `accounts.${serviceHost}`;
  return [
    { path: '/api/*', method: 'any', help: 'the REST interface of tasks, by tenant host', handle: serve },
    { path: '/accounts', method: 'any', help: 'makes accounts', handle: serve },
    {
      path: '/',
      method: 'any',
      help: 'makes accounts, on the host of accounts',
      handle: (exchange, request) => {
        if (hostOf(request) === accountsHost) serve(exchange, request);
        else unknown(exchange, request);
      },
    },
  ];
}

/** What is asked for, without ids: what callers write into a path does not become a name. */
const TRACED_PATH = /^\/api\/v1\/(tasks|workers|leases|schedules|users|limits)(?=\/|$)|^\/accounts$/;

function spanOf(tracing: CallTracing, request: RequestHead): CallSpan {
  const method = request.method;
  const route = TRACED_PATH.exec(request.path)?.[0] ?? '/';
  const attributes = { 'http.request.method': method, 'http.route': route };
  return tracing.begin(`${method} ${route}`, attributes, name => request.header(name));
}

function serveRest(
  handler: RestHandler,
  span: CallSpan | null,
  exchange: Exchange,
  request: RequestHead,
): void {
  const asked = new AskedRequest(exchange, request);
  const whole = (body: Uint8Array): void => {
    // The bytes are those of the socket's buffer, and the handler reads them later.
    if (body.length > 0) asked.body = body.slice();
    handler.handle(asked).then(
      response => {
        span?.end(statusOf(response.status), response.status >= 500 ? 'answered as a failure' : '');
        exchange.answer(answerOf(response));
      },
      thrown => {
        span?.end(statusOf(500), 'answered as a failure');
        exchange.fail(thrown);
      },
    );
    setImmediate(() => exchange.holdInput());
  };
  readBody(exchange, whole, {
    bytes: BODY_LIMIT_BYTES,
    tooLarge: () => answerOf(handler.tooLarge(asked)),
  });
}

function statusOf(status: number): SpanAttributes {
  return { 'http.response.status_code': status };
}

/** A request whose head has been copied: it is valid only until the handler returns. */
class AskedRequest implements RestRequest {
  readonly method: string;
  readonly host: string;
  readonly path: string;
  readonly query: string;
  readonly headers: RestRequest['headers'];
  readonly remoteAddress: string;
  body: Uint8Array = NO_BODY;
  readonly #exchange: Exchange;
  #gone: AbortController | null = null;

  constructor(exchange: Exchange, request: RequestHead) {
    this.#exchange = exchange;
    this.method = request.method;
    this.host = hostOf(request);
    this.path = request.path;
    this.query = request.query;
    this.headers = headersOf(request);
    this.remoteAddress = request.remoteAddress;
  }

  /** Made when first asked for: only long polls ask. */
  get gone(): AbortSignal {
    if (this.#gone === null) {
      const gone = new AbortController();
      this.#gone = gone;
      if (this.#exchange.over) gone.abort();
      else this.#exchange.onGone(() => gone.abort());
      this.#exchange.watchInput();
    }
    return this.#gone.signal;
  }
}

/** Without the port, in lower case. */
function hostOf(request: RequestHead): string {
  const host = request.header('host').toLowerCase();
  const port = host.lastIndexOf(':');
  return port === -1 || host.endsWith(']') ? host : host.slice(0, port);
}

function headersOf(request: RequestHead): RestRequest['headers'] {
  const headers: { [name in (typeof READ_HEADERS)[number]]?: string } = {};
  for (const name of READ_HEADERS) {
    const value = request.header(name);
    if (value !== '') headers[name] = value;
  }
  return headers;
}

const STATUS_LINES: ReadonlyMap<number, string> = new Map(
  Object.entries(STATUS_CODES).map(([code, reason]) => [Number(code), `${code} ${reason}`]),
);

function answerOf({ status, headers, body }: RestResponse): Answer {
  return { status: STATUS_LINES.get(status) ?? String(status), contentType: '', headers, body };
}

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { listenOptions, type TcpAddress } from '../../tcp-address.ts';
import { type Answer, errorAnswer, rawAnswer, TOO_MANY_CONNECTIONS } from '../answer.ts';
import type { ExchangeContext } from '../exchange.ts';
import { Framing } from '../framing.ts';
import type { EngineServer, HttpEngine } from '../listener.ts';
import { REQUEST_WORK } from '../request-turns.ts';
import { Dispatch, type RouteTable, run } from '../routes.ts';
import { NodeConnection } from './node-connection.ts';
import { NodeExchange } from './node-exchange.ts';
import { NodeRequestHead, readTarget } from './node-request.ts';
import { VERSION_NOT_SUPPORTED } from './parse-failure.ts';

const IDLE_MS = 10_000;

/** Maximum time for a request to arrive. A slower request is answered with 408, even if bytes keep arriving. */
const REQUEST_MS = 300_000;

/** How often Node.js checks for requests that have timed out. */
const CHECK_MS = 1_000;

/** `OPTIONS *` concerns the server as a whole (RFC 9110, 9.3.7). */
const OPTIONS_OF_SERVER = {
  status: '204 No Content',
  contentType: '',
  headers: { Allow: 'GET, HEAD, POST, OPTIONS' },
  body: '',
};

const BAD_TARGET = errorAnswer({
  code: 'bad_request',
  message: 'the target of the request is neither a path nor an http URL',
});

const NO_TUNNELS = errorAnswer(
  { code: 'method_not_allowed', message: 'this server is not a proxy and does not accept CONNECT' },
  { Allow: 'GET, HEAD, POST, OPTIONS' },
);

const UNKNOWN_EXPECTATION = errorAnswer({
  code: 'expectation_failed',
  message: 'the only supported expectation is 100-continue',
});

interface NodeBounds {
  /** Maximum size of the request line and the header fields together. */
  readonly maxHeaderBytes: number;
  /** A connection that is idle for this long is closed, unless the caller is waiting for the server. Default: 10 s. */
  readonly idleMs?: number;
}

/**
 * The HTTP server of Node.js: slower than uWebSockets.js, but it supports what `docs/http.md` lists as missing there.
 */
export function nodeEngine(bounds: NodeBounds): HttpEngine {
  return {
    name: 'node',
    inThreads: true,
    server: (table, context) => new NodeServer(table, context, bounds),
  };
}

class NodeServer implements EngineServer {
  readonly #server: Server;
  readonly #dispatch: Dispatch;
  readonly #context: ExchangeContext;
  readonly #framing = new Framing();
  readonly #connections = new Map<Duplex, NodeConnection>();

  constructor(table: RouteTable, context: ExchangeContext, bounds: NodeBounds) {
    const { maxHeaderBytes, idleMs = IDLE_MS } = bounds;
    this.#dispatch = new Dispatch(table);
    this.#context = context;
    const server = createServer({
      insecureHTTPParser: false,
      requireHostHeader: true,
      maxHeaderSize: maxHeaderBytes,
      headersTimeout: idleMs,
      requestTimeout: REQUEST_MS,
      keepAliveTimeout: idleMs,
      connectionsCheckingInterval: CHECK_MS,
      noDelay: true,
    });
    this.#server = server;
    // Node.js would silently drop fields beyond this count. The size of the head is limited instead.
    server.maxHeadersCount = 0;
    server.timeout = idleMs;
    // A caller that closes its sending side still gets its answers (RFC 9112, 9.6). The type declarations lack this
    // option.
    Object.assign(server, { httpAllowHalfOpen: true });
    server.on('connection', socket => this.#opened(socket));
    server.on('request', (request, response) => this.#asked(request, response));
    server.on('checkContinue', (request, response) => this.#asked(request, response));
    server.on('checkExpectation', (request, response) =>
      this.#refuse(request, response, UNKNOWN_EXPECTATION),
    );
    server.on('connect', (_, socket) => {
      this.#connections.get(socket)?.dropInput();
      refuseTunnel(socket);
    });
    server.on('clientError', (failure, socket) => this.#connections.get(socket)?.failed(failure));
    server.on('timeout', socket => {
      this.#connections.get(socket)?.idle(() => socket.setTimeout(idleMs));
    });
  }

  listen(address: TcpAddress): Promise<number> {
    const server = this.#server;
    return new Promise((resolve, reject) => {
      const opened = (): void => {
        server.off('error', failed);
        resolve((server.address() as AddressInfo).port);
      };
      const failed = (cause: Error): void => {
        server.off('listening', opened);
        reject(cause);
      };
      server.once('error', failed);
      server.once('listening', opened);
      server.listen(listenOptions(address));
    });
  }

  /**
   * `http.Server.close` would also close connections on which a request is arriving, so the method of `net.Server` is
   * used.
   */
  closePort(): void {
    if (this.#server.listening) NetServer.prototype.close.call(this.#server);
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#connections.keys()) socket.destroy();
  }

  #opened(socket: Socket): void {
    const { traffic, refused } = this.#context;
    traffic.connectionsChanged(1);
    socket.once('close', () => {
      this.#connections.delete(socket);
      traffic.connectionsChanged(-1);
    });
    if (traffic.crowded) {
      refused.add();
      socket.write(rawAnswer(TOO_MANY_CONNECTIONS));
      socket.destroySoon();
    } else this.#connections.set(socket, new NodeConnection(socket, this.#context));
  }

  #asked(request: IncomingMessage, response: ServerResponse): void {
    const exchange = this.#exchange(request, response);
    if (exchange === null) return;
    const fault = this.#framing.fault ?? oldFault(request, this.#framing);
    if (fault !== null) exchange.answer(errorAnswer({ code: 'bad_request', message: fault }), 'close');
    else if (request.httpVersionMajor !== 1) exchange.answer(VERSION_NOT_SUPPORTED, 'close');
    else this.#route(exchange, request);
  }

  #route(exchange: NodeExchange, request: IncomingMessage): void {
    const target = readTarget(request.url ?? '');
    if (target === null) exchange.answer(BAD_TARGET, 'close');
    else if (target.path !== '*') {
      const head = new NodeRequestHead(request, target);
      exchange.inTurn(REQUEST_WORK, () =>
        run(this.#dispatch.handler(head.method, head.path), exchange, head),
      );
    } else if (request.method === 'OPTIONS') exchange.answer(OPTIONS_OF_SERVER);
    else exchange.answer(BAD_TARGET, 'close');
  }

  #refuse(request: IncomingMessage, response: ServerResponse, answer: Answer): void {
    this.#exchange(request, response)?.answer(answer, 'close');
  }

  /**
   * Creates the exchange of a request and loads its fields into {@link #framing}; null if the connection no longer
   * answers.
   */
  #exchange(request: IncomingMessage, response: ServerResponse): NodeExchange | null {
    const connection = this.#connections.get(request.socket);
    if (connection === undefined || connection.closing) return null;
    const framing = this.#framing;
    framing.begin();
    const { rawHeaders } = request;
    for (let i = 0; i < rawHeaders.length; i += 2)
      framing.field(rawHeaders[i].toLowerCase(), rawHeaders[i + 1]);
    const shape = {
      headersOnly: request.method === 'HEAD',
      bodyBytes: framing.bodyBytes,
      closes: !response.shouldKeepAlive,
      // HTTP/1.0 has no `100 Continue` (RFC 9110, 10.1.1).
      expectsContinue: framing.expects && request.httpVersionMinor > 0,
    };
    return new NodeExchange(request, response, connection, shape, this.#context);
  }
}

/**
 * RFC 9112, 6.1: HTTP/1.0 has no transfer codings, so a proxy that forwarded this request may have read it differently.
 */
function oldFault(request: IncomingMessage, framing: Framing): string | null {
  if (request.httpVersionMinor > 0 || !framing.chunked) return null;
  return 'an HTTP/1.0 request cannot use Transfer-Encoding; send Content-Length, or use HTTP/1.1';
}

/** Node.js passes the raw socket of a CONNECT request and stops reading from it. */
function refuseTunnel(socket: Duplex): void {
  socket.on('error', () => {});
  socket.once('end', () => socket.destroy());
  socket.end(rawAnswer(NO_TUNNELS));
  socket.resume();
}

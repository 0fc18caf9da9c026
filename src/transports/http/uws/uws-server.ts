import * as library from 'uWebSockets.js';
import {
  App,
  type HttpRequest,
  type HttpResponse,
  type TemplatedApp,
  type us_listen_socket,
  us_listen_socket_close,
  us_socket_local_port,
} from 'uWebSockets.js';
import { listenProblem, type TcpAddress } from '../../tcp-address.ts';
import { errorAnswer, TOO_MANY_CONNECTIONS } from '../answer.ts';
import type { ExchangeContext } from '../exchange.ts';
import { Framing } from '../framing.ts';
import { KeptRequestHead } from '../kept-request-head.ts';
import type { EngineServer, HttpEngine } from '../listener.ts';
import { CONNECTION_WORK, FIRST_READ_WORK, REQUEST_WORK, type RequestTurns } from '../request-turns.ts';
import { type Handler, methodNotAllowed, methodsOf, type RouteTable, run } from '../routes.ts';
import { UwsExchange } from './uws-exchange.ts';
import { UwsRequestHead } from './uws-request.ts';

/**
 * Values of `LIBUS_LISTEN_DEFAULT` and `LIBUS_LISTEN_EXCLUSIVE_PORT`. The declared constants do not exist at run time.
 */
const LISTEN = { shared: 0, alone: 1 } as const;

type Opened = (socket: us_listen_socket | false) => void;

/** uWebSockets.js accepts host and options together, but its type declarations do not include this. */
interface Listening {
  listen(port: number, options: number, opened: Opened): void;
  listen(host: string, port: number, options: number, opened: Opened): void;
}

/** Makes uWebSockets.js omit the header field with its name. Neither the function nor the number is declared. */
const NO_MARK = '999999990007';

/** uWebSockets.js treats any `Connection` value of this length as `close`. */
const CLOSE_LENGTH = 'close'.length;

/** The parser does not support trailer fields. It reads them as the next request, after the body has been passed on. */
const NO_TRAILERS = errorAnswer({
  code: 'bad_request',
  message: 'trailer fields are not supported; send the body without them, or set HTTP_SERVER_ENGINE=node',
});

/**
 * HTTP with uWebSockets.js. `docs/http.md` lists the limits of its parser.
 *
 * The library closes a connection after 10 s without progress on the head of a request, its body, or the reading of the
 * answer. It also closes a connection whose request head is too large. A request that waits for its answer has no
 * timeout.
 *
 * While a request waits for its answer, the parser continues with the bytes it has read, and closes the connection if
 * they contain another request. `Exchange.holdInput` makes a request in a later read wait. The library also closes the
 * connection when the caller closes its sending side. `holdInput` delays that until the answer is ready, but not while
 * a large answer is being sent.
 */
export const UWS_ENGINE: HttpEngine = {
  name: 'uws',
  inThreads: false,
  server: (table, context) => new UwsServer(table, context),
};

(library as unknown as { _cfg(switches: string): void })._cfg(NO_MARK);

class UwsServer implements EngineServer {
  readonly #app: TemplatedApp;
  readonly #context: ExchangeContext;
  readonly #head = new UwsRequestHead();
  readonly #framing = new Framing();
  /** Null while the port is closed. */
  #socket: us_listen_socket | null = null;

  constructor(table: RouteTable, context: ExchangeContext) {
    this.#context = context;
    this.#app = App();
    this.#app.filter((response, change) => this.#connected(response, change));
    this.#mount(table);
  }

  async listen(address: TcpAddress): Promise<number> {
    const socket = listen(this.#app, address);
    // uWebSockets.js does not report the reason.
    if (socket === false) throw systemFailure((await listenProblem(address)) ?? 'unknown error');
    this.#socket = socket;
    return us_socket_local_port(socket);
  }

  closePort(): void {
    if (this.#socket !== null) us_listen_socket_close(this.#socket);
    this.#socket = null;
  }

  close(): void {
    this.#app.close();
  }

  #connected(response: HttpResponse, change: number): void {
    const { traffic, turns } = this.#context;
    traffic.connectionsChanged(change);
    if (change < 0) return;
    if (traffic.crowded) refuseConnection(response, this.#context);
    else if (turns.has(CONNECTION_WORK)) turns.spend(CONNECTION_WORK);
    else readLater(response, turns);
  }

  #mount({ routes, unknown }: RouteTable): void {
    const app = this.#app;
    for (const route of routes) {
      const { path, handle } = route;
      const methods = methodsOf(route);
      if (methods === null) app.any(path, this.#served(handle));
      else {
        const served = this.#served(handle, false);
        if (methods.includes('POST')) app.post(path, served);
        if (methods.includes('GET')) app.get(path, served).head(path, this.#served(handle, true));
        app.any(path, this.#served(methodNotAllowed(route)));
      }
    }
    app.any('/*', this.#served(unknown));
  }

  /** `headersOnly` is undefined if it depends on the method of the request. */
  #served(handle: Handler, headersOnly?: boolean) {
    const framing = this.#framing;
    return (res: HttpResponse, request: HttpRequest): void => {
      framing.begin();
      request.forEach(framing.field);
      const { bodyBytes, fault } = framing;
      const endsItself = framing.firstConnectionLength === CLOSE_LENGTH;
      const shape = {
        headersOnly: headersOnly ?? request.getCaseSensitiveMethod() === 'HEAD',
        bodyBytes,
        closes: endsItself || framing.closes,
        expectsContinue: framing.expects,
      };
      const exchange = new UwsExchange(res, shape, endsItself, this.#context);
      if (fault !== null) exchange.refuse(errorAnswer({ code: 'bad_request', message: fault }));
      else if (framing.announcesTrailers) exchange.refuse(NO_TRAILERS);
      else if (exchange.hasTurn(REQUEST_WORK)) run(handle, exchange, this.#head.of(request, res));
      else {
        const head = new KeptRequestHead(this.#head.of(request, res));
        exchange.keepBody();
        exchange.waitForTurn(REQUEST_WORK, () => run(handle, exchange, head));
      }
      exchange.handled();
    };
  }
}

/**
 * Reads nothing from a new connection before its turn, so that callers who connect again and again do not get ahead of
 * others. Nothing closes the connection meanwhile, except the end of the server.
 */
function readLater(response: HttpResponse, turns: RequestTurns): void {
  let isOpen = true;
  response.onAborted(() => {
    isOpen = false;
  });
  response.pause();
  turns.wait(FIRST_READ_WORK, () => {
    if (isOpen) response.resume();
  });
}

/** Answers before the caller has sent a request. The caller finds the answer when it sends its first request. */
function refuseConnection(response: HttpResponse, { refused }: ExchangeContext): void {
  refused.add();
  const { status, contentType, headers, body } = TOO_MANY_CONNECTIONS;
  response.writeStatus(status).writeHeader('Content-Type', contentType);
  for (const name in headers) response.writeHeader(name, headers[name]);
  response.end(body, true);
}

function systemFailure(code: string): Error {
  return Object.assign(new Error(`listen ${code}`), { code });
}

function listen(app: TemplatedApp, { host, port, shared = false }: TcpAddress): us_listen_socket | false {
  // The callback runs before `listen` returns.
  let socket: us_listen_socket | false = false;
  const opened: Opened = result => {
    socket = result;
  };
  const sharing = shared ? LISTEN.shared : LISTEN.alone;
  const listening = app as unknown as Listening;
  if (host === '') listening.listen(port, sharing, opened);
  else listening.listen(host, port, sharing, opened);
  return socket;
}

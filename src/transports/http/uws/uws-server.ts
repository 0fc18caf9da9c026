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
import { listenProblem, type TcpAddress } from '../../listen-failure.ts';
import type { EngineServer, HttpEngine } from '../engine.ts';
import type { ExchangeContext } from '../exchange.ts';
import { Framing } from '../framing.ts';
import { type Handler, methodNotAllowed, methodsOf, type RouteTable, run } from '../routes.ts';
import { errorAnswer, TOO_MANY_CONNECTIONS } from '../status.ts';
import { REQUEST_WORK } from '../turns.ts';
import { UwsExchange } from './uws-exchange.ts';
import { KeptRequestHead, UwsRequestHead } from './uws-request.ts';

/** `LIBUS_LISTEN_DEFAULT` and `LIBUS_LISTEN_EXCLUSIVE_PORT`; the names that are declared are not there at run time. */
const LISTEN = { shared: 0, alone: 1 } as const;

type Opened = (socket: us_listen_socket | false) => void;

/** uWebSockets.js takes host and options together, which its declarations leave out. */
interface Listening {
  listen(port: number, options: number, opened: Opened): void;
  listen(host: string, port: number, options: number, opened: Opened): void;
}

/** Makes uWebSockets.js leave out the field that names it. Neither the function nor the number is declared. */
const NO_MARK = '999999990007';

/** What uWebSockets.js takes for `close` in the `Connection` field: any value of this length. */
const CLOSE_LENGTH = 'close'.length;

/** The parser has no trailer fields: it reads them as the next request, after the body has been handed over. */
const NO_TRAILERS = errorAnswer({
  code: 'bad_request',
  message: 'trailer fields are not read here; send the body without them, or set HTTP_SERVER_ENGINE=node',
});

/**
 * HTTP by uWebSockets.js. `docs/http.md` lists what its parser cannot do.
 *
 * Bounds that it sets: 10 s without progress on a request's head, its body or the reading of its answer end the
 * connection, and so does a request head that is too large. A request that waits for its answer has no bound.
 *
 * Its parser goes on with what it has read while a request waits for its answer, and ends the connection at the next
 * request. In a later read that one waits (`Exchange.holdInput`). It also ends the connection when it reads that the
 * caller has closed its side; `holdInput` puts that off for the wait, but not for the time that a large answer takes to
 * leave.
 */
export const UWS_ENGINE: HttpEngine = {
  name: 'uws',
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
    // uWebSockets.js does not tell why.
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
    const { traffic } = this.#context;
    traffic.connectionsChanged(change);
    if (change > 0 && traffic.crowded) refuseConnection(response, this.#context);
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

  /** `headersOnly` is undefined where only the request tells. */
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
        const head = new KeptRequestHead(this.#head.of(request, res), request);
        exchange.keepBody();
        exchange.waitForTurn(REQUEST_WORK, () => run(handle, exchange, head));
      }
      exchange.handled();
    };
  }
}

/** Answers before anything was asked: a caller that sends its first request now finds the answer there. */
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

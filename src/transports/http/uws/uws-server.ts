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
import { type Handler, methodNotAllowed, methodsOf, type RouteTable, run } from '../routes.ts';
import { UwsExchange } from './uws-exchange.ts';
import { UwsRequestHead } from './uws-request.ts';

/** `LIBUS_LISTEN_DEFAULT` and `LIBUS_LISTEN_EXCLUSIVE_PORT`; the names that are declared are not there at run time. */
const LISTEN = { shared: 0, alone: 1 } as const;

type Opened = (socket: us_listen_socket | false) => void;

/** uWebSockets.js takes host and options together, which its declarations leave out. */
interface Listening {
  listen(port: number, options: number, opened: Opened): void;
  listen(host: string, port: number, options: number, opened: Opened): void;
}

/**
 * HTTP by uWebSockets.js.
 *
 * Bounds that it sets: 10 s without progress on a request's head, its body or the reading of its answer end the
 * connection, and so does a request head beyond a few KiB. A request that waits for its answer has no bound.
 *
 * What uWebSockets.js cannot do, and has no option for:
 *
 * - HTTP/1.0. Its parser answers 505 and closes the connection before any handler hears of the request.
 * - Pipelining behind an answer that comes later. A further request in the same read as one without an answer yet ends
 *   the connection, and the first request gets no answer. In a later read it waits (`Exchange.holdInput`).
 * - Half-closed connections. Where the end of the caller's side is read before the answer is complete, the connection
 *   is closed. `holdInput` puts that off for the wait, but not for the time that a large answer takes to leave.
 */
export const UWS_ENGINE: HttpEngine = {
  server: (table, context) => new UwsServer(table, context),
};

class UwsServer implements EngineServer {
  readonly #app: TemplatedApp;
  readonly #context: ExchangeContext;
  readonly #head = new UwsRequestHead();
  /** Null while the port is closed. */
  #socket: us_listen_socket | null = null;

  constructor(table: RouteTable, context: ExchangeContext) {
    this.#context = context;
    this.#app = App();
    this.#app.filter((_, change) => context.traffic.connectionsChanged(change));
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

  #mount({ routes, unknown }: RouteTable): void {
    const app = this.#app;
    for (const route of routes) {
      const { path } = route;
      const methods = methodsOf(route);
      const served = this.#served(route.handle);
      if (methods === null) app.any(path, served);
      else {
        if (methods.includes('POST')) app.post(path, served);
        if (methods.includes('GET')) app.get(path, served).head(path, served);
        app.any(path, this.#served(methodNotAllowed(route)));
      }
    }
    app.any('/*', this.#served(unknown));
  }

  #served(handle: Handler) {
    return (res: HttpResponse, request: HttpRequest): void => {
      const exchange = new UwsExchange(res, request.getMethod() === 'head', this.#context);
      run(handle, exchange, this.#head.of(request, res));
    };
  }
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

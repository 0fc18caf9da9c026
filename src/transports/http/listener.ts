import {
  App,
  type TemplatedApp,
  type us_listen_socket,
  us_listen_socket_close,
  us_socket_local_port,
} from 'uWebSockets.js';
import type { Clock } from '../../base/clock.ts';
import type { Service } from '../../base/lifecycle.ts';
import type { Logger } from '../../base/logger.ts';
import { type AddressSettings, listenFailure, listenProblem, type TcpAddress } from '../listen-failure.ts';
import { type Handler, mountRoutes, type Route } from './routes.ts';
import { Traffic } from './traffic.ts';

/** Port 0 takes any free port, which is then not shared. */
export interface HttpListenerOptions extends TcpAddress {
  readonly name: string;
  /** The settings that hold host and port, for the message when listening fails. */
  readonly settings: AddressSettings;
  readonly routes: readonly Route[];
  /** Answers paths that are none of the routes. */
  readonly unknown: Handler;
  /** How long `stop` waits for requests that are still being answered. */
  readonly drainMs: number;
  readonly clock: Clock;
  readonly log: Logger;
}

interface Mounted {
  readonly app: TemplatedApp;
  readonly traffic: Traffic;
}

interface Running extends Mounted {
  readonly port: number;
  /** Null once the port is closed, while connections are still served. */
  socket: us_listen_socket | null;
}

/** `LIBUS_LISTEN_DEFAULT` and `LIBUS_LISTEN_EXCLUSIVE_PORT`; the names that are declared are not there at run time. */
const LISTEN = { shared: 0, alone: 1 } as const;

type Opened = (socket: us_listen_socket | false) => void;

/** uWebSockets.js takes host and options together, which its declarations leave out. */
interface Listening {
  listen(port: number, options: number, opened: Opened): void;
  listen(host: string, port: number, options: number, opened: Opened): void;
}

/**
 * A cleartext HTTP/1.1 port.
 *
 * Bounds that uWebSockets.js sets: 10 s without progress on a request's head, its body or the reading of its answer
 * end the connection, and so does a request head beyond a few KiB. A request that waits for its answer has no bound.
 *
 * What uWebSockets.js cannot do, and has no option for:
 *
 * - HTTP/1.0. Its parser answers 505 and closes the connection before any handler hears of the request.
 * - Pipelining behind an answer that comes later. A further request in the same read as one without an answer yet ends
 *   the connection, and the first request gets no answer. In a later read it waits (`Exchange.holdInput`).
 * - Half-closed connections. Where the end of the caller's side is read before the answer is complete, the connection
 *   is closed. `holdInput` puts that off for the wait, but not for the time that a large answer takes to leave.
 */
export class HttpListener implements Service {
  readonly name: string;
  readonly #options: HttpListenerOptions;
  #running: Running | null = null;
  /** What a start left that found the port taken, for the next one: the library keeps every app for ever. */
  #mounted: Mounted | null = null;
  #stopped: Promise<void> = Promise.resolve();

  constructor(options: HttpListenerOptions) {
    this.name = options.name;
    this.#options = options;
  }

  /** The port that is listened on; 0 while there is none. */
  get port(): number {
    return this.#running?.port ?? 0;
  }

  /** How many requests wait for their answer. */
  get inFlight(): number {
    return this.#running?.traffic.inFlight ?? 0;
  }

  /**
   * Opens the port.
   *
   * @throws Error naming the address and the settings to change, when it cannot be opened
   */
  async start(): Promise<void> {
    this.#mounted ??= mount(this.#options);
    const { app, traffic } = this.#mounted;
    const socket = listen(app, this.#options);
    if (socket === false) {
      // uWebSockets.js does not tell why.
      const problem = await listenProblem(this.#options);
      throw new Error(listenFailure(this.#options, problem ?? 'unknown error', this.#options.settings));
    }
    this.#mounted = null;
    this.#running = { app, traffic, socket, port: us_socket_local_port(socket) };
  }

  /**
   * From now on every answer asks its caller to close the connection, so that callers move elsewhere. A shared port is
   * closed for this listener, because callers that come back here would be asked to leave again.
   */
  drain(): void {
    if (this.#running === null) return;
    if (this.#options.shared === true) closePort(this.#running);
    this.#running.traffic.drain();
  }

  /**
   * Closes the port, lets callers finish within the bound, then closes every connection.
   * @param drainMs the bound, where it is not the one of the options
   */
  stop(drainMs = this.#options.drainMs): Promise<void> {
    const running = this.#running;
    if (running !== null) {
      this.#running = null;
      this.#stopped = this.#close(running, drainMs);
    }
    return this.#stopped;
  }

  async #close(running: Running, drainMs: number): Promise<void> {
    const { app, traffic } = running;
    closePort(running);
    traffic.drain();
    await traffic.drained(this.#options.clock, drainMs);
    // The last answer reaches the socket when the callback that wrote it has returned to uWebSockets.js, which is
    // after the promise above has run on. Closing before that would throw the answer away.
    await new Promise(resolve => setImmediate(resolve));
    app.close();
  }
}

function closePort(running: Running): void {
  if (running.socket !== null) us_listen_socket_close(running.socket);
  running.socket = null;
}

function mount(options: HttpListenerOptions): Mounted {
  const traffic = new Traffic();
  const app = App();
  app.filter((_, change) => traffic.connectionsChanged(change));
  mountRoutes(app, options, { traffic, log: options.log });
  return { app, traffic };
}

function listen(
  app: TemplatedApp,
  { host, port, shared = false }: HttpListenerOptions,
): us_listen_socket | false {
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

import type { Clock } from '../../base/clock.ts';
import { systemCode } from '../../base/fault.ts';
import type { Service } from '../../base/lifecycle.ts';
import { CountedWarning, type Logger } from '../../base/logger.ts';
import { type AddressSettings, listenFailure, type TcpAddress } from '../tcp-address.ts';
import type { ExchangeContext } from './exchange.ts';
import { RequestTurns } from './request-turns.ts';
import type { RouteTable } from './routes.ts';
import { DEFAULT_HTTP_LIMITS, HeldMemory, type HttpLimits, Traffic } from './traffic.ts';

/** Reads and writes HTTP/1.1 on sockets. Routes and their answers are the same with every engine. */
export interface HttpEngine {
  readonly name: 'uws' | 'node';
  /** Creates a server that is not listening yet. */
  server(table: RouteTable, context: ExchangeContext): EngineServer;
}

/** One port and its connections. The server reports connections and requests to the traffic of its context. */
export interface EngineServer {
  /**
   * Opens the port. May be called again after a failure.
   * @returns the port number
   * @throws Error with the system's `code`, such as `EADDRINUSE`, if the port cannot be opened
   */
  listen(address: TcpAddress): Promise<number>;
  /** Closes the port. Existing connections are still served. Does nothing if the port is closed. */
  closePort(): void;
  /** Closes every connection immediately. The server is not used afterwards. */
  close(): void;
}

/** Port 0 takes any free port, which is then not shared. */
export interface HttpListenerOptions extends TcpAddress, RouteTable {
  readonly name: string;
  readonly engine: HttpEngine;
  /** The settings that hold host and port, for the message when listening fails. */
  readonly settings: AddressSettings;
  /** How long `stop` waits for requests that are still being answered. */
  readonly drainMs: number;
  readonly limits?: HttpLimits;
  readonly clock: Clock;
  readonly log: Logger;
}

interface Made {
  readonly server: EngineServer;
  readonly context: ExchangeContext;
}

interface Running extends Made {
  readonly port: number;
}

/** A cleartext HTTP/1.1 port. */
export class HttpListener implements Service {
  readonly name: string;
  readonly #options: HttpListenerOptions;
  #running: Running | null = null;
  /**
   * The server of a start that failed because the port was in use. The next start reuses it, because uWebSockets.js
   * never frees an app.
   */
  #made: Made | null = null;
  /** The start in progress; it never rejects. */
  #starting: Promise<void> | null = null;
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
    return this.#running?.context.traffic.inFlight ?? 0;
  }

  /**
   * Opens the port.
   *
   * @throws Error naming the address and the settings to change, when it cannot be opened
   */
  start(): Promise<void> {
    const opened = this.#open();
    this.#starting = opened.catch(() => {});
    return opened;
  }

  /**
   * From now on every answer asks its caller to close the connection, so that callers move elsewhere. A shared port is
   * closed for this listener, because callers that come back here would be asked to leave again.
   */
  drain(): void {
    if (this.#running === null) return;
    if (this.#options.shared === true) this.#running.server.closePort();
    this.#running.context.traffic.drain();
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
    } else if (this.#starting !== null) {
      this.#stopped = this.#starting.then(() => (this.#running === null ? undefined : this.stop(drainMs)));
    }
    return this.#stopped;
  }

  async #open(): Promise<void> {
    this.#made ??= make(this.#options);
    const made = this.#made;
    try {
      const port = await made.server.listen(this.#options);
      this.#made = null;
      this.#running = { ...made, port };
    } catch (thrown) {
      throw new Error(listenFailure(this.#options, systemCode(thrown), this.#options.settings));
    } finally {
      this.#starting = null;
    }
  }

  async #close({ server, context }: Running, drainMs: number): Promise<void> {
    const { traffic, gaveWay, refused } = context;
    server.closePort();
    traffic.drain();
    await traffic.drained(this.#options.clock, drainMs);
    // The engine writes the last answer to the socket after the callback that produced it has returned, which is later
    // than the promise above resolves. Closing the server before that would discard the answer.
    await new Promise(resolve => setImmediate(resolve));
    server.close();
    gaveWay.flush();
    refused.flush();
  }
}

function make(options: HttpListenerOptions): Made {
  const { name, log, limits = DEFAULT_HTTP_LIMITS } = options;
  const context: ExchangeContext = {
    traffic: new Traffic(limits.maxConnections),
    memory: new HeldMemory(limits.maxHeldBytes),
    turns: new RequestTurns(),
    gaveWay: new CountedWarning(
      options,
      'Dropped HTTP requests to free memory: their bodies were incomplete, or their answers unread',
      { listener: name, limit: limits.maxHeldBytes },
    ),
    refused: new CountedWarning(options, 'Refused HTTP connections: too many are open', {
      listener: name,
      limit: limits.maxConnections,
    }),
    log,
  };
  return { context, server: options.engine.server(options, context) };
}

import type { Clock } from '../../base/clock.ts';
import { systemCode } from '../../base/fault.ts';
import type { Service } from '../../base/lifecycle.ts';
import { CountedWarning, type Logger } from '../../base/logger.ts';
import { Bound } from '../../base/threads/shared-bound.ts';
import { type AddressSettings, listenFailure, type TcpAddress } from '../tcp-address.ts';
import type { ExchangeContext } from './exchange.ts';
import { RequestTurns } from './request-turns.ts';
import type { RouteTable } from './routes.ts';
import { DEFAULT_HTTP_LIMITS, HeldMemory, type HttpLimits, Traffic } from './traffic.ts';

/** Reads and writes HTTP/1.1 on sockets. Routes and their answers are the same with every engine. */
export interface HttpEngine {
  readonly name: 'uws' | 'node';
  /**
   * Whether the engine can serve in threads other than the primary one. If a thread ends by itself while a listener of
   * uWebSockets.js is open, Node.js finds handles of the event loop that it does not own, and aborts the process.
   */
  readonly inThreads: boolean;
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

/** With port 0, the system chooses a free port, which is not shared. */
export interface HttpListenerOptions extends TcpAddress, RouteTable {
  readonly name: string;
  readonly engine: HttpEngine;
  /** The settings that hold host and port, for the message when listening fails. */
  readonly settings: AddressSettings;
  /** Whether `drain` closes the port, because other processes accept connections on it. Default: `shared`. */
  readonly closesToDrain?: boolean;
  /** How long `stop` waits for requests in flight. */
  readonly drainMs: number;
  readonly limits?: HttpLimits;
  /** The connections of this port in all threads that serve it, instead of `maxConnections` of the limits. */
  readonly connections?: Bound;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A server that may not be listening yet. */
interface Created {
  readonly server: EngineServer;
  readonly context: ExchangeContext;
}

interface Running extends Created {
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
  #created: Created | null = null;
  /** The start in progress; it never rejects. */
  #starting: Promise<void> | null = null;
  #stopped: Promise<void> = Promise.resolve();

  constructor(options: HttpListenerOptions) {
    this.name = options.name;
    this.#options = options;
  }

  /** The port number; 0 while the port is closed. */
  get port(): number {
    return this.#running?.port ?? 0;
  }

  /** Number of open connections. */
  get connections(): number {
    return this.#running?.context.traffic.connections ?? 0;
  }

  /** Number of requests in flight. */
  get inFlight(): number {
    return this.#running?.context.traffic.inFlight ?? 0;
  }

  /**
   * Opens the port.
   *
   * @throws Error naming the address and the settings to change, if the port cannot be opened
   */
  start(): Promise<void> {
    const opened = this.#open();
    this.#starting = opened.catch(() => {});
    return opened;
  }

  /**
   * From now on every answer asks the caller to close the connection, so that callers move to other processes. If they
   * share the port, it is closed for this listener, because callers that reconnect here would be asked to leave again.
   */
  drain(): void {
    if (this.#running === null) return;
    const { shared = false, closesToDrain = shared } = this.#options;
    if (closesToDrain) this.#running.server.closePort();
    this.#running.context.traffic.drain();
  }

  /**
   * Closes the port, waits up to `drainMs` for requests in flight, then closes every connection.
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
    this.#created ??= create(this.#options);
    const created = this.#created;
    try {
      const port = await created.server.listen(this.#options);
      this.#created = null;
      this.#running = { ...created, port };
    } catch (thrown) {
      throw new Error(listenFailure(this.#options, systemCode(thrown), this.#options.settings));
    } finally {
      this.#starting = null;
    }
  }

  async #close({ server, context }: Running, drainMs: number): Promise<void> {
    const { traffic, discarded, refused } = context;
    server.closePort();
    traffic.drain();
    await traffic.drained(this.#options.clock, drainMs);
    // The engine writes the last answer to the socket after the callback that produced it has returned, which is later
    // than the promise above resolves. Closing the server before that would discard the answer.
    await new Promise(resolve => setImmediate(resolve));
    server.close();
    discarded.flush();
    refused.flush();
  }
}

function create(options: HttpListenerOptions): Created {
  const { name, log, limits = DEFAULT_HTTP_LIMITS } = options;
  const connections = options.connections ?? Bound.ofOneThread(limits.maxConnections);
  const context: ExchangeContext = {
    traffic: new Traffic(connections),
    memory: new HeldMemory(limits.maxHeldBytes),
    turns: new RequestTurns(),
    discarded: new CountedWarning(
      options,
      'Dropped HTTP requests to free memory: their bodies were incomplete, or their answers unread',
      { listener: name, limit: limits.maxHeldBytes },
    ),
    refused: new CountedWarning(options, 'Refused HTTP connections: too many are open', {
      listener: name,
      limit: connections.max,
    }),
    log,
  };
  return { context, server: options.engine.server(options, context) };
}

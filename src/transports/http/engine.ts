import type { TcpAddress } from '../tcp-address.ts';
import type { ExchangeContext } from './exchange.ts';
import type { RouteTable } from './routes.ts';

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

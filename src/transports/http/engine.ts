import type { TcpAddress } from '../listen-failure.ts';
import type { ExchangeContext } from './exchange.ts';
import type { RouteTable } from './routes.ts';

/** What reads HTTP/1.1 from sockets and writes it. Routes, and what they answer, are the same with every engine. */
export interface HttpEngine {
  readonly name: 'uws' | 'node';
  /** A server that is not listening yet. */
  server(table: RouteTable, context: ExchangeContext): EngineServer;
}

/** One port and its connections. It tells the traffic of its context about both, and about requests. */
export interface EngineServer {
  /**
   * Opens the port. May be called again after it failed.
   * @returns the port
   * @throws Error whose `code` is the system's, such as `EADDRINUSE`, when it cannot be opened
   */
  listen(address: TcpAddress): Promise<number>;
  /** Closes the port; connections are still served. Harmless when it is closed. */
  closePort(): void;
  /** Ends every connection at once. The server is not used afterwards. */
  close(): void;
}

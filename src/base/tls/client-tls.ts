import type { ConnectionOptions } from 'node:tls';

/** TLS as a client of one server, or of one group of servers, uses it. */
export interface ClientTls {
  /** What `tls.connect` needs beside the address. */
  readonly options: ConnectionOptions;
  /** The reason why a connection failed, with the setting that helps. */
  explain(reason: string): string;
}

import type { ConnectionOptions } from 'node:tls';
import type { Clock } from '../../../../base/clock.ts';
import type { Logger } from '../../../../base/logger.ts';

/** Where a server is: a host name or an address, or the directory of its unix socket. */
export interface PostgresHost {
  readonly host: string;
  readonly port: number;
}

export interface PostgresTaskStoreOptions {
  /** At least one. The one that accepts writes is used, so that a failover is followed. */
  readonly hosts: readonly PostgresHost[];
  readonly database: string;
  readonly user: string;
  /** The password, or what reads it for each connection. */
  readonly password: string | (() => Promise<string>);
  /** Null for connections without TLS. */
  readonly tls: ConnectionOptions | null;
  /** Adds to the reason of a failed connection which setting helps. */
  readonly explain: (reason: string) => string;
  /** Maximum number of connections. */
  readonly connections: number;
  /** The value of `synchronous_commit` for what is written; null for that of the server. */
  readonly synchronousCommit: 'on' | 'off' | 'local' | 'remote_write' | 'remote_apply' | null;
  /** Timeout of an operation. A statement that takes longer is canceled. */
  readonly timeoutMs: number;
  /** Timeout of the first connection. */
  readonly startMs: number;
  /** Maximum number of operations in progress. Further ones are rejected as overloaded. */
  readonly maxInFlight: number;
  /** The time of the store; null for the time of the server. */
  readonly time: Clock | null;
  /** For delays and timeouts. */
  readonly clock: Clock;
  /** A random number from 0 to below 1, for the delays between attempts. */
  readonly random: () => number;
  readonly logger: Logger;
}

/** Defaults of the options that have one. */
export const POSTGRES_TASK_STORE_DEFAULTS = {
  password: '',
  tls: null,
  explain: reason => reason,
  connections: 5,
  synchronousCommit: null,
  timeoutMs: 5_000,
  startMs: 30_000,
  maxInFlight: 10_000,
  time: null,
  random: Math.random,
} as const satisfies Partial<PostgresTaskStoreOptions>;

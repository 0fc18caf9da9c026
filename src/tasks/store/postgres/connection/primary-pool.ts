import pg from 'pg';
import type { Statements } from '../layout/migrate.ts';
import { bounded } from './late.ts';
import type { PostgresHost, PostgresTaskStoreOptions } from './options.ts';

/** Connections that are not used for this long are closed. */
const IDLE_MS = 5 * 60_000;
/** Connections are replaced after this time, so that a service does not stay with a server that is to be drained. */
const LIFETIME_S = 30 * 60;

/** Types of answers. `int8` holds times and counts, which are below 2^53. */
const BOOL = 16;
const INT8 = 20;
const JSON_TYPE = 114;

const types = {
  getTypeParser: (type: number) => (text: string) => {
    if (type === JSON_TYPE) return JSON.parse(text);
    if (type === BOOL) return text === 't';
    return type === INT8 ? Number(text) : text;
  },
};

export type Connection = pg.PoolClient;

/** A server that does not accept writes, as its own error for a write would say. */
class ReadOnly extends Error {
  readonly severity = 'ERROR';
  readonly code = '25006';
}

/**
 * Connections to the server that accepts writes: the first one of a list that does. They are kept and used again. Whoever
 * takes a connection releases it.
 *
 * The client is `pg`: it is released often, nothing of it is compiled, it prepares nothing unless it is told to, and it gives
 * each connection to its user, who can cancel a late statement and destroy the connection. postgres.js hides connections;
 * its pipelining is not needed, because calls that wait together are sent as one (`lanes.ts`).
 */
export class PrimaryPool {
  readonly #pools: readonly pg.Pool[];
  #at = 0;

  /** @param lost called when an unused connection is lost */
  constructor(options: PostgresTaskStoreOptions, lost: (failure: Error) => void) {
    this.#pools = options.hosts.map(host => openPool(options, host, lost));
  }

  /** @throws (rejects with) Error of the last server, if none can be used. Nothing was sent */
  async connect(): Promise<Connection> {
    for (let tried = 1; ; tried++) {
      const pool = this.#pools[this.#at];
      try {
        return await pool.connect();
      } catch (failure) {
        if (pool === this.#pools[this.#at]) this.#at = (this.#at + 1) % this.#pools.length;
        if (tried === this.#pools.length) throw failure;
      }
    }
  }

  /** Closes connections as they are released. */
  async end(): Promise<void> {
    await Promise.all(this.#pools.map(pool => pool.end()));
  }
}

function openPool(
  { database, user, password, tls, connections, timeoutMs, clock }: PostgresTaskStoreOptions,
  { host, port }: PostgresHost,
  lost: (failure: Error) => void,
): pg.Pool {
  const pool = new pg.Pool({
    host,
    port,
    database,
    user,
    password,
    ssl: tls ?? false,
    max: connections,
    connectionTimeoutMillis: timeoutMs,
    idleTimeoutMillis: IDLE_MS,
    maxLifetimeSeconds: LIFETIME_S,
    keepAlive: true,
    allowExitOnIdle: true,
    application_name: 'sluice',
    types,
    // The pool bounds the connection and the login only, and destroys the connection if this fails.
    onConnect: connection => requireWritable(bounded(connection, clock, timeoutMs)),
  } as pg.PoolConfig);
  pool.on('error', lost);
  return pool;
}

async function requireWritable(connection: Statements): Promise<void> {
  const { rows } = await connection.query("SELECT current_setting('transaction_read_only') AS read_only");
  if (rows[0].read_only === 'on') throw new ReadOnly('cannot write in a read-only transaction');
}

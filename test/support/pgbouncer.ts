import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { giveTo, noPostgres, owner, type PostgresServer } from './postgres-server.ts';
import { during, ServerProcess, startOn } from './server-process.ts';
import type { Teardown } from './stores.ts';

const PROGRAM = ['/usr/sbin/pgbouncer', '/opt/homebrew/bin/pgbouncer', '/usr/local/bin/pgbouncer'].find(
  existsSync,
);

/** Why tests with PgBouncer are skipped; false where it can be started. */
export const noPgBouncer: string | false =
  PROGRAM === undefined ? 'PgBouncer is not installed: install the Debian package pgbouncer' : noPostgres;

/** A PgBouncer in transaction mode, which ends with its test. Callers of every database share a few connections. */
export function pgBouncerFor(t: Teardown, server: PostgresServer): Promise<ServerProcess> {
  return during(
    t,
    startOn(undefined, port => new PgBouncer(port, server)),
  );
}

class PgBouncer extends ServerProcess {
  constructor(port: number, server: PostgresServer) {
    super(port);
    const lines = [
      '[databases]',
      `* = host=127.0.0.1 port=${server.port} user=${server.user}`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${port}`,
      'unix_socket_dir =',
      'auth_type = any',
      'pool_mode = transaction',
      // Without this, each client gets the connection of before, and what is kept in it.
      'server_round_robin = 1',
      'default_pool_size = 3',
      'max_client_conn = 500',
      'max_db_connections = 3',
    ];
    writeFileSync(this.#file, `${lines.join('\n')}\n`);
    giveTo(this.directory, owner());
  }

  get #file(): string {
    return join(this.directory, 'pgbouncer.ini');
  }

  protected program() {
    return { command: PROGRAM as string, args: [this.#file], ready: /process up/, user: owner() };
  }
}

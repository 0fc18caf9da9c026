import { systemClock } from '../../../src/base/clock.ts';
import {
  POSTGRES_TASK_STORE_DEFAULTS,
  type PostgresTaskStoreOptions,
} from '../../../src/tasks/store/postgres/connection/options.ts';
import { PostgresTaskStore } from '../../../src/tasks/store/postgres/postgres-store.ts';
import { KeepingLogger } from '../keeping-logger.ts';
import type { PostgresServer } from '../postgres-server.ts';
import type { OpenedBackend } from './stored-things.ts';

/** A store, not started, in a database of a server on loopback. */
export function postgresTaskStore(
  { port, user }: { readonly port: number; readonly user: string },
  options: Partial<PostgresTaskStoreOptions> = {},
): PostgresTaskStore {
  return new PostgresTaskStore({
    ...POSTGRES_TASK_STORE_DEFAULTS,
    hosts: [{ host: '127.0.0.1', port }],
    database: 'postgres',
    user,
    clock: systemClock,
    logger: new KeepingLogger(),
    ...options,
  });
}

/** Tables with rows that belong to no tenant. */
const OF_ALL = ['layout', 'version'];

/** For machines that are busy with other tests. */
const TIMEOUT_MS = 60_000;

/** The other tables of a database. */
async function tablesOf(server: PostgresServer, database: string): Promise<string[]> {
  const text = `SELECT relname AS name FROM pg_class
    WHERE relnamespace = 'sluice'::regnamespace AND relkind = 'r' AND relname <> ALL ($1)`;
  const rows = await server.query<{ readonly name: string }>(text, { database, values: [OF_ALL] });
  return rows.map(({ name }) => name);
}

/** The database of which the others are copies. */
const TEMPLATE = 'template_tasks';

/** Databases of a server with the tables and functions of the store, and nothing in them. */
class Databases {
  readonly #server: PostgresServer;
  readonly #free: string[] = [];
  #made = 0;
  #template: Promise<void> | null = null;

  constructor(server: PostgresServer) {
    this.#server = server;
  }

  /** An empty database, to be given back when it is not used any more. */
  async take(): Promise<string> {
    this.#template ??= this.#makeTemplate();
    await this.#template;
    const free = this.#free.pop();
    if (free !== undefined) return free;
    const name = `tasks${++this.#made}`;
    await this.#server.query(`CREATE DATABASE ${name} TEMPLATE ${TEMPLATE}`);
    return name;
  }

  /** Empties the database. Deleting some rows takes less time than a new database. */
  async give(database: string): Promise<void> {
    const tables = await tablesOf(this.#server, database);
    await this.#server.query(tables.map(name => `DELETE FROM sluice.${name}`).join(';'), { database });
    this.#free.push(database);
  }

  async #makeTemplate(): Promise<void> {
    await this.#server.query(`CREATE DATABASE ${TEMPLATE}`);
    const store = postgresTaskStore(this.#server, { database: TEMPLATE });
    await store.start();
    await store.stop();
  }
}

/** By the server, so that backends of one server share what is in it. */
const known = new WeakMap<PostgresServer, Databases>();

function databasesOf(server: PostgresServer): Databases {
  const databases = known.get(server) ?? new Databases(server);
  known.set(server, databases);
  return databases;
}

/**
 * A backend of the exam: each store that is opened has a database of its own, which begins empty. `everything` reads that
 * of the last one: for each row, the table and the values.
 *
 * @param port of a pooler in front of the server; by default that of the server
 */
export function postgresBackend(name: string, server: PostgresServer, port = server.port): OpenedBackend {
  const databases = databasesOf(server);
  let last = '';
  return {
    name,
    async open(time) {
      const database = await databases.take();
      last = database;
      const start = async () => {
        const hosts = [{ host: '127.0.0.1', port }];
        const store = postgresTaskStore(server, { database, hosts, time, timeoutMs: TIMEOUT_MS });
        await store.start();
        return store;
      };
      let store = await start();
      return {
        store,
        close: async () => {
          await store.stop();
          await databases.give(database);
        },
        reopen: async () => {
          await store.stop();
          store = await start();
          return store;
        },
      };
    },
    async everything() {
      const found: string[] = [];
      for (const table of await tablesOf(server, last)) {
        const rows = await server.query(`SELECT * FROM sluice.${table}`, { database: last });
        found.push(...rows.map(row => `${table} ${JSON.stringify(row)}`));
      }
      return found.sort();
    },
  };
}

import { nodeSqlite } from '../../../src/tasks/store/sqlite/file/open-file.ts';
import type { Backend, OpenStore } from '../../exam/task-store/scene.ts';
import type { ManualClock } from '../manual-clock.ts';
import type { RedisServer } from '../redis-server.ts';
import type { Teardown } from '../temp-directory.ts';
import { redisBackend } from './redis-backend.ts';
import { sameThreadSqliteStore } from './same-thread-store.ts';
import { storePath } from './sqlite-files.ts';

/** A backend of which a test can see everything that is stored, whatever the operations of the store show. */
export interface OpenedBackend extends Backend {
  /**
   * Of SQLite: for each row, the table and the values. Of Redis: for each key, its name; for each member of a hint, the
   * name of the key and the member. Sorted.
   */
  everything(): Promise<string[]>;
}

/** Rows that belong to no tenant. */
const OF_ALL = new Set(['clock', 'numbering']);

export function openedSqlite(t: Teardown): OpenedBackend {
  const path = storePath(t);
  return {
    name: 'sqlite',
    async open(clock: ManualClock): Promise<OpenStore> {
      const open = async () => {
        const store = sameThreadSqliteStore({ path, synchronous: 'normal' }, clock);
        await store.start();
        return store;
      };
      let store = await open();
      return {
        store,
        close: () => store.stop(),
        reopen: async () => {
          await store.stop();
          store = await open();
          return store;
        },
      };
    },
    async everything() {
      const db = new (nodeSqlite().DatabaseSync)(path);
      try {
        const tables = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
        return tables
          .map(({ name }) => String(name))
          .filter(name => !OF_ALL.has(name))
          .flatMap(name =>
            db
              .prepare(`SELECT * FROM ${name}`)
              .all()
              .map(row => `${name} ${JSON.stringify(row)}`),
          )
          .sort();
      } finally {
        db.close();
      }
    },
  };
}

/** @param keyPrefix nothing else of the server may begin with it */
export function openedRedis(server: RedisServer, keyPrefix: string): OpenedBackend {
  return {
    ...redisBackend('redis', [server], keyPrefix),
    async everything() {
      const names = (await server.command('keys', `${keyPrefix}*`)) as string[];
      const found: string[] = [];
      for (const name of names) {
        if (name.includes('{')) found.push(name);
        else {
          const members = (await server.command('zrange', name, 0, -1)) as string[];
          found.push(...members.map(member => `${name} ${member}`));
        }
      }
      return found.sort();
    },
  };
}

/** The tables of a file in which a tenant has rows, one entry for each row, and those with rows of nobody. */
export function rowsOfTenant(path: string, domain: string): string[] {
  const db = new (nodeSqlite().DatabaseSync)(path);
  try {
    const sql =
      "SELECT m.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table' AND c.name = ?";
    const tables = db
      .prepare(sql)
      .all('tenant')
      .map(({ name }) => String(name));
    const found = tables.flatMap(name =>
      db
        .prepare(`SELECT 1 FROM ${name} WHERE tenant = (SELECT no FROM tenant WHERE name = ?)`)
        .all(domain)
        .map(() => name),
    );
    for (const [name, column, owner] of OWNED) {
      const nobodys = `SELECT 1 FROM ${name} WHERE ${column} NOT IN (SELECT ${owner}) LIMIT 1`;
      if (db.prepare(nobodys).get() !== undefined) found.push(`${name} of nobody`);
    }
    return found;
  } finally {
    db.close();
  }
}

/** Tables whose rows belong to a row of another table. */
const OWNED = [
  ['body', 'seq', 'seq FROM task'],
  ['event', 'seq', 'seq FROM task'],
  ['task_key', 'worker', 'no FROM worker'],
  ['task_group', 'worker', 'no FROM worker'],
  ['doc_name', 'doc', 'no FROM doc'],
] as const;

/** Names of the keys of a tenant in Redis, from the domain on. */
export async function keysOfTenant(server: RedisServer, domain: string): Promise<string[]> {
  const names = (await server.command('keys', `*{${domain}}:*`)) as string[];
  return names.map(name => name.slice(name.indexOf('}:') + 2));
}

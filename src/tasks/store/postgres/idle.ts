import { StoreFault } from '../trouble.ts';
import type { PostgresTaskStoreOptions } from './connection/options.ts';
import { type Connection, PrimaryPool } from './connection/primary-pool.ts';

/** A process that uses the tables says so at least once in this time (`ping` in `sql/lookout.ts`). */
const SAID_WITHIN_MS = 10_000;

const HAS_TABLES = "SELECT to_regclass('sluice.version') IS NOT NULL AS exists";
const LAST_USE = `SELECT max(used_at)::text AS at,
  extract(epoch FROM clock_timestamp() - max(used_at)) * 1000 < ${SAID_WITHIN_MS} AS recent FROM sluice.version`;

/**
 * Checks that no process of the service uses a database. If one has used it a moment ago, waits to see whether it still does.
 * Says nothing about a server that cannot be reached, because the start of a store says more.
 *
 * @param mayBeNew false if the database must have tables of the service
 * @throws (rejects with) Fault `store_failed` that says what to do
 */
export async function refuseUnlessIdle(options: PostgresTaskStoreOptions, mayBeNew: boolean): Promise<void> {
  const pool = new PrimaryPool(options, () => {});
  try {
    const connection = await connected(pool);
    if (connection === null) return;
    try {
      await check(connection, options, mayBeNew);
    } finally {
      connection.release();
    }
  } finally {
    await pool.end();
  }
}

async function connected(pool: PrimaryPool): Promise<Connection | null> {
  try {
    return await pool.connect();
  } catch {
    return null;
  }
}

async function check(
  connection: Connection,
  { database, clock }: PostgresTaskStoreOptions,
  mayBeNew: boolean,
): Promise<void> {
  const { exists } = (await connection.query(HAS_TABLES)).rows[0];
  if (!exists) {
    if (mayBeNew) return;
    throw refused(database, 'it has no tables of this service; give the database of TASKS_POSTGRES_URL');
  }
  const { at, recent } = (await connection.query(LAST_USE)).rows[0];
  if (recent !== true) return;
  await new Promise<void>(resolve => void clock.after(SAID_WITHIN_MS, resolve));
  const later = (await connection.query(LAST_USE)).rows[0];
  if (later.at !== at) throw refused(database, 'a process uses it; stop all processes of the service');
}

function refused(database: string, reason: string): StoreFault {
  return new StoreFault('other', `the task store in the database ${database} is not opened: ${reason}`);
}

import { within } from '../../../base/clock.ts';
import { asError } from '../../../base/fault.ts';
import { StoreFault } from '../trouble.ts';
import { bounded } from './connection/late.ts';
import type { PostgresTaskStoreOptions } from './connection/options.ts';
import { type Connection, PrimaryPool } from './connection/primary-pool.ts';
import { LAYOUT, type Statements } from './layout/migrate.ts';

const HAS_TABLES = "SELECT to_regclass('sluice.layout') IS NOT NULL AS exists";

/**
 * Checks that a database has tables of this version, so that the start of the store creates and converts none. Says nothing
 * about a server that cannot be reached, because the start says more.
 *
 * @throws (rejects with) Fault `store_failed` that says what to do
 */
export async function refuseWithoutTables(options: PostgresTaskStoreOptions): Promise<void> {
  const { clock, timeoutMs } = options;
  const pool = new PrimaryPool(options, () => {});
  try {
    const connection = await connected(pool);
    if (connection === null) return;
    try {
      await check(bounded(connection, clock, timeoutMs), options.database);
    } catch (failure) {
      throw failure instanceof StoreFault ? failure : refused(options.database, asError(failure).message);
    } finally {
      // A late statement may still run.
      connection.release(true);
    }
  } finally {
    await within(clock, timeoutMs, pool.end());
  }
}

async function connected(pool: PrimaryPool): Promise<Connection | null> {
  try {
    return await pool.connect();
  } catch {
    return null;
  }
}

async function check(connection: Statements, database: string): Promise<void> {
  const { exists } = (await connection.query(HAS_TABLES)).rows[0];
  if (!exists) {
    throw refused(database, 'it has no tables of this service; give the database of TASKS_POSTGRES_URL');
  }
  const { number } = (await connection.query('SELECT number FROM sluice.layout')).rows[0];
  if (Number(number) >= LAYOUT) return;
  const layouts = `its layout is ${number}, this version has ${LAYOUT}`;
  throw refused(database, `${layouts}; start this version of the service on it once, which converts it`);
}

function refused(database: string, reason: string): StoreFault {
  return new StoreFault('other', `the task store in the database ${database} is not opened: ${reason}`);
}

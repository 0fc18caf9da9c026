import type pg from 'pg';
import { FUNCTION_SCHEMA, FUNCTIONS } from './functions.ts';
import { TABLES } from './tables.ts';
import { Unfit } from './unfit.ts';

/** The statements at index n migrate layout n to layout n + 1. Released migrations never change. */
const MIGRATIONS: readonly string[] = [TABLES];

/** The layout of this version. */
export const LAYOUT = MIGRATIONS.length;

/** Time to wait for the lock of a table. Meanwhile, running processes wait as well. */
const TABLE_LOCK = '3s';
/** Time to wait while another process migrates. */
const OTHERS = '10min';

/** The class of the advisory lock that processes hold while they migrate: "SLUI". */
const MIGRATING = 0x534c_5549;

/** Functions of other versions are removed if no process has used them for this long. */
const UNUSED = '7 days';
/** New functions were last used so long ago, because a process that only moves tasks does not count as one that uses them. */
const NOT_YET = '1 minute';

/** `to_regclass` would not see what another session has created since the transaction began. */
const HAS_LAYOUT = `SELECT EXISTS (
  SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'sluice' AND c.relname = 'layout'
) AS exists`;

/** The part of a connection that runs statements. */
export type Statements = Pick<pg.ClientBase, 'query'>;

/**
 * Creates or migrates the tables, and creates the functions of this version. Versions that run at the same time each have
 * their own functions. Each step is a transaction, so it works behind a pooler, and checks again when it has the lock,
 * because several processes can start at the same time.
 *
 * @throws (rejects with) {@link Unfit} if the tables belong to a newer version, or Error if the user may not create them
 */
export async function migrate(
  connection: Statements,
  migrations: readonly string[] = MIGRATIONS,
): Promise<void> {
  while (!(await isMigrated(connection, migrations.length))) {
    await connection.query('BEGIN');
    try {
      await connection.query(`SET LOCAL lock_timeout = '${OTHERS}'`);
      await connection.query(`SELECT pg_advisory_xact_lock(${MIGRATING})`);
      await connection.query(`SET LOCAL lock_timeout = '${TABLE_LOCK}'`);
      await step(connection, migrations);
      await connection.query('COMMIT');
    } catch (failure) {
      await connection.query('ROLLBACK');
      throw failure;
    }
  }
}

/** Does what is next, if another process has not done it meanwhile. */
async function step(connection: Statements, migrations: readonly string[]): Promise<void> {
  const layout = await layoutOf(connection, migrations.length);
  if (layout === migrations.length) {
    if (!(await hasFunctions(connection))) await createFunctions(connection);
    return;
  }
  if (layout === 0) {
    await connection.query(`CREATE SCHEMA IF NOT EXISTS sluice;
      CREATE TABLE sluice.layout (number int NOT NULL);
      CREATE TABLE sluice.version (functions text PRIMARY KEY, used_at timestamptz NOT NULL) WITH (fillfactor = 50);
      INSERT INTO sluice.layout (number) VALUES (0)`);
  }
  await connection.query(migrations[layout]);
  await connection.query('UPDATE sluice.layout SET number = $1', [layout + 1]);
}

async function createFunctions(connection: Statements): Promise<void> {
  const { rows } = await connection.query(
    `DELETE FROM sluice.version WHERE used_at < now() - interval '${UNUSED}' AND functions ~ '^sluice_[0-9a-f]{12}$'
     RETURNING functions`,
  );
  for (const { functions } of rows) await connection.query(`DROP SCHEMA IF EXISTS ${functions} CASCADE`);
  await connection.query('SET LOCAL check_function_bodies = off');
  await connection.query(`CREATE SCHEMA ${FUNCTION_SCHEMA};${FUNCTIONS}`);
  await connection.query(
    `INSERT INTO sluice.version (functions, used_at) VALUES ($1, now() - interval '${NOT_YET}')`,
    [FUNCTION_SCHEMA],
  );
}

/** Whether the tables and the functions of this version exist. */
export async function isMigrated(connection: Statements, newest = MIGRATIONS.length): Promise<boolean> {
  return (await layoutOf(connection, newest)) === newest && (await hasFunctions(connection));
}

/** The number of the layout, 0 for a database without one. */
async function layoutOf(connection: Statements, newest: number): Promise<number> {
  const { rows: found } = await connection.query(HAS_LAYOUT);
  if (!found[0].exists) return 0;
  const { rows } = await connection.query('SELECT number FROM sluice.layout');
  const layout = Number(rows[0].number);
  if (layout <= newest) return layout;
  throw new Unfit(
    `its layout is ${layout}, this version knows layouts up to ${newest}; run the version that wrote it, or a later one`,
  );
}

async function hasFunctions(connection: Statements): Promise<boolean> {
  const text = 'SELECT EXISTS (SELECT FROM sluice.version WHERE functions = $1) AS exists';
  return (await connection.query(text, [FUNCTION_SCHEMA])).rows[0].exists;
}

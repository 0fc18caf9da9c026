import pg from 'pg';
import t, { type Test } from 'tap';
import { FUNCTION_SCHEMA } from '../../../../../src/tasks/store/postgres/layout/functions.ts';
import { migrate } from '../../../../../src/tasks/store/postgres/layout/migrate.ts';
import { TABLES } from '../../../../../src/tasks/store/postgres/layout/tables.ts';
import { noPostgres, type PostgresServer, postgresFor } from '../../../../support/postgres-server.ts';
import { postgresTaskStore } from '../../../../support/tasks/postgres-backend.ts';
import { until } from '../../../../support/until.ts';

const FIRST = `${TABLES} CREATE TABLE sluice.thing (no int);`;
const SECOND = 'ALTER TABLE sluice.thing ADD COLUMN name text';

function test(title: string, show: (server: PostgresServer, t: Test) => Promise<void>): void {
  t.test(title, { skip: noPostgres }, async t => show(await postgresFor(t), t));
}

async function connect(t: Test, server: PostgresServer): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: server.url() });
  await client.connect();
  t.teardown(() => client.end());
  return client;
}

async function numbers(server: PostgresServer): Promise<unknown[]> {
  return (await server.query('SELECT number FROM sluice.layout')).map(({ number }) => number);
}

function isWaiting(server: PostgresServer, kind: string): Promise<boolean> {
  const text = 'SELECT FROM pg_locks WHERE locktype = $1 AND NOT granted';
  return server.query(text, { values: [kind] }).then(rows => rows.length > 0);
}

test('several processes that start at once create the tables once', async (server, t) => {
  const stores = Array.from({ length: 6 }, () => postgresTaskStore(server));
  t.teardown(() => Promise.all(stores.map(store => store.stop())));
  await Promise.all(stores.map(store => store.start()));
  await Promise.all(stores.map(store => store.ping()));
  t.same(await server.query('SELECT number FROM sluice.layout'), [{ number: 1 }]);
  t.same(await server.query('SELECT functions FROM sluice.version'), [{ functions: FUNCTION_SCHEMA }]);
});

test('an older layout is migrated step by step, and a newer one is refused', async (server, t) => {
  const client = await connect(t, server);
  await migrate(client, [FIRST]);
  await client.query('INSERT INTO sluice.thing VALUES (1)');
  t.same(await numbers(server), [1]);
  await migrate(client, [FIRST, SECOND]);
  t.same(await numbers(server), [2]);
  t.same(await server.query('SELECT * FROM sluice.thing'), [{ no: 1, name: null }]);
  await t.rejects(migrate(client, [FIRST]), {
    message:
      'its layout is 2, this version knows layouts up to 1; run the version that wrote it, or a later one',
  });
});

test('a service that finds a newer layout does not start', async (server, t) => {
  const first = postgresTaskStore(server);
  await first.start();
  await first.stop();
  await server.query('UPDATE sluice.layout SET number = 7');
  const store = postgresTaskStore(server);
  t.teardown(() => store.stop());
  await t.rejects(store.start(), {
    message:
      /^PostgreSQL at 127\.0\.0\.1:\d+ cannot keep tasks: its layout is 7, .*; run the version that wrote it/,
  });
});

test('a step that fails leaves the layout as it was', async (server, t) => {
  const client = await connect(t, server);
  await migrate(client, [FIRST]);
  await t.rejects(migrate(client, [FIRST, `${SECOND}; SELECT 1 / 0`]), /division by zero/);
  t.same(await numbers(server), [1]);
  t.same(await server.query('SELECT * FROM sluice.thing'), []);
  await migrate(client, [FIRST, SECOND]);
  t.same(await numbers(server), [2]);
});

test('processes that start during a migration wait for it', async (server, t) => {
  const [first, second] = [await connect(t, server), await connect(t, server)];
  await migrate(first, [FIRST]);
  await first.query('BEGIN; LOCK TABLE sluice.thing');
  const migrating = migrate(second, [FIRST, SECOND]);
  await until(() => isWaiting(server, 'relation'));
  const third = await connect(t, server);
  const waiting = migrate(third, [FIRST, SECOND]);
  await until(() => isWaiting(server, 'advisory'));
  await first.query('COMMIT');
  await Promise.all([migrating, waiting]);
  t.same(await numbers(server), [2]);
});

test('a table that somebody else locks is not waited for for long', async (server, t) => {
  const [first, second] = [await connect(t, server), await connect(t, server)];
  await migrate(first, [FIRST]);
  await first.query('BEGIN; LOCK TABLE sluice.thing');
  await t.rejects(migrate(second, [FIRST, SECOND]), { code: '55P03' });
});

test('versions that run at the same time have functions of their own; unused ones are removed', async (server, t) => {
  const client = await connect(t, server);
  await migrate(client, [FIRST]);
  const versions = { sluice_aaaaaaaaaaaa: '8 days', sluice_bbbbbbbbbbbb: '6 days' };
  for (const [name, age] of Object.entries(versions)) {
    await client.query(`CREATE SCHEMA ${name}`);
    await client.query(`INSERT INTO sluice.version VALUES ('${name}', now() - interval '${age}')`);
  }
  await client.query(
    `DROP SCHEMA ${FUNCTION_SCHEMA} CASCADE; DELETE FROM sluice.version WHERE functions = '${FUNCTION_SCHEMA}'`,
  );
  await migrate(client, [FIRST]);
  const schemas = await server.query(
    "SELECT nspname AS name FROM pg_namespace WHERE nspname LIKE 'sluice\\_%' ORDER BY 1",
  );
  t.same(new Set(schemas.map(({ name }) => name)), new Set([FUNCTION_SCHEMA, 'sluice_bbbbbbbbbbbb']));
});

test('a user that may not create tables is told so', async (server, t) => {
  await server.query('CREATE ROLE app LOGIN');
  const store = postgresTaskStore({ port: server.port, user: 'app' });
  t.teardown(() => store.stop());
  await t.rejects(store.start(), {
    message: /permission denied for database postgres \(grant the user what/,
  });
});

test('databases that cannot keep tasks are refused', async (server, t) => {
  await server.query("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0");
  await server.query('CREATE DATABASE strict');
  await server.query("ALTER DATABASE strict SET default_transaction_isolation = 'serializable'");
  const refusals = {
    latin: /the database has the encoding LATIN1: create one with ENCODING 'UTF8'/,
    strict: /default_transaction_isolation is 'serializable': run ALTER ROLE/,
    missing:
      /database "missing" does not exist \(create the database, or correct its name in TASKS_POSTGRES_URL\)/,
  };
  for (const [database, message] of Object.entries(refusals)) {
    const store = postgresTaskStore(server, { database });
    t.teardown(() => store.stop());
    await t.rejects(store.start(), { message }, database);
  }
});

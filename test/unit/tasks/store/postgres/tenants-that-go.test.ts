import pg from 'pg';
import t from 'tap';
import { systemClock } from '../../../../../src/base/clock.ts';
import { FUNCTION_SCHEMA } from '../../../../../src/tasks/store/postgres/layout/functions.ts';
import { changesText } from '../../../../../src/tasks/store/postgres/rows/encoding.ts';
import type { TaskStore } from '../../../../../src/tasks/store/task-store.ts';
import { noPostgres, type PostgresServer, postgresFor } from '../../../../support/postgres-server.ts';
import { Factory, idempotency } from '../../../../support/tasks/factories.ts';
import { postgresTaskStore } from '../../../../support/tasks/postgres-backend.ts';
import { until } from '../../../../support/until.ts';

// The last document of a tenant goes while somebody writes for it. Rows of a tenant without a row would belong to nobody.

const ACME = 'acme';
const make = new Factory(systemClock);
const account = make.account(ACME);
const worker = make.worker({ name: 'w' });

const DROP = [
  { op: 'delete' as const, kind: 'worker' as const, id: worker.id, expect: 'any' as const },
  { op: 'delete' as const, kind: 'account' as const, id: account.id, expect: 'any' as const },
];

const WRITES: Readonly<Record<string, (store: TaskStore) => Promise<unknown>>> = {
  'a sign-up': store => store.apply(ACME, [{ ...account, expect: 'absent' }, make.user()]),
  'a sign-up with a key': store =>
    store.apply(ACME, [{ ...account, expect: 'absent' }, make.user()], idempotency('sign-up')),
  'an answer that is remembered': store => store.remember(ACME, idempotency('answer')),
  'a hint': store => store.setWakeup(ACME, worker.id, Date.now()),
  usage: store => store.addUsage(ACME, [{ at: Date.now(), workerId: null, figures: [0, 1] }]),
  'tasks with a document': store =>
    store.create(ACME, make.createRequest([make.newTask(worker)], { documents: [make.user()] })),
  'tasks with a key': store =>
    store.create(ACME, make.createRequest([make.newTask(worker)], { idempotency: idempotency('tasks') })),
};

/** The tables whose rows refer to a tenant. */
async function tablesOf(server: PostgresServer): Promise<readonly string[]> {
  const tables = await server.query<{ readonly name: string }>(
    `SELECT relname AS name FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
     WHERE relnamespace = 'sluice'::regnamespace AND relkind = 'r' AND attname = 'tenant'`,
  );
  return tables.map(({ name }) => name);
}

/** How many rows of which tables belong to tenants that do not exist. */
async function orphans(server: PostgresServer): Promise<readonly string[]> {
  const found: string[] = [];
  for (const name of await tablesOf(server)) {
    const rows = await server.query(
      `SELECT FROM sluice.${name} WHERE tenant NOT IN (SELECT no FROM sluice.tenant)`,
    );
    if (rows.length > 0) found.push(`${name}: ${rows.length}`);
  }
  return found;
}

/** Removes all tenants, and what belongs to them. */
async function empty(server: PostgresServer): Promise<void> {
  const tables = [...(await tablesOf(server)), 'tenant'];
  await server.query(tables.map(name => `DELETE FROM sluice.${name}`).join(';'));
}

/** A session whose transactions the test ends. */
async function sessionOf(t: { teardown(run: () => unknown): void }, server: PostgresServer) {
  const client = new pg.Client({ connectionString: server.url() });
  client.on('error', () => {});
  await client.connect();
  t.teardown(() => client.end());
  return client;
}

/** Waits until an operation has ended, or this number of sessions wait for locks. */
async function untilHeld(
  server: PostgresServer,
  operation: Promise<unknown>,
  waiting: number,
): Promise<void> {
  let isOver = false;
  const over = () => {
    isOver = true;
  };
  operation.then(over, over);
  const text = "SELECT FROM pg_stat_activity WHERE application_name = 'sluice' AND wait_event_type = 'Lock'";
  await until(async () => isOver || (await server.query(text)).length === waiting);
}

const options = { skip: noPostgres };

t.test('what is written while a tenant goes belongs to a new one, or is refused', options, async t => {
  const server = await postgresFor(t);
  const store = postgresTaskStore(server);
  t.teardown(() => store.stop());
  await store.start();
  const going = await sessionOf(t, server);
  for (const [name, write] of Object.entries(WRITES)) {
    await store.apply(ACME, [account, worker]);
    await going.query('BEGIN');
    await going.query(`SELECT ${FUNCTION_SCHEMA}.apply(NULL, $1, $2, NULL, true)`, [ACME, changesText(DROP)]);
    const written = write(store);
    await untilHeld(server, written, 1);
    await going.query('COMMIT');
    await written;
    t.strictSame(await orphans(server), [], name);
    await empty(server);
  }
});

t.test('a tenant does not go while somebody writes for it', options, async t => {
  const server = await postgresFor(t);
  const store = postgresTaskStore(server);
  t.teardown(() => store.stop());
  await store.start();
  const gate = await sessionOf(t, server);
  // Transactions that have written something wait at the gate before they are committed.
  await server.query(`CREATE FUNCTION pass() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NULL; END $$`);
  for (const table of ['doc', 'idem', 'wake', 'usage']) {
    await server.query(
      `CREATE CONSTRAINT TRIGGER pass AFTER INSERT ON sluice.${table} INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION pass()`,
    );
  }
  const isWaiting = async () =>
    (await server.query("SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 1 AND NOT granted"))
      .length > 0;
  const { 'a sign-up': _, 'a sign-up with a key': __, ...writes } = WRITES;
  const all = {
    ...writes,
    'a document': (one: TaskStore) => one.apply(ACME, [make.user()]),
  };
  for (const [name, write] of Object.entries(all)) {
    await store.apply(ACME, [account, worker]);
    await gate.query('SELECT pg_advisory_lock(1)');
    const written = write(store);
    await until(isWaiting);
    const gone = store.apply(ACME, DROP);
    await untilHeld(server, gone, 2);
    await gate.query('SELECT pg_advisory_unlock(1)');
    await Promise.all([written, gone]);
    t.strictSame(await orphans(server), [], name);
    await empty(server);
  }
});

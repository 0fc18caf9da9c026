import pg from 'pg';
import t, { type Test } from 'tap';
import { systemClock } from '../../../../../src/base/clock.ts';
import { Fault } from '../../../../../src/base/fault.ts';
import type { PostgresTaskStoreOptions } from '../../../../../src/tasks/store/postgres/connection/options.ts';
import { KeepingLogger } from '../../../../support/keeping-logger.ts';
import { noPgBouncer, pgBouncerFor } from '../../../../support/pgbouncer.ts';
import { noPostgres, type PostgresServer, postgresFor } from '../../../../support/postgres-server.ts';
import { postgresTaskStore } from '../../../../support/tasks/postgres-backend.ts';
import { withWorker } from '../../../../support/tasks/store-with-worker.ts';
import { until, untilDone } from '../../../../support/until.ts';

// Connections that are lost, servers that do not answer, and statements that take too long.

const ACME = 'acme';

function test(
  title: string,
  show: (server: PostgresServer, t: Test) => Promise<void>,
  skip = noPostgres,
): void {
  t.test(title, { skip }, async t => {
    // The delays of the store do not keep a process running.
    const running = setInterval(() => {}, 1_000);
    t.teardown(() => clearInterval(running));
    await show(await postgresFor(t), t);
  });
}

function open(t: Test, server: PostgresServer, options: Partial<PostgresTaskStoreOptions> = {}) {
  return withWorker(t, postgresTaskStore(server, options), systemClock);
}

/** What the operation failed with. */
async function fault(operation: Promise<unknown>): Promise<Fault> {
  try {
    await operation;
  } catch (failure) {
    if (failure instanceof Fault) return failure;
    throw failure;
  }
  throw new Error('the operation succeeded');
}

/** Ends the sessions of the store. */
function endSessions(server: PostgresServer): Promise<unknown> {
  return server.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'sluice'",
  );
}

async function numberOf(server: PostgresServer, states: readonly string[]): Promise<number> {
  const rows = await server.query(
    "SELECT FROM pg_stat_activity WHERE application_name = 'sluice' AND state = ANY ($1)",
    { values: [states] },
  );
  return rows.length;
}

/** Locks the tasks, so that operations wait, until the promise that is returned is called. */
async function lockTasks(server: PostgresServer): Promise<() => Promise<unknown>> {
  const held = server.query('BEGIN; LOCK TABLE sluice.task IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(3600)');
  held.catch(() => {});
  const isHeld = async () =>
    (await server.query("SELECT FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted")).length > 0;
  await until(isHeld);
  return () =>
    server.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(3600)' AND pid <> pg_backend_pid()",
    );
}

/** Holds the lock that processes take to migrate, until the server ends or the promise is called. */
async function lockMigrations(server: PostgresServer): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: server.url() });
  client.on('error', () => {});
  await client.connect();
  await client.query("SELECT pg_advisory_lock(x'534c5549'::int)");
  return () => client.end().catch(() => {});
}

test('calls wait for a server that is away for a moment, because they have not happened', async (server, t) => {
  const logger = new KeepingLogger();
  const { store, add } = await open(t, server, { logger, timeoutMs: 20_000 });
  await server.kill();
  const asked = [add(), add(), store.counts(ACME, null)];
  await until(() => logger.messages('info').some(message => message.startsWith('Connection to PostgreSQL')));
  await server.start();
  await Promise.all(asked);
  t.equal((await store.counts(ACME, null)).scheduled, 2);
  const lines = logger.lines.filter(({ message }) => message.includes('PostgreSQL for tasks'));
  t.match(lines.slice(-2), [
    {
      message: 'Connection to PostgreSQL for tasks lost; reconnecting',
      fields: { reason: /ECONNREFUSED|terminat|closed/ },
    },
    { message: 'Connected to PostgreSQL for tasks' },
  ]);
});

test('of a server that stays away, the fault says so', async (server, t) => {
  const { store } = await open(t, server, { timeoutMs: 300 });
  await server.kill();
  const failure = await fault(store.counts(ACME, null));
  t.match(failure, { code: 'store_failed', trouble: 'not_connected', message: /, counts: .*ECONNREFUSED/ });
});

test('a start during which the server ends is tried again', async (server, t) => {
  const store = postgresTaskStore(server);
  t.teardown(() => store.stop());
  const release = await lockMigrations(server);
  const started = store.start();
  await until(async () => (await numberOf(server, ['active', 'idle in transaction'])) > 0);
  await server.kill();
  await release();
  await server.start();
  await started;
  await store.ping();
});

test('sessions that were ended are replaced before they are used', async (server, t) => {
  const { store, add } = await open(t, server);
  await Promise.all(Array.from({ length: 8 }, () => store.counts(ACME, null)));
  await endSessions(server);
  await until(async () => (await numberOf(server, ['idle', 'active'])) === 0);
  await Promise.all(Array.from({ length: 8 }, () => add()));
  t.equal((await store.counts(ACME, null)).scheduled, 8);
});

test('a write whose session ends is not repeated, because it may have happened', async (server, t) => {
  const { store, add } = await open(t, server);
  const release = await lockTasks(server);
  const asked = fault(add());
  await until(async () => (await numberOf(server, ['active'])) === 1);
  await endSessions(server);
  t.match(await asked, { code: 'store_failed', trouble: 'not_connected', message: /terminating connection/ });
  await release();
  await untilDone(() => store.ping());
  t.equal((await store.counts(ACME, null)).scheduled, 0);
});

/** Statements that are late wait for a lock; more of them than the connections that the pooler has. */
async function showCanceled(server: PostgresServer, port: number, t: Test): Promise<void> {
  const hosts = [{ host: '127.0.0.1', port }];
  const { store, add } = await open(t, server, { hosts, timeoutMs: 300, connections: 3 });
  const release = await lockTasks(server);
  for (let i = 0; i < 5; i++) {
    t.match(await fault(add()), {
      code: 'store_failed',
      trouble: 'no_answer',
      message: /no answer within 300 ms/,
    });
  }
  const waiting = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
  await until(async () => (await server.query(waiting)).length === 0);
  await release();
  await untilDone(() => store.ping());
  t.equal((await store.counts(ACME, null)).scheduled, 0);
}

test('a statement that takes too long is canceled on the server', (server, t) =>
  showCanceled(server, server.port, t));

test(
  'behind a pooler as well',
  async (server, t) => showCanceled(server, (await pgBouncerFor(t, server)).port, t),
  noPgBouncer,
);

test('a frozen server fails calls in time; nothing is sent twice', async (server, t) => {
  const { store, add } = await open(t, server, { timeoutMs: 300 });
  server.freeze();
  t.match(await fault(add()), { code: 'store_failed', trouble: /^(no_answer|not_connected)$/ });
  server.thaw();
  await untilDone(() => store.ping());
  t.ok((await store.counts(ACME, null)).scheduled <= 1, 'it may have happened, once');
});

test('many calls on a frozen server are bounded in number', async (server, t) => {
  const { store } = await open(t, server, { timeoutMs: 300, maxInFlight: 50 });
  server.freeze();
  const asked = await Promise.allSettled(Array.from({ length: 80 }, () => store.counts(ACME, null)));
  const codes = asked.map(answer => (answer.status === 'rejected' ? (answer.reason as Fault).code : 'none'));
  t.equal(codes.filter(code => code === 'overloaded').length, 63);
  t.equal(codes.filter(code => code === 'store_failed').length, 17);
  server.thaw();
});

test('of calls that are sent as one, only that which is wrong fails', async (server, t) => {
  const { store, make, worker } = await open(t, server, { connections: 2 });
  const payloads = ['1', '"\u0000"', '3'];
  const created = await Promise.allSettled(
    payloads.map(payload => {
      const item = make.newTask(worker, {}, { body: { payload, headers: {} } });
      return store.create(ACME, make.createRequest([item]));
    }),
  );
  t.same(
    created.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  );
  t.equal((await store.counts(ACME, null)).scheduled, 2);
});

test('what is written is committed as the setting says', async (server, t) => {
  const { add } = await open(t, server, { synchronousCommit: 'off' });
  await server.query(`CREATE TABLE seen (setting text);
    CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN INSERT INTO seen VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$;
    CREATE TRIGGER see AFTER INSERT ON sluice.task EXECUTE FUNCTION see()`);
  await add();
  t.same(await server.query('SELECT * FROM seen'), [{ setting: 'off' }]);
  t.match(await server.query('SHOW synchronous_commit'), [{ synchronous_commit: 'on' }]);
});

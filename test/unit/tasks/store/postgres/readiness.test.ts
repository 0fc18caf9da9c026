import t, { type Test } from 'tap';
import type { StoreFault } from '../../../../../src/tasks/store/trouble.ts';
import { noPostgres, type PostgresServer, postgresFor } from '../../../../support/postgres-server.ts';
import { postgresTaskStore } from '../../../../support/tasks/postgres-backend.ts';
import { untilDone, untilFailed } from '../../../../support/until.ts';

async function open(t: Test) {
  // The delays of the store do not keep a process running.
  const running = setInterval(() => {}, 1_000);
  t.teardown(() => clearInterval(running));
  const server = await postgresFor(t);
  await server.query('CREATE ROLE app LOGIN');
  await server.query('CREATE DATABASE tasks OWNER app');
  const store = postgresTaskStore(
    { port: server.port, user: 'app' },
    { database: 'tasks', timeoutMs: 2_000 },
  );
  t.teardown(() => store.stop());
  await store.start();
  await store.ping();
  return { server, store };
}

/** Changes something for new sessions, and ends those of the store. */
async function change(server: PostgresServer, text: string): Promise<void> {
  await server.query(text);
  await server.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'sluice'",
  );
}

/** What is done to a server, what the ping says then, and what ends it. */
const FAULTS: readonly {
  readonly name: string;
  readonly begin: (server: PostgresServer) => Promise<unknown>;
  readonly trouble: string;
  readonly message: RegExp;
  readonly end: (server: PostgresServer) => Promise<unknown>;
}[] = [
  {
    name: 'accepts no writes',
    begin: server => change(server, 'ALTER DATABASE tasks SET default_transaction_read_only = on'),
    trouble: 'postgres_read_only',
    message: /read-only transaction \(the server is a standby: TASKS_POSTGRES_URL must lead to the primary\)/,
    end: server => change(server, 'ALTER DATABASE tasks RESET default_transaction_read_only'),
  },
  {
    name: 'refuses the user',
    begin: server => change(server, 'ALTER ROLE app NOLOGIN'),
    trouble: 'postgres_access',
    message:
      /not permitted to log in \(check the user and the password in TASKS_POSTGRES_URL or TASKS_POSTGRES_PASSWORD_FILE\)/,
    end: server => server.query('ALTER ROLE app LOGIN'),
  },
  {
    name: 'does not let the user write',
    begin: server => server.query('REVOKE UPDATE ON sluice.version FROM app', { database: 'tasks' }),
    trouble: 'postgres_access',
    message: /permission denied for table version \(grant the user what the reason names\)/,
    end: server => server.query('GRANT UPDATE ON sluice.version TO app', { database: 'tasks' }),
  },
  {
    name: 'has lost a table',
    begin: server => server.query('ALTER TABLE sluice.wake RENAME TO lost', { database: 'tasks' }),
    trouble: 'postgres_layout',
    message: /relation "sluice.wake" does not exist \(restart the service, which creates what is missing\)/,
    end: server => server.query('ALTER TABLE sluice.lost RENAME TO wake', { database: 'tasks' }),
  },
  {
    name: 'has no connection left',
    begin: server => change(server, 'ALTER ROLE app CONNECTION LIMIT 0'),
    trouble: 'postgres_connections',
    message:
      /too many connections .* \(raise max_connections of the server, or lower TASKS_POSTGRES_CONNECTIONS\)/,
    end: server => server.query('ALTER ROLE app CONNECTION LIMIT -1'),
  },
  {
    name: 'is away',
    begin: server => server.kill(),
    trouble: 'not_connected',
    message: /ECONNREFUSED/,
    end: server => server.start(),
  },
];

for (const { name, begin, trouble, message, end } of FAULTS) {
  t.test(`a PostgreSQL that ${name} is not ready, and says so`, { skip: noPostgres }, async t => {
    const { server, store } = await open(t);
    const ping = () => store.ping();
    await begin(server);
    await untilFailed(ping, failure => {
      return (failure as StoreFault).trouble === trouble && message.test(failure.message);
    });
    await end(server);
    await untilDone(ping);
  });
}

import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { noPostgres, type PostgresServer, postgresFor } from '../support/postgres-server.ts';
import { serviceFor } from '../support/service.ts';
import { taskSettings } from '../support/tasks/served-tasks.ts';
import { newTenant } from '../support/tasks/tasks-service.ts';

// What a process without work asks of PostgreSQL.

/** After this time, threads have written what they have counted of the usage of tenants, and sessions have reported it. */
const SETTLED_MS = 25_000;
const MEASURED_MS = 25_000;

/** Number of transactions in the database of the tasks. Each operation is one. */
async function transactions(server: PostgresServer): Promise<number> {
  const [{ count }] = await server.query<{ readonly count: number }>(
    "SELECT (xact_commit + xact_rollback)::float8 AS count FROM pg_stat_database WHERE datname = 'tasks'",
  );
  return count;
}

async function perSecondAtRest(t: Test, tenants: number): Promise<number> {
  // The transactions of autovacuum would be counted as well.
  const server = await postgresFor(t, { settings: ['autovacuum=off'] });
  await server.query('CREATE DATABASE tasks');
  const env = { ...taskSettings(t, { postgres: server }), TASKS_POSTGRES_URL: server.url('tasks') };
  const service = await serviceFor(t, { env });
  for (let made = 0; made < tenants; made++) {
    const tenant = await newTenant(service, `tenant-${made}`);
    await tenant.make('workers', { name: 'mailer', url: 'http://127.0.0.1:9999/' });
    await tenant.make('tasks', { worker: 'mailer', delay: '30d' });
    await tenant.make('schedules', { name: 'monthly', worker: 'mailer', every: '30d' });
  }
  await sleep(SETTLED_MS);
  const before = await transactions(server);
  await sleep(MEASURED_MS);
  return ((await transactions(server)) - before) / (MEASURED_MS / 1_000);
}

for (const tenants of [1, 200]) {
  t.test(
    `a process without work sends fewer than two statements per second: ${tenants} tenants`,
    { skip: noPostgres, timeout: 180_000 },
    async t => {
      const perSecond = await perSecondAtRest(t, tenants);
      t.comment(`${perSecond} statements per second`);
      t.ok(perSecond < 2, `${perSecond} statements per second`);
      t.ok(perSecond > 0.5, 'it asks when there will be work');
    },
  );
}

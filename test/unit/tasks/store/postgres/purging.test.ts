import t from 'tap';
import { noPostgres, type PostgresServer, postgresFor } from '../../../../support/postgres-server.ts';
import { postgresTaskStore } from '../../../../support/tasks/postgres-backend.ts';

// A process looks every ten seconds at how old the data of all tenants is. An answer about all of them would be too large.

const TENANTS = 20_000;
/** One of so many tenants has a record that has expired. */
const EXPIRED_EVERY = 1_000;
/** Tenants in one answer, and what is read about them. */
const PAGE = 1_000;
const READ_OF_EACH = 4;

const KEEP = { succeededMs: 60_000, otherMs: 60_000 };

/** Tenants with usage of this hour, and some with a record that has expired. */
async function addTenants(server: PostgresServer): Promise<void> {
  await server.query(`
    INSERT INTO sluice.tenant (name, known) SELECT 't' || to_char(i, 'FM00000'), true FROM generate_series(1, ${TENANTS}) AS i;
    INSERT INTO sluice.usage (tenant, span, at, worker, figures)
    SELECT no, 3600000, (extract(epoch FROM now())::bigint / 3600) * 3600000, 0, '{1}' FROM sluice.tenant;
    INSERT INTO sluice.idem (tenant, scope, key, fingerprint, until, note)
    SELECT no, 's', 'k', 'f', 1, '' FROM sluice.tenant WHERE no % ${EXPIRED_EVERY} = 0`);
}

/** Rows and entries of indexes that all sessions have read which have ended: they report them when they end. */
async function reads(server: PostgresServer): Promise<number> {
  const [{ count }] = await server.query<{ readonly count: number }>(
    `SELECT ((SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE schemaname = 'sluice')
      + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE schemaname = 'sluice'))::float8 AS count`,
  );
  return count;
}

/** How often sessions that have ended have called a function. */
async function callsOf(server: PostgresServer, name: string): Promise<number> {
  const [{ calls }] = await server.query<{ readonly calls: number }>(
    'SELECT coalesce(sum(calls), 0)::float8 AS calls FROM pg_stat_user_functions WHERE funcname = $1',
    { values: [name] },
  );
  return calls;
}

async function openWithTenants(t: Parameters<typeof postgresFor>[0]) {
  const server = await postgresFor(t, { settings: ['autovacuum=off', 'track_functions=pl'] });
  const store = postgresTaskStore(server);
  await store.start();
  await addTenants(server);
  await server.query('ANALYZE');
  return { server, store };
}

const options = { skip: noPostgres };

t.test('a purge of one tenant reads little, however many tenants there are', options, async t => {
  const { server, store } = await openWithTenants(t);
  const before = await reads(server);
  t.strictSame(await store.purge('t01000', KEEP, 500), { tasks: 0, more: false });
  await store.stop();
  t.equal((await server.query('SELECT FROM sluice.idem WHERE tenant = 1000')).length, 0);
  const read = (await reads(server)) - before;
  t.ok(read <= PAGE * READ_OF_EACH, `${read} rows`);
});

t.test(
  'a pass over all tenants, in the order of their names, removes all that has expired',
  options,
  async t => {
    const { server, store } = await openWithTenants(t);
    for (let tenants = await store.tenants(null, 500); tenants.length > 0; ) {
      for (const tenant of tenants) await store.purge(tenant, KEEP, 500);
      tenants = await store.tenants(tenants.at(-1) as string, 500);
    }
    t.strictSame(await store.purge('unknown', KEEP, 500), { tasks: 0, more: false });
    await store.stop();
    t.equal((await server.query('SELECT FROM sluice.idem')).length, 0);
    t.equal(
      await callsOf(server, 'purge'),
      TENANTS / EXPIRED_EVERY,
      'only the tenants that have some are looked at',
    );
    t.equal(await callsOf(server, 'oldest'), TENANTS / PAGE + 1);
  },
);

t.test('all that a tenant has is removed without a look at others', options, async t => {
  const { server, store } = await openWithTenants(t);
  await store.purge('t02000', { succeededMs: -1, otherMs: -1 }, 500);
  await store.stop();
  t.equal(await callsOf(server, 'oldest'), 0);
  t.equal((await server.query('SELECT FROM sluice.idem WHERE tenant = 2000')).length, 0);
});

import t from 'tap';
import { violationsOf } from '../../../../exam/task-store/invariants.ts';
import { noPostgres, postgresFor } from '../../../../support/postgres-server.ts';
import { SeededRandom } from '../../../../support/seeded-random.ts';
import { Crowd } from '../../../../support/tasks/crowd.ts';
import { postgresTaskStore } from '../../../../support/tasks/postgres-backend.ts';

// Several processes that do all kinds of things to the same tasks at the same time, each transaction on its own.

const STORES = 3;
const CALLERS = 16;
const STEPS = 4_000;

/** A claim that is blocked comes back after this time. */
const BLOCKED_MS = 1_000;

const options = { skip: noPostgres };

t.test('many callers change the same tasks at once: all invariants hold', options, async t => {
  const server = await postgresFor(t);
  const stores = Array.from({ length: STORES }, () => postgresTaskStore(server));
  await Promise.all(stores.map(store => store.start()));
  t.teardown(() => Promise.all(stores.map(store => store.stop())));
  const crowd = new Crowd(stores, new SeededRandom(7));
  await crowd.begin();

  await crowd.act(CALLERS, STEPS);
  t.strictSame(await violationsOf(stores[0], crowd.expected()), []);
  const [{ hint, due }] = await server.query<{ readonly hint: number | null; readonly due: number | null }>(
    `SELECT (SELECT min(at)::float8 FROM sluice.wake WHERE worker = w.no) AS hint,
       (SELECT min(due_at)::float8 FROM sluice.task WHERE worker = w.no AND status IN (0, 2)) AS due
     FROM sluice.worker w WHERE w.id = $1`,
    { values: [crowd.pushed] },
  );
  const isWoken = due === null || (hint !== null && hint <= Math.max(due, Date.now() + BLOCKED_MS));
  t.ok(isWoken, 'the worker is woken up for tasks that wait');

  await crowd.end();
  const { running, scheduled, retry, paused } = await stores[0].counts(crowd.tenant, null);
  t.strictSame({ running, scheduled, retry, paused }, { running: 0, scheduled: 0, retry: 0, paused: 0 });
  t.strictSame(await server.query('SELECT * FROM sluice.task_group'), [], 'no group is left');
  t.strictSame(
    await server.query('SELECT * FROM sluice.task_key WHERE seq = 0'),
    [],
    'no key without a task',
  );
  const [{ deadlocks }] = await server.query(
    "SELECT deadlocks::int FROM pg_stat_database WHERE datname = 'postgres'",
  );
  t.equal(deadlocks, 0);
});

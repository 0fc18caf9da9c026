import t, { type Test } from 'tap';
import { systemClock } from '../../../../../src/base/clock.ts';
import type { StoreFault } from '../../../../../src/tasks/store/trouble.ts';
import { KeepingLogger } from '../../../../support/keeping-logger.ts';
import { noPostgres, type PostgresServer, postgresFor } from '../../../../support/postgres-server.ts';
import { idempotency, settlement, taskChange } from '../../../../support/tasks/factories.ts';
import { postgresTaskStore } from '../../../../support/tasks/postgres-backend.ts';
import { withWorker } from '../../../../support/tasks/store-with-worker.ts';
import { until, untilFailed } from '../../../../support/until.ts';

const ACME = 'acme';
const WRITERS = 8;

/** A primary, and a standby that confirms each commit. */
async function openPair(t: Test) {
  // The delays of the store do not keep a process running.
  const running = setInterval(() => {}, 1_000);
  t.teardown(() => clearInterval(running));
  const primary = await postgresFor(t);
  const standby = await postgresFor(t, { standbyOf: primary });
  await primary.query("ALTER SYSTEM SET synchronous_standby_names = '*'");
  await primary.query('SELECT pg_reload_conf()');
  const isSynchronous = async () =>
    (await primary.query("SELECT FROM pg_stat_replication WHERE sync_state = 'sync'")).length === 1;
  await until(isSynchronous);
  return { primary, standby };
}

function hostsOf(servers: readonly PostgresServer[]) {
  return servers.map(({ port }) => ({ host: '127.0.0.1', port }));
}

const options = { skip: noPostgres };

t.test('after a failover the standby is used, which has all that was answered', options, async t => {
  const { primary, standby } = await openPair(t);
  const logger = new KeepingLogger();
  const hosts = hostsOf([primary, standby]);
  const { store, add } = await withWorker(t, postgresTaskStore(primary, { hosts, logger }), systemClock);
  const answered: string[] = [];
  let failed = 0;
  let ends = false;
  const write = async () => {
    while (!ends) {
      try {
        answered.push(await add());
      } catch {
        failed++;
      }
    }
  };
  const writers = Array.from({ length: WRITERS }, write);
  await until(() => answered.length > 200);
  await primary.kill();
  await standby.promote();
  const before = answered.length;
  await until(() => answered.length > before + 200);
  ends = true;
  await Promise.all(writers);
  t.ok(failed <= WRITERS, `${failed} calls failed, of which it was not known whether they had happened`);
  const kept = new Set<string>();
  for (let at = 0; at < answered.length; at += 500) {
    for (const id of (await store.bodies(ACME, answered.slice(at, at + 500))).keys()) kept.add(id);
  }
  t.same(
    answered.filter(id => !kept.has(id)),
    [],
    `${answered.length} tasks are there`,
  );
  t.ok(logger.messages('info').includes('Connection to PostgreSQL for tasks lost; reconnecting'));
});

/** What the operation failed with; null if it was answered. */
async function troubleOf(operation: Promise<unknown>): Promise<string | null> {
  try {
    await operation;
    return null;
  } catch (failure) {
    return (failure as StoreFault).trouble;
  }
}

t.test('what the standby has not confirmed is not answered, however often it is asked', options, async t => {
  const { primary, standby } = await openPair(t);
  const { store, make, worker, add } = await withWorker(
    t,
    postgresTaskStore(primary, { timeoutMs: 500 }),
    systemClock,
  );
  await add();
  const canceled = await add();
  const keyed = make.newTask(worker, { key: 'order-1' }, { onConflict: 'return' });
  const { tasks } = await store.claim(ACME, make.claimRequest(worker.id, 1));
  const [{ leaseId }] = tasks;
  const key = (name: string) => ({ idempotency: idempotency(name) });
  const requests: Readonly<Record<string, () => Promise<unknown>>> = {
    'a creation with an idempotency key': () =>
      store.create(ACME, make.createRequest([make.newTask(worker)], key('tasks'))),
    'changes of documents with one': () => store.apply(ACME, [make.user()], idempotency('documents')),
    'an answer that was stored': async () => {
      const known = await store.recall(ACME, idempotency('answer'));
      if (known.kind === 'new') await store.remember(ACME, idempotency('answer'));
      return known;
    },
    'a creation with the key of a task': () => store.create(ACME, make.createRequest([keyed])),
    'the end of an attempt': () => store.settle(ACME, [settlement(leaseId, 'succeeded')]),
    'a cancellation': () => store.change(ACME, canceled, taskChange('cancel')),
  };
  await standby.kill();
  for (const [name, request] of Object.entries(requests)) {
    t.equal(await troubleOf(request()), 'no_answer', name);
    t.equal(await troubleOf(request()), 'no_answer', `${name}, repeated`);
  }
  await standby.start();
  const answers = await Promise.all(Object.values(requests).map(request => request()));
  t.match(answers, [
    { kind: 'replayed' },
    { kind: 'replayed' },
    { kind: 'replayed' },
    { kind: 'done', results: [{ kind: 'existing' }] },
    [{ kind: 'already' }],
    { kind: 'unchanged' },
  ]);
});

t.test('a standby that is listed first is not used', options, async t => {
  const { primary, standby } = await openPair(t);
  const hosts = hostsOf([standby, primary]);
  const { add } = await withWorker(t, postgresTaskStore(primary, { hosts }), systemClock);
  t.match(await add(), /^tsk_/);
});

t.test('a standby alone is not enough, and the fault says so', options, async t => {
  const { primary, standby } = await openPair(t);
  const hosts = hostsOf([primary, standby]);
  const { store } = await withWorker(t, postgresTaskStore(primary, { hosts, timeoutMs: 1_000 }), systemClock);
  await primary.kill();
  await untilFailed(
    () => store.ping(),
    failure => /TASKS_POSTGRES_URL must lead to the primary|ECONNREFUSED/.test(failure.message),
  );
  await standby.promote();
  await until(() =>
    store.ping().then(
      () => true,
      () => false,
    ),
  );
  t.pass('it is used once it is the primary');
});

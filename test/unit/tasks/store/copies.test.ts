import t from 'tap';
import { USAGE_SPANS, usageStart } from '../../../../src/tasks/model/usage.ts';
import { copyExam } from '../../../exam/task-store/copied-things.ts';
import { copyAll, randomCopyExam } from '../../../exam/task-store/copying.ts';
import type { Backend } from '../../../exam/task-store/scene.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { noPostgres, postgresFor } from '../../../support/postgres-server.ts';
import { startRedis } from '../../../support/redis-server.ts';
import { Factory, idempotency, settlement } from '../../../support/tasks/factories.ts';
import { ModelStore } from '../../../support/tasks/model-store.ts';
import { postgresBackend } from '../../../support/tasks/postgres-backend.ts';
import { redisBackend, redisTaskStore, TASK_SERVER_ARGS } from '../../../support/tasks/redis-backend.ts';
import { openedSqlite } from '../../../support/tasks/stored-things.ts';

const server = await startRedis({ args: TASK_SERVER_ARGS });
t.teardown(() => server.stop());

const model: Backend = {
  name: 'model',
  async open(clock) {
    const store = new ModelStore(clock);
    return { store, close: () => store.stop() };
  },
};
const sqlite: Backend = { name: 'sqlite', open: clock => openedSqlite(t).open(clock) };
const redis = redisBackend('redis', [server]);

// Without PostgreSQL, the others are examined.
const postgres = noPostgres === false ? [postgresBackend('postgres', await postgresFor(t))] : [];
const kinds = [sqlite, redis, ...postgres];

// Copies have one form, so a store that exchanges them with the model does so with every other one.
for (const kind of kinds) {
  for (const [from, to] of [
    [model, kind],
    [kind, model],
  ] as const) {
    copyExam(t, from, to);
    randomCopyExam(t, from, to, { sequences: 2 });
  }
  for (const other of kinds) randomCopyExam(t, kind, other, { sequences: 1 });
}

t.test('with the time of Redis, what is copied expires as in the original', async t => {
  const keyPrefix = 'own:';
  const store = redisTaskStore([server], { keyPrefix });
  await store.start();
  t.teardown(() => store.stop());
  const now = await store.now();
  const clock = new ManualClock(now);
  const model = new ModelStore(clock);
  const make = new Factory(clock);
  const worker = make.worker();
  await model.apply('acme', [make.account('acme'), worker]);
  const item = make.newTask(worker, { key: 'k', keyTtlMs: 60_000 });
  const request = make.createRequest([item], { idempotency: idempotency('i', { keepMs: 90_000 }) });
  await model.create('acme', request);
  const [{ leaseId }] = (await model.claim('acme', make.claimRequest(worker.id, 1))).tasks;
  await model.settle('acme', [settlement(leaseId, 'succeeded')]);
  await model.addUsage('acme', [{ at: now, workerId: null, figures: [0, 1] }]);
  await copyAll({ from: model, to: store });
  const expiry = (key: string) => server.command('PEXPIRETIME', `${keyPrefix}{acme}:${key}`);
  t.equal(await expiry(`u:${worker.id}:k`), now + 60_000, 'a key');
  t.equal(await expiry(`L:${leaseId}`), now + 3_600_000, 'a lease that was settled');
  t.equal(await expiry(`i:${'tok_1 /v1/tasks'.length}:tok_1 /v1/tasks:i`), now + 90_000, 'an answer');
  const { ms, keepMs } = USAGE_SPANS.hour;
  const start = usageStart('hour', now);
  t.equal(await expiry(`U:${ms}:${start}`), start + ms + keepMs, 'usage');
  t.equal(await expiry(`k:${item.task.id}`), -1, 'tasks do not');
});

t.test('what has expired is not copied to Redis', async t => {
  const keyPrefix = 'late:';
  const store = redisTaskStore([server], { keyPrefix });
  await store.start();
  t.teardown(() => store.stop());
  const clock = new ManualClock((await store.now()) - 86_400_000);
  const model = new ModelStore(clock);
  const make = new Factory(clock);
  const worker = make.worker();
  await model.apply('acme', [make.account('acme'), worker]);
  const item = make.newTask(worker, { key: 'k', keyTtlMs: 60_000 });
  await model.create(
    'acme',
    make.createRequest([item], { idempotency: idempotency('i', { keepMs: 90_000 }) }),
  );
  const [{ leaseId }] = (await model.claim('acme', make.claimRequest(worker.id, 1))).tasks;
  await model.settle('acme', [settlement(leaseId, 'succeeded')]);
  await model.addUsage('acme', [{ at: clock.nowMs(), workerId: null, figures: [0, 1] }]);
  await copyAll({ from: model, to: store });
  const names = (await server.command('KEYS', `${keyPrefix}{acme}:*`)) as string[];
  const kinds = names.map(name => name.slice(`${keyPrefix}{acme}:`.length).split(':')[0]);
  t.strictSame(
    kinds.filter(kind => ['u', 'L', 'i'].includes(kind)),
    [],
  );
  t.equal(names.filter(name => name.includes(`:U:${USAGE_SPANS.minute.ms}:`)).length, 0);
  t.ok(kinds.includes('k'));
});

import t, { type Test } from 'tap';
import { USAGE_SPANS, usageStart } from '../../../../src/tasks/model/usage.ts';
import { TASK_FIELDS } from '../../../../src/tasks/store/redis/lua/records.ts';
import { taskStoreExam } from '../../../exam/task-store/exam.ts';
import { randomExam } from '../../../exam/task-store/random.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { startRedis } from '../../../support/redis-server.ts';
import { Factory, idsOf, settlement, taskQuery, taskSearch } from '../../../support/tasks/factories.ts';
import {
  type RedisTaskStoreSetting,
  redisBackend,
  redisTaskStore,
  TASK_SERVER_ARGS,
} from '../../../support/tasks/redis-backend.ts';
import { withWorker } from '../../../support/tasks/store-with-worker.ts';
import { testsOf } from '../../../support/tests-of.ts';
import { until } from '../../../support/until.ts';

const test = testsOf(open);

const NOW = Date.UTC(2026, 2, 1, 10);
const ACME = 'acme';

const server = await startRedis({ args: TASK_SERVER_ARGS });
t.teardown(() => server.stop());

const backend = redisBackend('redis', [server]);
taskStoreExam(t, backend, 8);
randomExam(t, backend, { sequences: 10, seed: 11 });

let prefixes = 0;

/** A started store with an account and a worker that is pushed to. */
async function open(t: Test, options: RedisTaskStoreSetting = {}) {
  const clock = new ManualClock(NOW);
  const keyPrefix = `own${++prefixes}:`;
  const opened = await withWorker(t, redisTaskStore([server], { keyPrefix, time: clock, ...options }), clock);
  const { store, make, worker } = opened;
  const add = () => store.create(ACME, make.createRequest([make.newTask(worker, {}, { wake: true })]));
  return { ...opened, clock, keyPrefix, add };
}

t.test('time is that of Redis, unless a clock is given', async t => {
  const { store, make, worker } = await open(t, { time: null });
  const [seconds] = (await server.command('TIME')) as [string];
  const now = await store.now();
  t.ok(now >= Number(seconds) * 1_000, `${now}`);
  await store.create(ACME, make.createRequest([make.newTask(worker)]));
  const { tasks, now: claimedAt } = await store.claim(ACME, make.claimRequest(worker.id, 1));
  t.ok(claimedAt >= now);
  t.equal(tasks[0].task.updatedAt, claimedAt);
});

t.test('usage expires by itself, minutes after hours and hours after days', async t => {
  const { store, keyPrefix } = await open(t, { time: null });
  const now = await store.now();
  const increment = { at: now, workerId: null, figures: [0, 1] };
  await store.addUsage(ACME, [increment]);
  await store.addUsage(ACME, [increment]);
  for (const span of ['minute', 'hour'] as const) {
    const { ms, keepMs } = USAGE_SPANS[span];
    const start = usageStart(span, now);
    const key = `${keyPrefix}{${ACME}}:U:${ms}:${start}`;
    t.equal(await server.command('PEXPIRETIME', key), start + ms + keepMs, span);
  }
});

test('an attempt of an older version has no start', async ({ store, make, worker, clock, keyPrefix }, t) => {
  await store.create(ACME, make.createRequest([make.newTask(worker)]));
  const { tasks } = await store.claim(ACME, make.claimRequest(worker.id, 1));
  const key = `${keyPrefix}{${ACME}}:k:${tasks[0].task.id}`;
  const at = TASK_FIELDS.indexOf('began') + 1;
  const script = `local f = cmsgpack.unpack(redis.call('GET', KEYS[1])) f[${at}] = true
    redis.call('SET', KEYS[1], cmsgpack.pack(f))`;
  await server.command('EVAL', script, '1', key);
  clock.advance(100);
  const [answer] = await store.settle(ACME, [settlement(tasks[0].leaseId, 'succeeded')]);
  t.match(answer, { kind: 'settled', beganAt: null });
});

test('what is asked in one turn leaves in one write', async ({ add }, t) => {
  await add();
  const reads = async () =>
    Number(/total_reads_processed:(\d+)/.exec(String(await server.command('INFO')))?.[1]);
  const before = await reads();
  await Promise.all(Array.from({ length: 200 }, () => add()));
  // The asking itself connects anew each time, which is a handful of reads.
  t.ok((await reads()) - before < 50, 'far fewer reads than operations');
});

test('scripts that Redis has forgotten are sent again', async ({ store, add }, t) => {
  await add();
  await server.command('SCRIPT', 'FLUSH');
  await add();
  t.equal((await store.counts(ACME, null)).scheduled, 2);
});

test('a task outside the index of keys holds its key', async ({ store, make, worker, keyPrefix }, t) => {
  const create = async () => {
    const made = await store.create(ACME, make.createRequest([make.newTask(worker, { key: 'k' })]));
    return made.kind === 'done' ? made.results[0] : null;
  };
  const found = async () => idsOf((await store.search(ACME, taskSearch({ key: 'k' }))).tasks);
  const old = await create();
  const id = old?.kind === 'created' ? old.task.id : '';
  t.strictSame(await found(), [id]);
  // As versions without the index left it.
  const [index] = (await server.command('KEYS', `${keyPrefix}*:y`)) as string[];
  await server.command('DEL', index);
  t.strictSame(await found(), []);
  t.match(await create(), { kind: 'existing', task: { id } });
  t.strictSame(idsOf(await store.list(ACME, taskQuery({ workerId: worker.id }))), [id]);
  t.equal(await store.remove(ACME, id, null), 'removed');
  const young = await create();
  t.strictSame(await found(), [young?.kind === 'created' ? young.task.id : '']);
});

test('a hint that was lost is found by the sweep', async ({ store, worker, keyPrefix, add }, t) => {
  await add();
  await store.claim(ACME, new Factory(new ManualClock(NOW)).claimRequest(worker.id, 0));
  await server.command('DEL', `${keyPrefix}wake:0`, `${keyPrefix}reap:0`, `${keyPrefix}docs:0`);
  t.same(await store.wakeups(NOW, 10), []);
  await store.sweep();
  t.same(await store.wakeups(NOW, 10), [{ tenant: ACME, workerId: worker.id, at: NOW }]);
});

test('the sweep finds leases and documents', async ({ clock, store, make, worker, keyPrefix, add }, t) => {
  await add();
  await store.claim(ACME, make.claimRequest(worker.id, 1));
  await store.apply(ACME, [make.worker({ name: 'resumes' }, { dueAt: NOW + 500 })]);
  await store.wakeups(NOW, 1);
  await server.command('DEL', `${keyPrefix}wake:0`, `${keyPrefix}reap:0`, `${keyPrefix}docs:0`);
  clock.advance(60_000);
  t.same(await store.overdue(10), []);
  await store.sweep();
  t.equal((await store.overdue(10))[0].leases.length, 1);
  t.equal((await store.dueDocuments(10)).length, 1);
});

test('the sweep leaves workers alone that are paused or pull', async ({ store, make }, t) => {
  const paused = make.worker({ name: 'paused', paused: true });
  const pulls = make.worker({ name: 'pulls', mode: 'pull', url: null });
  await store.apply(ACME, [paused, pulls]);
  await store.create(ACME, make.createRequest([make.newTask(paused), make.newTask(pulls)]));
  await store.sweep();
  t.same(await store.wakeups(NOW, 10), []);
});

test('texts that Lua cannot read keep no hint from being found', async ({ store, make }, t) => {
  const odd = make.worker({ name: 'odd', pauseReason: '\ud800' });
  await store.apply(ACME, [odd]);
  await store.create(ACME, make.createRequest([make.newTask(odd)]));
  await store.sweep();
  t.match(await store.wakeups(NOW, 10), [{ workerId: odd.id }]);
  t.equal(await store.countDue(10), 1);
});

test('an unreadable tenant keeps the sweep from no other', async ({ store, make, keyPrefix }, t) => {
  await store.apply('aaa', [make.account('aaa')]);
  const worker = make.worker({ name: 'last' });
  await store.apply('zzz', [make.account('zzz'), worker]);
  await store.create('zzz', make.createRequest([make.newTask(worker)]));
  await server.command('SET', `${keyPrefix}{aaa}:l`, 'no sorted set');
  await t.rejects(store.sweep(), /WRONGTYPE/);
  t.match(await store.wakeups(NOW, 10), [{ tenant: 'zzz', workerId: worker.id }]);
  t.equal(await store.countDue(10), 1);
});

test('tasks of a schedule and another worker are found in pieces', async ({ store, make, worker }, t) => {
  const other = make.worker({ name: 'other' });
  await store.apply(ACME, [other]);
  const tasks = Array.from({ length: 2_500 }, (_, i) =>
    make.newTask([1_200, 2_400].includes(i) ? other : worker, { scheduleId: 'sch_1' }),
  );
  for (let i = 0; i < tasks.length; i += 500) {
    await store.create(ACME, make.createRequest(tasks.slice(i, i + 500)));
  }
  const found = [tasks[1_200].task.id, tasks[2_400].task.id];
  const query = taskQuery({ scheduleId: 'sch_1', workerId: other.id, limit: 5 });
  await server.command('CONFIG', 'RESETSTAT');
  t.same(idsOf(await store.list(ACME, query)), found);
  const stats = String(await server.command('INFO', 'commandstats'));
  t.ok(Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1]) >= 5, 'in several calls');
  t.same(idsOf(await store.list(ACME, { ...query, order: 'desc', limit: 1 })), found.slice(1));
  t.same(idsOf(await store.list(ACME, { ...query, after: found[0], limit: 1 })), found.slice(1));
});

test('a request that Lua cannot read does nothing at all', async ({ store, make, worker }, t) => {
  const [good, running, bad] = [1, 2, 3].map(() => make.newTask(worker));
  const odd = { ...bad, task: { ...bad.task, key: '\ud800' } };
  const request = make.createRequest([good, odd], { documents: [make.user()] });
  await t.rejects(store.create(ACME, request), { code: 'store_failed', message: /unicode escape/ });
  t.equal((await store.counts(ACME, null)).scheduled, 0);
  const users = { kind: 'user', after: null, limit: 10, order: 'asc' } as const;
  t.same(await store.listDocuments(ACME, users), []);
  await store.create(ACME, make.createRequest([running]));
  const [{ leaseId }] = (await store.claim(ACME, make.claimRequest(worker.id, 1))).tasks;
  const odder = { ...settlement(make.leaseId(), 'succeeded'), result: '\ud800' };
  await t.rejects(store.settle(ACME, [settlement(leaseId, 'succeeded'), odder]), { code: 'store_failed' });
  t.equal((await store.counts(ACME, null)).running, 1);
});

t.test('it is done again and again, by a timer of the store', async t => {
  const timers = new ManualClock(0);
  const { store, worker, keyPrefix, add } = await open(t, { clock: timers, sweepMs: 30_000 });
  await add();
  for (let round = 0; round < 2; round++) {
    await store.setWakeup(ACME, worker.id, null);
    await until(() => timers.pendingDelaysMs.includes(30_000));
    timers.advance(30_000);
    await until(async () => (await server.command('ZCARD', `${keyPrefix}wake:0`)) === 1);
  }
  t.equal((await store.wakeups(NOW, 10)).length, 1);
});

test('a hint that leads nowhere is put right', async ({ clock, store, make, worker, keyPrefix, add }, t) => {
  await add();
  const { tasks } = await store.claim(ACME, make.claimRequest(worker.id, 1));
  await store.settle(ACME, [settlement(tasks[0].leaseId, 'succeeded')]);
  clock.advance(60_000);
  t.equal(await server.command('ZCARD', `${keyPrefix}reap:0`), 1);
  t.same(await store.overdue(10), []);
  await until(async () => (await server.command('ZCARD', `${keyPrefix}reap:0`)) === 0);
});

test('the name of a tenant that is not made is not kept', async ({ store, make }, t) => {
  const twice = await store.apply('other', [make.account('other'), make.account('other', {}, { expect: 7 })]);
  t.match(twice, { kind: 'refused', reason: 'version' });
  t.same(await store.tenants(null, 10), [ACME]);
});

t.test('operations above the maximum in progress are rejected', async t => {
  const { store } = await open(t, { maxInFlight: 32 });
  const asked = await Promise.allSettled(Array.from({ length: 15 }, () => store.list(ACME, taskQuery())));
  const refused = asked.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[];
  t.equal(refused.length, 4, 'a tenant that is alone may have a third');
  for (const { reason } of refused) t.match(reason, { code: 'overloaded' });
  t.resolves(store.list(ACME, taskQuery()), 'and taken when there is room');
});

test('what was asked before a stop is answered', async ({ store, add }, t) => {
  const asked = [add(), add()];
  await store.stop();
  for (const answer of await Promise.all(asked)) t.equal(answer.kind, 'done');
  await t.rejects(store.counts(ACME, null), { code: 'store_failed', message: /the store was stopped/ });
});

t.test('a prefix that would change the slots of keys is refused', async t => {
  t.throws(() => redisTaskStore([server], { keyPrefix: '{sluice}:' }), /must not contain braces/);
});

t.test('a store does not start on a server that may lose tasks', async t => {
  const forgetful = await startRedis();
  const careless = await startRedis({ args: ['--appendonly', 'yes', '--maxmemory-policy', 'allkeys-lru'] });
  t.teardown(() => Promise.all([forgetful.stop(), careless.stop()]));
  const start = (on: typeof server) => {
    const store = redisTaskStore([on], { durability: 'always' });
    t.teardown(() => store.stop());
    return store.start();
  };
  await t.rejects(start(forgetful), /appendonly is 'no', .*run 'CONFIG SET appendonly yes'/);
  await t.rejects(
    start(careless),
    /maxmemory-policy is 'allkeys-lru', .*run 'CONFIG SET maxmemory-policy noeviction'/,
  );
  await careless.command('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
  await t.rejects(start(careless), /appendfsync is 'everysec', .*run 'CONFIG SET appendfsync always'/);
  await careless.command('CONFIG', 'SET', 'appendfsync', 'always');
  await t.resolves(start(careless));
});

t.test('where the settings may not be asked for, the log says what they must be', async t => {
  await server.command('ACL', 'SETUSER', 'tasks', 'on', '>secret', '~*', '+@all', '-config');
  const logger = new KeepingLogger();
  await open(t, { access: { username: 'tasks', password: 'secret' }, logger });
  t.same(logger.messages('warning'), [
    'Could not check the persistence settings of Redis; make sure that they keep tasks',
  ]);
});

t.test('a wrong password is reported, and not shown', async t => {
  const store = redisTaskStore([server], {
    access: { username: 'tasks', password: 'wrong-one' },
    startMs: 500,
  });
  t.teardown(() => store.stop());
  const failure = await store.start().then(
    () => new Error('it started'),
    (failure: Error) => failure,
  );
  t.match(failure.message, /WRONGPASS/);
  t.notMatch(failure.message, /wrong-one/);
});

t.test('an unreachable server is reported within the startup timeout', async t => {
  const store = redisTaskStore([{ port: 1 }], { startMs: 200 });
  t.teardown(() => store.stop());
  await t.rejects(store.start(), /Redis at 127.0.0.1:1 was not ready within 200 ms: .*ECONNREFUSED/);
});

t.test('a replica is refused', async t => {
  const replica = await startRedis({
    args: [...TASK_SERVER_ARGS, '--replicaof', `127.0.0.1 ${server.port}`],
  });
  t.teardown(() => replica.stop());
  const store = redisTaskStore([replica]);
  t.teardown(() => store.stop());
  await t.rejects(store.start(), /it is a replica: the address must lead to the master/);
});

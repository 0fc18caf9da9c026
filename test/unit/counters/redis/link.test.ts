import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import t from 'tap';
import type { CounterStore } from '../../../../src/counters/store.ts';
import { StatsRegistry } from '../../../../src/stats/registry.ts';
import { answeringServer } from '../../../support/answering-server.ts';
import { count } from '../../../support/counting.ts';
import { freePort } from '../../../support/free-port.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { startRedis } from '../../../support/redis-server.ts';
import { redisStore, type Teardown } from '../../../support/stores.ts';
import { until, untilCounted } from '../../../support/until.ts';

// A link that waits for its next attempt does not keep the process alive.
const alive = setInterval(() => {}, 60_000);
t.teardown(() => clearInterval(alive));

async function openStore(
  t: Teardown,
  url: string,
  auth = '',
  logger = new KeepingLogger(),
): Promise<CounterStore> {
  const store = redisStore({ socketType: 'tcp', url, auth }, { logger });
  t.teardown(() => store.stop());
  await store.start();
  return store;
}

t.test('the start waits for a Redis that comes later', async t => {
  const port = await freePort();
  const logger = new KeepingLogger();
  const store = redisStore({ socketType: 'tcp', url: `127.0.0.1:${port}`, auth: '' }, { logger });
  t.teardown(() => store.stop());
  const started = store.start();
  await until(() => logger.messages('debug').length >= 3);
  const late = await startRedis({ port });
  t.teardown(() => late.stop());
  await started;
  t.same(await count(store, [{ key: 'a', hits: 1 }]), [1]);
  t.match(logger.at('error')[0], {
    message: 'Redis is unavailable at start',
    fields: { reason: /^127\.0\.0\.1:\d+: .*ECONNREFUSED/ },
  });
});

t.test('something that is no Redis is refused with the bound of the start', async t => {
  const server = createServer(socket => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const url = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const store = redisStore({ socketType: 'tcp', url, auth: '' }, { startMaxElapsedMs: 100 });
  t.teardown(() => store.stop());
  await t.rejects(
    store.start(),
    new RegExp(`could not connect to Redis at ${url} within \\d+ ms \\(the limit is 100 ms\\)`),
  );
});

t.test('something that answers, but not as Redis does, is refused too', async t => {
  for (const [answer, said] of [
    ['+NOTPONG\r\n', '`NOTPONG`'],
    ['*1\r\n$4\r\nPONG\r\n', 'something else'],
  ]) {
    const url = await answeringServer(t, () => answer);
    const store = redisStore({ socketType: 'tcp', url, auth: '' }, { startMaxElapsedMs: 50 });
    t.teardown(() => store.stop());
    await t.rejects(store.start(), { message: new RegExp(`unexpected reply to PING: ${said}`) });
  }
});

t.test('a start that waits for an answer without a bound says so', async t => {
  const clock = new ManualClock(1_700_000_000_000);
  const logger = new KeepingLogger();
  const asked: string[] = [];
  const url = await answeringServer(t, command => {
    asked.push(command);
    return undefined;
  });
  const store = redisStore({ socketType: 'tcp', url, auth: '' }, { timeoutMs: 0, clock, logger });
  t.teardown(() => store.stop());
  const givenUp = t.rejects(store.start(), /because the service is shutting down/);
  await until(() => asked.length > 0);
  clock.advance(4_999);
  t.same(logger.lines, []);
  clock.advance(1);
  t.match(logger.at('error')[0], {
    message: 'Redis is unavailable at start',
    fields: { reason: `${url}: no answer within 5000 ms` },
  });
  await store.stop();
  await givenUp;
  t.equal(clock.pending, 0);
});

t.test('a password, or user and password, is sent; a wrong one is the cause, not printed', async t => {
  const guarded = await startRedis({
    args: ['--requirepass', 's3cret!', '--user', 'ann', 'on', '>pa:ss', '~*', '+@all'],
  });
  t.teardown(() => guarded.stop());
  t.same(await count(await openStore(t, guarded.address, 's3cret!'), [{ key: 'a', hits: 1 }]), [1]);
  t.same(await count(await openStore(t, guarded.address, 'ann:pa:ss'), [{ key: 'a', hits: 1 }]), [2]);
  const inAddress = `redis://ann:${encodeURIComponent('pa:ss')}@${guarded.address}/3`;
  t.same(
    await count(await openStore(t, inAddress), [{ key: 'a', hits: 1 }]),
    [1],
    'database 3 has its own keys',
  );
  const logger = new KeepingLogger();
  const wrong = redisStore({ socketType: 'tcp', url: guarded.address, auth: 'not-it-at-all' }, { logger });
  t.teardown(() => wrong.stop());
  const refusal = t.rejects(wrong.start(), /because the service is shutting down/);
  await until(() => logger.messages('error').length > 0);
  await wrong.stop();
  await refusal;
  t.notMatch(JSON.stringify(logger.lines), /not-it-at-all/);
  t.match(JSON.stringify(logger.lines), /WRONGPASS|invalid username-password/);
});

t.test('the password in an address is in no line of the log and in no error', async t => {
  const port = await freePort();
  for (const scheme of ['redis', 'REDIS']) {
    const logger = new KeepingLogger();
    const url = `${scheme}://:s3k@r3t@127.0.0.1:${port}/1`;
    const store = redisStore({ socketType: 'tcp', url, auth: '' }, { logger });
    const address = `redis://*****@127.0.0.1:${port}/1`;
    const message = `stopped connecting to Redis at ${address} because the service is shutting down`;
    const givenUp = t.rejects(store.start(), { message });
    await until(() => logger.messages('error').length > 0);
    await store.stop();
    await givenUp;
    t.match(logger.lines[0], { message: 'Redis connection failed', fields: { address } });
    t.notMatch(JSON.stringify(logger.lines), /s3k|r3t/);
  }
});

t.test('a proxy may quote the command that it does not know; the password is left out', async t => {
  const password = `s3k${'r3t'.repeat(20)}`;
  for (const said of [
    `unknown command 'AUTH', with args beginning with: 'ann' '${password.slice(0, 40)}'`,
    password,
  ]) {
    const url = await answeringServer(t, () => `-ERR ${said}\r\n`);
    const logger = new KeepingLogger();
    const endpoint = { socketType: 'tcp', url, auth: `ann:${password}` } as const;
    const store = redisStore(endpoint, { logger, startMaxElapsedMs: 30 });
    t.teardown(() => store.stop());
    const failure = await store.start().catch(String);
    t.match(failure, /: ERR (unknown command 'AUTH'|\*{5})$/);
    t.notMatch(`${failure} ${JSON.stringify(logger.lines)}`, /s3k|r3t/);
  }
});

t.test('a password that Redis does not ask for is a warning in the log, and nowhere else', async t => {
  const open = await startRedis();
  t.teardown(() => open.stop());
  const printed = t.capture(console, 'warn');
  const logger = new KeepingLogger();
  const store = await openStore(t, open.address, 'unasked', logger);
  t.same(await count(store, [{ key: 'a', hits: 1 }]), [1]);
  t.same(printed(), []);
  t.match(logger.lines, [
    { level: 'warning', message: 'Redis does not ask for a password; the configured one is not used' },
    { level: 'info', message: 'Connected to Redis' },
  ]);
});

t.test('a database that Redis does not have is no connection', async t => {
  const redis = await startRedis();
  t.teardown(() => redis.stop());
  const store = redisStore(
    { socketType: 'tcp', url: `redis://${redis.address}/99`, auth: '' },
    { startMaxElapsedMs: 50 },
  );
  t.teardown(() => store.stop());
  await t.rejects(store.start(), { message: /DB index is out of range/ });
  await t.rejects(count(store, [{ key: 'a', hits: 1 }]), { message: /not connected/ });
  t.equal(await redis.command('DBSIZE'), 0);
});

t.test('a Redis that does not answer in time is an error, until it answers again', async t => {
  const slow = await startRedis();
  t.teardown(() => slow.stop());
  const store = redisStore({ socketType: 'tcp', url: slow.address, auth: '' }, { timeoutMs: 200 });
  t.teardown(() => store.stop());
  await store.start();
  process.kill(slow.pid, 'SIGSTOP');
  await t.rejects(count(store, [{ key: 'a', hits: 1 }]), { code: 'store_failed' });
  process.kill(slow.pid, 'SIGCONT');
  const [after] = await untilCounted(store, [{ key: 'b', hits: 1 }]);
  t.ok(after >= 1, 'more when an answer was late again, although its hit was counted');
});

t.test('while Redis is away requests fail at once, and afterwards its counts are continued', async t => {
  const failing = await startRedis({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] });
  t.teardown(() => failing.stop());
  const logger = new KeepingLogger();
  const store = redisStore({ socketType: 'tcp', url: failing.address, auth: '' }, { logger });
  t.teardown(() => store.stop());
  await store.start();
  t.same(await count(store, [{ key: 'a', hits: 1 }]), [1]);
  await failing.kill();
  await until(() => logger.messages('error').includes('Redis is unavailable'));
  await t.rejects(count(store, [{ key: 'a', hits: 1 }]), { code: 'store_failed', message: /not connected/ });
  await failing.restart();
  t.same(await untilCounted(store, [{ key: 'a', hits: 1 }]), [2], 'Redis kept what it had counted');
});

t.test('a Redis that stays away is named with its reason once, and found when it is back', async t => {
  const failing = await startRedis();
  t.teardown(() => failing.stop());
  const logger = new KeepingLogger();
  const store = await openStore(t, failing.address, '', logger);
  await failing.kill();
  const said = () => logger.lines.filter(line => line.level === 'error' || line.level === 'warning');
  const attempts = () => logger.lines.filter(line => line.level === 'debug').length;
  await until(() => attempts() >= 2);
  t.match(said(), [{ level: 'error', message: 'Redis is unavailable', fields: { reason: failing.address } }]);
  t.equal(said().length, 1);
  await failing.restart();
  t.same(await untilCounted(store, [{ key: 'a', hits: 1 }]), [1]);
  t.equal(said().at(-1)?.message, 'Redis is available again');
  t.equal(said().length, 2);
});

t.test('connections are counted', async t => {
  const redis = await startRedis();
  t.teardown(() => redis.stop());
  const stats = new StatsRegistry();
  const figures = () => ({ ...Object.fromEntries(stats.counters()), ...Object.fromEntries(stats.gauges()) });
  const store = redisStore({ socketType: 'tcp', url: redis.address, auth: '' }, { stats });
  t.same(figures(), { active: 0 });
  await store.start();
  t.same(figures(), { active: 1, opened: 1 });
  await redis.kill();
  await until(() => new Map(stats.gauges()).get('active') === 0);
  t.same(figures(), { active: 0, opened: 1, closed: 1 });
  await redis.restart();
  await until(() => new Map(stats.gauges()).get('active') === 1);
  await store.stop();
  t.same(figures(), { active: 0, opened: 2, closed: 2 });
});

t.test('a command beside the counts that is not answered leaves the connection alone', async t => {
  const redis = await startRedis();
  t.teardown(() => redis.stop());
  const logger = new KeepingLogger();
  const store = redisStore(
    { socketType: 'tcp', url: redis.address, auth: '' },
    { logger, timeoutMs: 200, poolSize: 1 },
  );
  t.teardown(() => store.stop());
  await store.start();
  redis.freeze();
  const link = store.serverOf('key').link();
  await t.rejects(link!.sendBeside('GET', ['key']), { message: 'Command timed out' });
  t.equal(store.serverOf('key').link(), link);
  t.same(logger.messages('info'), ['Connected to Redis']);
  redis.thaw();
  t.same(await count(store, [{ key: 'a', hits: 1 }]), [1]);
});

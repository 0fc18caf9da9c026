import t, { type Test } from 'tap';
import { type Clock, systemClock } from '../../../src/base/clock.ts';
import { MAX_RECORDS, recordJson } from '../../../src/steering/record.ts';
import { SharedRecordsReader } from '../../../src/steering/shared-records.ts';
import { Steering } from '../../../src/steering/steering.ts';
import { followed } from '../../exam/steering-store.ts';
import { KeepingLogger } from '../../support/keeping-logger.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { redisRecordsOpener } from '../../support/redis-records.ts';
import { type RedisServer, redisFor } from '../../support/redis-server.ts';
import { type SilencingProxy, silencingProxy } from '../../support/silencing-proxy.ts';
import { record } from '../../support/steering.ts';
import { tempDirectory } from '../../support/temp-directory.ts';
import { until } from '../../support/until.ts';

type Env = Readonly<Record<string, string>>;

const TOKEN = { ADMIN_TOKEN: 'a-token-for-these-tests' };
const KEY = 'sluice:steering';

async function ownRedis(t: Test, args: readonly string[] = []): Promise<RedisServer> {
  const redis = await redisFor(t, { args });
  return redis;
}

/** The records of a process whose clock moves only when told to. */
async function process(t: Test, address: string, env: Env = TOKEN) {
  const clock = new ManualClock(Date.now());
  const open = await redisRecordsOpener({ REDIS_URL: address, REDIS_POOL_SIZE: '1', ...env }, { clock });
  return { clock, records: await followed(t, open) };
}

/**
 * How long a process takes, by its own clock, until something holds. It does what it can before time passes: until it waits
 * for the moment to read or to connect again, or for a reply that does not come.
 */
async function elapsed(
  clock: ManualClock,
  holds: () => boolean,
  proxy?: Pick<SilencingProxy, 'isMissed'>,
): Promise<number> {
  const sinceMs = clock.nowMs();
  for (;;) {
    await until(() => clock.pendingDelaysMs.some(delayMs => delayMs <= 250) || proxy?.isMissed === true);
    if (holds()) return clock.nowMs() - sinceMs;
    if (proxy?.isMissed === true) {
      clock.advance(clock.pendingDelaysMs[0]);
      await until(() => !proxy.isMissed);
    } else {
      clock.advance(25);
      await nextTurn();
    }
  }
}

/** What is known by now happens before. */
function nextTurn(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve));
}

/** Makes a change as often as it fails, while time passes for the process. */
async function changed(clock: ManualClock, change: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await change();
    } catch {
      clock.advance(25);
      await nextTurn();
    }
  }
}

function banNow(user: string, nowMs = Date.now()) {
  return record('ban', `user=${user}`, { nowS: Math.floor(nowMs / 1_000) });
}

/** Number of connections to a Redis, without the one that asks. */
async function connections(redis: RedisServer): Promise<number> {
  return (
    String(await redis.command('CLIENT', 'LIST'))
      .trim()
      .split('\n').length - 1
  );
}

t.test('a process without a token has a connection of its own only while there are records', async t => {
  const redis = await ownRedis(t);
  const { records: reader, clock } = await process(t, redis.address, {});
  t.match(await reader.store.send?.('TIME', []), [/^\d+$/, /^\d+$/], 'on the connection of the counters');
  t.equal(await connections(redis), 1, 'that of the counters');
  const { records: writer } = await process(t, redis.address);
  const without = await connections(redis);
  const ann = banNow('ann');
  await writer.put(ann);
  t.ok((await elapsed(clock, () => reader.records.length === 1)) <= 250);
  t.equal(await connections(redis), without + 1);
  await writer.remove(ann.id);
  t.ok((await elapsed(clock, () => reader.records.length === 0)) <= 250);
  for (let reads = 0; reads <= 240; reads++) {
    await elapsed(clock, () => true);
    clock.advance(250);
  }
  await until(async () => (await connections(redis)) === without);
  await writer.put(ann);
  t.ok((await elapsed(clock, () => reader.records.length === 1)) <= 250, 'it finds the next record as well');
});

t.test('a process without a token finds the first record over connections that fell silent', async t => {
  const redis = await ownRedis(t);
  const proxy = await silencingProxy(t, redis.port);
  const { records: reader, clock } = await process(t, proxy.address, { REDIS_TIMEOUT: '1h' });
  const { records: writer } = await process(t, redis.address);
  proxy.silence();
  await writer.put(banNow('ann'));
  t.ok((await elapsed(clock, () => reader.records.length === 1, proxy)) < 1_000);
});

for (const [name, env] of [
  ['with', TOKEN],
  ['without', {}],
] as const) {
  t.test(`a process ${name} a token applies each change within a second, over lost connections`, async t => {
    const redis = await ownRedis(t, [
      ...['--appendonly', 'yes', '--appendfsync', 'always'],
      ...['--dir', tempDirectory(t)],
    ]);
    const proxy = await silencingProxy(t, redis.port);
    const { records: writer, clock: clockOfWriter } = await process(t, redis.address);
    const { records: reader, clock } = await process(t, proxy.address, { ...env, REDIS_TIMEOUT: '60s' });
    const faults: Readonly<Record<string, () => unknown>> = {
      none: () => {},
      'all connections are closed': () => redis.command('CLIENT', 'KILL', 'TYPE', 'normal'),
      'connections fall silent': () => proxy.silence(),
      'Redis is killed': async () => {
        await redis.kill();
        await elapsed(clock, () => clock.pendingDelaysMs.includes(250));
        await redis.restart();
      },
    };
    for (const [fault, happens] of Object.entries(faults)) {
      const ban = banNow('ann', clock.nowMs());
      await happens();
      await changed(clockOfWriter, () => writer.put(ban));
      const forPut = await elapsed(clock, () => reader.records.length === 1, proxy);
      await changed(clockOfWriter, () => writer.remove(ban.id));
      await happens();
      const forRemoval = await elapsed(clock, () => reader.records.length === 0, proxy);
      t.ok(Math.max(forPut, forRemoval) < 1_000, `${fault}: ${forPut} and ${forRemoval} ms`);
    }
  });
}

/** The steering of a process, and how it decides. */
async function steering(t: Test, redis: RedisServer, { clock = systemClock as Clock, env = {} as Env } = {}) {
  const logger = new KeepingLogger();
  const open = await redisRecordsOpener({ ...TOKEN, REDIS_URL: redis.address, ...env }, { clock, logger });
  const made = new Steering(open(), clock);
  t.teardown(() => made.stop());
  await made.start();
  return { steering: made, reader: new SharedRecordsReader(made.memory), logger };
}

function banOf(values: readonly string[], untilMs = Date.now() + 60_000) {
  const entries = values.map(value => ({ key: 'user', value }));
  return { domain: 'd', entries, until: new Date(untilMs).toISOString(), reason: 'test' };
}

t.test('processes that add records at the same moment exceed neither the number nor the sorts', async t => {
  const redis = await ownRedis(t);
  const stored = Array.from({ length: MAX_RECORDS - 7 }, (_, i) => banNow(`u${i}`));
  const texts = stored.flatMap(each => [each.id, JSON.stringify(recordJson(each))]);
  await redis.command('HSET', KEY, 'version', '1.first', ...texts);
  const processes = await Promise.all([1, 2].map(() => steering(t, redis)));
  const putAll = (valuesOf: (process: number, i: number) => readonly string[], each: number) =>
    Promise.allSettled(
      processes.flatMap((process, p) =>
        Array.from({ length: each }, (_, i) => process.steering.put(banOf(valuesOf(p, i)), 'ban', 'tests')),
      ),
    );
  const made = await putAll((p, i) => [`p${p}-${i}`], 5);
  t.equal(made.filter(({ status }) => status === 'fulfilled').length, 7);
  t.match(
    made.flatMap(each => (each.status === 'rejected' ? [each.reason] : [])),
    Array(3).fill(/1000 records already/),
  );
  t.equal(await redis.command('HLEN', KEY), MAX_RECORDS + 1);
  await redis.command('DEL', KEY);
  const sorted = await putAll((p, i) => [`p${p}-${i}*`, 'x'], 40);
  t.equal(sorted.filter(({ status }) => status === 'fulfilled').length, 64);
  await until(() => processes.every(process => process.steering.list('ban').length === 64));
});

t.test('a process deletes a record of another one, and one that has ended is made again', async t => {
  const redis = await ownRedis(t);
  const [first, second] = await Promise.all([1, 2].map(() => steering(t, redis)));
  const { id } = await first.steering.put(banOf(['ann']), 'ban', 'tests');
  t.match(await second.steering.remove('ban', id), { id });
  t.equal(await first.steering.remove('ban', id), null, 'although this process may not know yet');
  const ended = record('ban', 'user=ann');
  await redis.command('HSET', KEY, ended.id, JSON.stringify(recordJson(ended)), 'version', '9.other');
  await first.steering.put(banOf(['ann']), 'ban', 'tests');
  t.equal(await redis.command('HLEN', KEY), 2);
  await until(() => second.steering.list('ban').length === 1);
});

t.test('a record ends in all processes at the same moment, by the clock of Redis', async t => {
  const redis = await ownRedis(t);
  const shifted = (byMs: number): Clock => ({ ...systemClock, nowMs: () => Date.now() + byMs });
  const right = await steering(t, redis);
  const untilMs = (Math.floor(Date.now() / 1_000) + 60) * 1_000;
  await right.steering.put(banOf(['ann'], untilMs), 'ban', 'tests');
  for (const byMs of [3_600_000, -5_500]) {
    const { steering: wrong, reader, logger } = await steering(t, redis, { clock: shifted(byMs) });
    // The first measurement may be inexact, if this machine is busy.
    await until(() => reader.at(untilMs + byMs - 100) !== null && reader.at(untilMs + byMs + 100) === null);
    t.match(wrong.list('ban')[0].entries, [{ value: 'ann' }]);
    t.match(logger.lines, [{ level: 'warning', message: /clocks .* differ/ }]);
    const made = await wrong.put(banOf(['bob'], untilMs), 'ban', 'tests');
    t.ok(Math.abs(made.createdS * 1_000 - Date.now()) < 30_000, 'it is dated by that clock as well');
  }
  t.strictSame(right.logger.lines, []);
});

t.test('without permission for TIME, a record ends by the clock of the process, with a warning', async t => {
  const redis = await ownRedis(t, ['--user', 'timeless', 'on', 'nopass', '~*', '+@all', '-time']);
  const clock = { ...systemClock, nowMs: () => Date.now() + 3_600_000 };
  const {
    steering: timeless,
    reader,
    logger,
  } = await steering(t, redis, {
    clock,
    env: { REDIS_AUTH: 'timeless:' },
  });
  const untilMs = (Math.floor(clock.nowMs() / 1_000) + 60) * 1_000;
  await timeless.put(banOf(['ann'], untilMs), 'ban', 'tests');
  t.not(reader.at(untilMs - 1), null);
  t.equal(reader.at(untilMs), null);
  t.match(logger.lines, [{ level: 'warning', message: /end by the clock of this process/ }]);
});

t.test('records that Redis loses in a restart end in all processes, and each one logs it', async t => {
  const redis = await ownRedis(t);
  const processes = await Promise.all([steering(t, redis), steering(t, redis, { env: { ADMIN_TOKEN: '' } })]);
  await processes[0].steering.put(banOf(['ann']), 'ban', 'tests');
  await until(() => processes[1].steering.list('ban').length === 1);
  await redis.restart();
  for (const { steering: one, logger } of processes) {
    await until(() => one.list('ban').length === 0);
    const lost = logger.lines.filter(({ message }) => message.includes('has lost changes'));
    t.match(lost, [{ level: 'warning', fields: { lost_changes: 1, records_left: 0 } }]);
  }
});

/** What a change says that Redis does not answer. */
function faultOf(change: Promise<unknown>): Promise<string> {
  return change.then(
    () => 'made',
    (failure: Error) => failure.message,
  );
}

t.test('a change that Redis does not make says whether it may have been made', async t => {
  const redis = await ownRedis(t, ['--user', 'plain', 'on', 'nopass', '~*', '+@all', '-eval']);
  const { steering: plain } = await steering(t, redis, { env: { REDIS_AUTH: 'plain:' } });
  const put = (of: Steering) => faultOf(of.put(banOf(['ann']), 'ban', 'tests'));
  t.match(await put(plain), /NOPERM.*no steering record was changed/);
  const { steering: one } = await steering(t, redis);
  await redis.command('CONFIG', 'SET', 'maxmemory', '1');
  t.match(await put(one), /OOM.*no steering record was changed/);
  await redis.command('CONFIG', 'SET', 'maxmemory', '0');
  await redis.command('REPLICAOF', '127.0.0.1', '1');
  t.match(await put(one), /READONLY.*no steering record was changed/);
  await redis.command('REPLICAOF', 'NO', 'ONE');
  await until(async () => (await put(one)) === 'made');
  redis.freeze();
  t.match(await put(one), /no steering record was changed/, 'it was not sent');
  redis.thaw();
  await redis.kill();
  t.match(await put(one), /no steering record was changed/);
});

t.test('a change whose reply is lost may have been made, and its answer says so', async t => {
  const redis = await ownRedis(t);
  const proxy = await silencingProxy(t, redis.port);
  const open = (address: string) => redisRecordsOpener({ ...TOKEN, REDIS_URL: address });
  const other = await followed(t, await open(redis.address));
  const one = await followed(t, await open(proxy.address));
  const put = one.store.change(() => {
    // The version was read, and the change is sent next.
    proxy.dropReplies();
    return { put: banNow('ann'), removed: [] };
  });
  t.match(await faultOf(put), /may or may not have made the change/);
  t.equal(one.records.length, 0);
  await until(() => other.records.length === 1 && one.records.length === 1);
});

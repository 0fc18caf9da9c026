import t, { type Test } from 'tap';
import { Presence } from '../../../../src/app/operator/presence.ts';
import { RedisReplyError } from '../../../../src/clients/redis/errors.ts';
import type { SendToRedis } from '../../../../src/steering/steering-store.ts';
import type { ProcessView } from '../../../../src/transports/debug/operator/status-routes.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { type RedisServer, startRedis } from '../../../support/redis-server.ts';
import { until } from '../../../support/until.ts';

const KEY = 'sluice:processes';
/** Far from the clock of Redis. */
const CLOCK_MS = 1_000_000_000_000;

function view(id: string, more: Partial<ProcessView> = {}): ProcessView {
  return {
    id,
    host: 'host',
    pid: 7,
    started: `2026-01-01T00:00:00.000Z-${id}`,
    seen: '',
    version: '1.0.0',
    hits_per_second: 5,
    rejected_per_second: null,
    rules_loaded: null,
    rules_digest: 'd1',
    rules_error: null,
    is_this: true,
    ...more,
  };
}

async function server(t: Test): Promise<RedisServer> {
  const redis = await startRedis();
  t.teardown(() => redis.stop());
  return redis;
}

async function running(t: Test, redis: RedisServer, id: string, more: Partial<ProcessView> = {}) {
  const clock = new ManualClock(CLOCK_MS);
  const logger = new KeepingLogger();
  let isReachable = true;
  const sent: string[] = [];
  let refuses: string | null = null;
  const send: SendToRedis = async (command, args) => {
    if (!isReachable) throw new Error('unreachable');
    if (command === refuses)
      throw new RedisReplyError(`NOPERM this user has no permissions to run ${command}`);
    sent.push(command);
    return await redis.command(command, ...args);
  };
  const presence = new Presence(send, KEY, () => view(id, more), clock, logger);
  await presence.start();
  t.teardown(() => presence.stop());
  /** Waits for the exchange that runs, which schedules the next one at its end. */
  const settled = () => until(() => clock.pending === 1);
  await settled();
  return {
    presence,
    clock,
    logger,
    sent,
    settled,
    refuse: (command: string | null) => {
      refuses = command;
    },
    cut: () => {
      isReachable = false;
    },
    again: async (ms = 3_000) => {
      clock.advance(ms);
      await settled();
    },
  };
}

async function redisMs(redis: RedisServer): Promise<number> {
  const [seconds] = (await redis.command('TIME')) as unknown[];
  return Number(seconds) * 1_000;
}

t.test('times are those of the reader, however its clock differs from that of Redis', async t => {
  const redis = await server(t);
  await running(t, redis, 'a');
  const { presence } = await running(t, redis, 'b');
  const { others, isComplete } = await presence.look();
  t.match(others, [{ id: 'a', hits_per_second: 5, rules_digest: 'd1', is_this: false }]);
  t.ok(isComplete);
  const agoMs = CLOCK_MS - Date.parse(others[0].seen);
  t.ok(agoMs > -1_000 && agoMs < 12_000, `${agoMs} ms ago`);
  t.ok(Number(await redis.command('PTTL', KEY)) > 0, 'without processes, nothing remains');
});

t.test('records that are old, or are none, are not shown and are deleted', async t => {
  const redis = await server(t);
  const nowMs = await redisMs(redis);
  const record = (agoMs: number, more = {}) =>
    JSON.stringify({ ...view('x'), seen: new Date(nowMs - agoMs).toISOString(), ...more });
  await redis.command('HSET', KEY, 'old', record(20_000), 'fresh', record(0), 'text', '{', 'null', 'null');
  await redis.command(
    'HSET',
    KEY,
    'long',
    record(0, { host: 'x'.repeat(2_000) }),
    'wrong',
    record(0, { pid: 'x' }),
  );
  const { presence } = await running(t, redis, 'a');
  t.same(
    (await presence.look()).others.map(({ id }) => id),
    ['fresh'],
  );
  t.same(new Set((await redis.command('HKEYS', KEY)) as string[]), new Set(['fresh', 'a']));
});

t.test('of many processes, a bounded number has records, and every process sees these', async t => {
  const redis = await server(t);
  const seen = new Date(await redisMs(redis)).toISOString();
  const places = Array.from({ length: 1_000 }, (_, i) => [
    `p${i}`,
    JSON.stringify({ ...view(`p${i}`), seen }),
  ]);
  await redis.command('HSET', KEY, ...places.flat());
  const { presence, clock, again } = await running(t, redis, 'a');
  t.match(await presence.look(), { others: { length: 1_000 }, isComplete: false });
  t.equal(Number(await redis.command('HEXISTS', KEY, 'a')), 0);
  await redis.command('HDEL', KEY, 'p0');
  await again();
  t.equal(Number(await redis.command('HEXISTS', KEY, 'a')), 1, 'until one of them ends');
  await redis.command(
    'HSET',
    KEY,
    ...Array.from({ length: 1_000 }, (_, i) => [`q${i}`, 'x'.repeat(1_000)]).flat(),
  );
  clock.advance(500);
  const known = { others: [], isComplete: false };
  t.same(await presence.look(), known, 'what others have written to the key is not read at any size');
});

t.test('while Redis is unavailable, the other processes are known for a while', async t => {
  const redis = await server(t);
  await running(t, redis, 'a');
  const { presence, cut, again } = await running(t, redis, 'b');
  cut();
  for (let i = 0; i < 3; i++) await again();
  t.match(await presence.look(), { others: { length: 1 }, isComplete: false });
  await again();
  t.same(await presence.look(), { others: [], isComplete: false });
});

t.test('records are read when somebody asks, and else by one process after the other', async t => {
  const redis = await server(t);
  const seen = new Date(await redisMs(redis)).toISOString();
  const others = Array.from({ length: 4 }, (_, i) => [`p${i}`, JSON.stringify({ ...view(`p${i}`), seen })]);
  await redis.command('HSET', KEY, ...others.flat());
  const { presence, clock, sent, again } = await running(t, redis, 'a');
  const reads = () => sent.filter(command => command === 'HGETALL').length;
  t.equal(reads(), 1, 'at the start');
  for (let i = 0; i < 4; i++) await again();
  t.equal(reads(), 1);
  await again();
  t.equal(reads(), 2, 'after as many intervals as there are processes');
  sent.length = 0;
  await again();
  t.same(sent, ['TIME', 'HSET', 'PEXPIRE'], 'what a process sends in an interval');
  await Promise.all([presence.look(), presence.look()]);
  await presence.look();
  t.equal(reads(), 1, 'for all who ask within half a second');
  clock.advance(500);
  await presence.look();
  t.equal(reads(), 2);
});

t.test('others see why the newest rules of a process are not active, however long the reason is', async t => {
  const redis = await server(t);
  const long = `a.yaml:1:1: d: ${'x'.repeat(1_000)}`;
  await running(t, redis, 'a', { rules_error: long });
  await running(t, redis, 'b', { rules_error: '"'.repeat(1_000), host: 'h'.repeat(300) });
  const { presence } = await running(t, redis, 'c');
  const { others } = await presence.look();
  t.same(Object.fromEntries(others.map(({ id, rules_error }) => [id, rules_error])), {
    a: `${long.slice(0, 300)}…`,
    b: '',
  });
});

t.test(
  'after Redis has lost the records, processes are not all known until each has written its own',
  async t => {
    const redis = await server(t);
    await running(t, redis, 'a');
    const { presence, clock, again } = await running(t, redis, 'b');
    const isComplete = async () => {
      clock.advance(500);
      return (await presence.look()).isComplete;
    };
    t.ok(await isComplete());
    await redis.command('DEL', KEY);
    t.notOk(await isComplete(), 'its own record is missing');
    for (let i = 0; i < 2; i++) {
      await again();
      t.notOk(await isComplete());
    }
    await again();
    t.ok(await isComplete());
    await redis.command('DEL', KEY);
    await again();
    t.notOk(await isComplete(), 'its own record was missing when it was written');
  },
);

t.test('a process whose record Redis refuses says so once, and seldom tries again', async t => {
  const redis = await server(t);
  const { presence, logger, refuse, again } = await running(t, redis, 'a');
  refuse('HSET');
  await again();
  await again(60_000);
  t.match(logger.lines, [
    { level: 'warning', message: /rollout.*Allow TIME, HLEN, HSET/, fields: { key: KEY } },
  ]);
  t.equal(logger.lines.length, 1);
  refuse(null);
  await again(59_000);
  await again(1_000);
  t.same((await presence.look()).others, []);
  t.equal(Number(await redis.command('HEXISTS', KEY, 'a')), 1);
});

t.test('a process that stops removes its record and does nothing more', async t => {
  const redis = await server(t);
  const { presence, clock } = await running(t, redis, 'a');
  await presence.stop();
  t.equal(clock.pending, 0);
  t.equal(Number(await redis.command('EXISTS', KEY)), 0);
});

import t, { type Test } from 'tap';
import { Presence } from '../../../../src/app/operator/presence.ts';
import type { SendToRedis } from '../../../../src/steering/steering-store.ts';
import type { ProcessView } from '../../../../src/transports/debug/operator/status-routes.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { type RedisServer, startRedis } from '../../../support/redis-server.ts';
import { until } from '../../../support/until.ts';

const KEY = 'sluice:processes';
/** Far from the clock of Redis. */
const CLOCK_MS = 1_000_000_000_000;

function view(id: string): ProcessView {
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
    is_this: true,
  };
}

async function server(t: Test): Promise<RedisServer> {
  const redis = await startRedis();
  t.teardown(() => redis.stop());
  return redis;
}

async function running(t: Test, redis: RedisServer, id: string) {
  const clock = new ManualClock(CLOCK_MS);
  let isReachable = true;
  const send: SendToRedis = (command, args) =>
    isReachable ? redis.command(command, ...args) : Promise.reject(new Error('unreachable'));
  const presence = new Presence(send, KEY, () => view(id), clock);
  await presence.start();
  t.teardown(() => presence.stop());
  /** Waits for the exchange that runs, which schedules the next one at its end. */
  const settled = () => until(() => clock.pending === 1);
  await settled();
  return {
    presence,
    clock,
    settled,
    cut: () => {
      isReachable = false;
    },
    again: async () => {
      clock.advance(3_000);
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
  t.match(presence.others, [{ id: 'a', hits_per_second: 5, is_this: false }]);
  const agoMs = CLOCK_MS - Date.parse(presence.others[0].seen);
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
    presence.others.map(({ id }) => id),
    ['fresh'],
  );
  t.same(new Set((await redis.command('HKEYS', KEY)) as string[]), new Set(['fresh', 'a']));
});

t.test('of many processes, a bounded number has records, and every process sees these', async t => {
  const redis = await server(t);
  const seen = new Date(await redisMs(redis)).toISOString();
  for (let i = 0; i < 64; i++) {
    await redis.command('HSET', KEY, `p${i}`, JSON.stringify({ ...view(`p${i}`), seen }));
  }
  const { presence, again } = await running(t, redis, 'a');
  t.equal(presence.others.length, 64);
  t.equal(Number(await redis.command('HEXISTS', KEY, 'a')), 0);
  await redis.command('HDEL', KEY, 'p0');
  await again();
  t.equal(Number(await redis.command('HEXISTS', KEY, 'a')), 1, 'until one of them ends');
  for (let i = 100; i < 300; i++) await redis.command('HSET', KEY, `p${i}`, 'x'.repeat(100_000));
  await again();
  t.same(presence.others, [], 'what others have written to the key is not read at any size');
});

t.test('while Redis is unavailable, the other processes are known for a while', async t => {
  const redis = await server(t);
  await running(t, redis, 'a');
  const { presence, cut, again } = await running(t, redis, 'b');
  cut();
  for (let i = 0; i < 3; i++) await again();
  t.equal(presence.others.length, 1);
  await again();
  t.equal(presence.others.length, 0);
});

t.test('a process that stops removes its record and does nothing more', async t => {
  const redis = await server(t);
  const { presence, clock } = await running(t, redis, 'a');
  await presence.stop();
  t.equal(clock.pending, 0);
  t.equal(Number(await redis.command('EXISTS', KEY)), 0);
});

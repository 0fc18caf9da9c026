import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { loadSteeringStore } from '../../../src/app/steering/open-steering.ts';
import { loadSettings } from '../../../src/settings/load.ts';
import {
  examineSharing,
  examineSteeringStore,
  followed,
  type OpenSteeringStore,
} from '../../exam/steering-store.ts';
import { KeepingLogger } from '../../support/keeping-logger.ts';
import { clusterFor } from '../../support/redis-cluster.ts';
import { redisRecordsOpener } from '../../support/redis-records.ts';
import { MASTER_NAME, sentinelFor } from '../../support/redis-sentinel.ts';
import { type RedisServer, redisFor } from '../../support/redis-server.ts';
import { record } from '../../support/steering.ts';
import { tempDirectory } from '../../support/temp-directory.ts';
import { until } from '../../support/until.ts';

const TOKEN = { ADMIN_TOKEN: 'a-token-for-these-tests' };

let prefixes = 0;
/** Stores with a key of their own for each test. */
function fresh(env: Readonly<Record<string, string>>): () => Promise<OpenSteeringStore> {
  return () => redisRecordsOpener({ ...TOKEN, ...env, CACHE_KEY_PREFIX: `test${prefixes++}:` });
}

async function ownRedis(t: Test, args: readonly string[] = []): Promise<RedisServer> {
  const redis = await redisFor(t, { args });
  return redis;
}

t.test('one server', async t => {
  const redis = await ownRedis(t);
  const env = { REDIS_URL: redis.address };
  examineSteeringStore(t, fresh(env));
  examineSharing(t, fresh(env));
});

t.test('a master that a sentinel names', async t => {
  const redis = await ownRedis(t);
  const sentinel = await sentinelFor(t, redis.port);
  const env = {
    REDIS_TYPE: 'sentinel',
    REDIS_URL: `${MASTER_NAME},${sentinel.address}`,
  };
  examineSteeringStore(t, fresh(env));
  examineSharing(t, fresh(env));
});

t.test('a cluster', async t => {
  const cluster = await clusterFor(t, {});
  const env = { REDIS_TYPE: 'cluster', REDIS_URL: cluster.address };
  for (let i = 0; i < 3; i++) examineSteeringStore(t, fresh(env));
  examineSharing(t, fresh(env));
});

t.test('records outlast a crash of Redis, and changes after it reach all processes', async t => {
  const redis = await ownRedis(t, [
    '--appendonly',
    'yes',
    '--appendfsync',
    'always',
    '--dir',
    tempDirectory(t),
  ]);
  const logger = new KeepingLogger();
  const open = await redisRecordsOpener({ ...TOKEN, REDIS_URL: redis.address }, { logger });
  const first = await followed(t, open);
  const second = await followed(t, open);
  await first.put(record('ban', 'user=ann'));
  await until(() => second.records.length === 1);
  await redis.kill();
  await until(() => logger.lines.some(({ level }) => level === 'warning'));
  await t.rejects(first.put(record('ban', 'user=bob'), []), { code: 'store_failed' });
  t.equal(first.records.length, 1, 'the records that are known stay active');
  await redis.restart();
  const bob = record('ban', 'user=bob');
  await until(async () => {
    await first.put(bob).catch(() => {});
    return second.records.length === 2;
  });
  await first.remove(bob.id);
  await until(() => second.records.length === 1);
  t.match(logger.lines.at(-1)?.message, 'again');
});

t.test('a change on connections that are lost again and again is made in the end, once', async t => {
  const redis = await ownRedis(t);
  const open = await redisRecordsOpener({ ...TOKEN, REDIS_URL: redis.address });
  const first = await followed(t, open);
  const second = await followed(t, open);
  for (let i = 0; i < 10; i++) {
    const one = record('ban', `user=${i}`);
    const killing = redis.command('CLIENT', 'KILL', 'TYPE', 'normal').catch(() => {});
    await until(() =>
      first.put(one).then(
        () => true,
        () => false,
      ),
    );
    await killing;
    await until(() => second.records.length === i + 1);
  }
  t.equal(first.records.length, 10);
});

t.test('what is no record is left out', async t => {
  const redis = await ownRedis(t);
  const open = await redisRecordsOpener({ ...TOKEN, REDIS_URL: redis.address });
  const first = await followed(t, open);
  await first.put(record('ban', 'user=ann'));
  const stored = ['a', '{', 'b', '{}', 'c', 'null', 'd', `"${'x'.repeat(5_000)}"`];
  await redis.command('HSET', 'sluice:steering', ...stored, 'version', 'another');
  const second = await followed(t, open);
  t.equal(second.records.length, 1);
});

t.test('a user without access to the key is a warning, and the start goes on', async t => {
  const redis = await ownRedis(t, ['--user', 'other', 'on', 'nopass', '~other:*', '+@all']);
  for (const token of [TOKEN, {}]) {
    const logger = new KeepingLogger();
    const env = { ...token, REDIS_URL: redis.address, REDIS_AUTH: 'other:' };
    const first = await followed(t, await redisRecordsOpener(env, { logger }));
    t.strictSame(first.records, []);
    t.match(logger.lines, [
      { level: 'warning', message: /Allow HGET, HGETALL and TIME/, fields: { key: 'sluice:steering' } },
    ]);
    await t.rejects(first.remove('ban_0'), { code: 'store_failed' });
  }
});

t.test('records are loaded wherever there can be some', async t => {
  const snapshot = join(tempDirectory(t), 'counters');
  const load = (env: Readonly<Record<string, string>>) => loadSteeringStore(loadSettings(env));
  t.not(await load({ BACKEND_TYPE: 'redis' }), null, 'those of other processes');
  t.not(await load(TOKEN), null);
  t.equal(await load({}), null);
  t.equal(await load({ MEMORY_STORE_SNAPSHOT_PATH: snapshot }), null);
  writeFileSync(`${snapshot}.steering`, '[]');
  t.not(await load({ MEMORY_STORE_SNAPSHOT_PATH: snapshot }), null, 'those of an earlier start');
  t.equal(await load({ ...TOKEN, BACKEND_TYPE: 'memcache', MEMCACHE_HOST_PORT: 'a:1' }), null);
});

import t, { type Test } from 'tap';
import { loadSteeringStore } from '../../../src/app/steering/open-steering.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { loadSettings } from '../../../src/settings/load.ts';
import {
  examineSharing,
  examineSteeringStore,
  FollowedStore,
  type OpenSteeringStore,
} from '../../exam/steering-store.ts';
import { KeepingLogger } from '../../support/keeping-logger.ts';
import { startCluster } from '../../support/redis-cluster.ts';
import { MASTER_NAME, startSentinel } from '../../support/redis-sentinel.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';
import { record } from '../../support/steering.ts';
import { tempDirectory } from '../../support/temp-directory.ts';
import { until } from '../../support/until.ts';

const TOKEN = { ADMIN_TOKEN: 'a-token-for-these-tests' };

async function opener(env: Readonly<Record<string, string>>, logger = new KeepingLogger()) {
  const settings = loadSettings({ BACKEND_TYPE: 'redis', ...TOKEN, ...env });
  const open = await loadSteeringStore(settings);
  return () => open!({ settings, clock: systemClock, logger });
}

let prefixes = 0;
/** Stores with a key of their own for each test. */
function fresh(env: Readonly<Record<string, string>>): () => Promise<OpenSteeringStore> {
  return () => opener({ ...env, CACHE_KEY_PREFIX: `test${prefixes++}:` });
}

async function followed(t: Test, open: OpenSteeringStore): Promise<FollowedStore> {
  const made = new FollowedStore(open());
  t.teardown(() => made.store.stop());
  await made.start();
  return made;
}

async function ownRedis(t: Test, args: readonly string[] = []): Promise<RedisServer> {
  const redis = await startRedis({ args });
  t.teardown(() => redis.stop());
  return redis;
}

t.test('one server', async t => {
  const redis = await ownRedis(t);
  const env = { REDIS_SOCKET_TYPE: 'tcp', REDIS_URL: redis.address };
  examineSteeringStore(t, fresh(env));
  examineSharing(t, fresh(env));
});

t.test('a master that a sentinel names', async t => {
  const redis = await ownRedis(t);
  const sentinel = await startSentinel(redis.port);
  t.teardown(() => sentinel.stop());
  const env = {
    REDIS_TYPE: 'sentinel',
    REDIS_SOCKET_TYPE: 'tcp',
    REDIS_URL: `${MASTER_NAME},${sentinel.address}`,
  };
  examineSteeringStore(t, fresh(env));
  examineSharing(t, fresh(env));
});

t.test('a cluster', async t => {
  const cluster = await startCluster({});
  t.teardown(() => cluster.stop());
  const env = { REDIS_TYPE: 'cluster', REDIS_SOCKET_TYPE: 'tcp', REDIS_URL: cluster.address };
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
  const open = await opener({ REDIS_SOCKET_TYPE: 'tcp', REDIS_URL: redis.address }, logger);
  const first = await followed(t, open);
  const second = await followed(t, open);
  await first.store.put(record('ban', 'user=ann'), []);
  await until(() => second.records.length === 1);
  await redis.kill();
  await until(() => logger.lines.some(({ level }) => level === 'warning'));
  await t.rejects(first.store.put(record('ban', 'user=bob'), []), { code: 'store_failed' });
  t.equal(first.records.length, 1, 'the records that are known stay active');
  await redis.restart();
  const bob = record('ban', 'user=bob');
  await until(async () => {
    await first.store.put(bob, []).catch(() => {});
    return second.records.length === 2;
  });
  await first.store.remove(bob.id);
  await until(() => second.records.length === 1);
  t.match(logger.lines.at(-1)?.message, 'again');
});

t.test('a change on connections that are lost again and again is made in the end, once', async t => {
  const redis = await ownRedis(t);
  const open = await opener({ REDIS_SOCKET_TYPE: 'tcp', REDIS_URL: redis.address });
  const first = await followed(t, open);
  const second = await followed(t, open);
  for (let i = 0; i < 10; i++) {
    const one = record('ban', `user=${i}`);
    const killing = redis.command('CLIENT', 'KILL', 'TYPE', 'normal').catch(() => {});
    await until(() =>
      first.store.put(one, []).then(
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
  const open = await opener({ REDIS_SOCKET_TYPE: 'tcp', REDIS_URL: redis.address });
  const first = await followed(t, open);
  await first.store.put(record('ban', 'user=ann'), []);
  const stored = ['a', '{', 'b', '{}', 'c', 'null', 'd', `"${'x'.repeat(5_000)}"`];
  await redis.command('HSET', 'sluice:steering', ...stored, 'version', 'another');
  const second = await followed(t, open);
  t.equal(second.records.length, 1);
});

t.test('a user without access to the key is a warning, and the start goes on', async t => {
  const redis = await ownRedis(t, ['--user', 'other', 'on', 'nopass', '~other:*', '+@all']);
  const env = { REDIS_SOCKET_TYPE: 'tcp', REDIS_URL: redis.address, REDIS_AUTH: 'other:' };
  const first = await followed(t, await opener(env));
  t.strictSame(first.records, []);
  await t.rejects(first.store.remove('ban_0'), { code: 'store_failed' });
});

t.test('without a token, and with memcached, there are no records', async t => {
  t.equal(await loadSteeringStore(loadSettings({})), null);
  t.equal(
    await loadSteeringStore(loadSettings({ ...TOKEN, BACKEND_TYPE: 'memcache', MEMCACHE_HOST_PORT: 'a:1' })),
    null,
  );
});

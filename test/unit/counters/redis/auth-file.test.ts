import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { AuthFile } from '../../../../src/base/files/auth-file.ts';
import { count } from '../../../support/counting.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { startCluster } from '../../../support/redis-cluster.ts';
import { MASTER_NAME, startSentinel } from '../../../support/redis-sentinel.ts';
import { type RedisServer, startRedis } from '../../../support/redis-server.ts';
import { type RedisStoreOptions, redisStore, type TestEndpoint } from '../../../support/stores.ts';
import { tempDirectory } from '../../../support/temp-directory.ts';
import { until, untilCounted } from '../../../support/until.ts';

const ONE = [{ key: 'a', hits: 1 }];
const directory = tempDirectory(t);
let files = 0;

/** A file with this text, and how to replace it. */
function authFile(text: string) {
  const path = join(directory, `auth${++files}`);
  const write = (replaced: string) => writeFileSync(path, replaced);
  write(text);
  return { file: new AuthFile(path, 'KVCACHE_AUTH_FILE'), write, path };
}

async function open(t: Test, endpoint: Partial<TestEndpoint>, options: RedisStoreOptions = {}) {
  const logger = new KeepingLogger();
  const store = redisStore({ socketType: 'tcp', url: '', auth: '', ...endpoint }, { logger, ...options });
  t.teardown(() => store.stop());
  await store.start();
  return { store, logger };
}

/** Runs commands of an administrator, whose password does not change. */
async function administered(t: Test, ...users: string[]): Promise<RedisServer> {
  const redis = await startRedis({ args: users });
  t.teardown(() => redis.stop());
  return redis;
}

const APP = ['--user', 'app', 'on', '>old', '~*', '+@all'];
const killApp = (redis: RedisServer) => redis.command('CLIENT', 'KILL', 'USER', 'app');

t.test('a pool whose password was replaced recovers by itself', async t => {
  const redis = await administered(t, ...APP);
  const { file, write } = authFile('app:old\n');
  const { store } = await open(t, { url: redis.address, authFile: file }, { poolSize: 3 });
  t.same(await count(store, ONE), [1]);
  await redis.command('ACL', 'SETUSER', 'app', 'resetpass', '>new');
  write('app:new\n');
  t.same(await count(store, ONE), [2], 'connections that stand are left alone');
  t.equal(await killApp(redis), 1);
  const [after] = await untilCounted(store, ONE);
  t.ok(after >= 3, `${after}`);
});

t.test('while the file still holds the old password it is read again for each attempt', async t => {
  const redis = await administered(t, ...APP);
  const { file, write } = authFile('app:old');
  const { store, logger } = await open(t, { url: redis.address, authFile: file });
  await redis.command('ACL', 'SETUSER', 'app', 'resetpass', '>new');
  await killApp(redis);
  await until(() => logger.lines.some(line => /WRONGPASS/.test(JSON.stringify(line.fields))));
  await t.rejects(count(store, ONE), { code: 'store_failed', message: /is not connected/ });
  write('app:new');
  t.equal((await untilCounted(store, ONE)).length, 1);
  t.notMatch(JSON.stringify(logger.lines), /old|:new/);
});

t.test('a password of the default user, changed by CONFIG SET requirepass', async t => {
  const redis = await startRedis({
    args: ['--requirepass', 'old', '--user', 'admin', 'on', 'nopass', '+@all', '~*'],
  });
  t.teardown(() => redis.stop());
  const { file, write } = authFile('old');
  // The address has a password as well, and the file wins.
  const url = `redis://:other@${redis.address}`;
  const { store } = await open(t, { url, authFile: file });
  t.same(await count(store, ONE), [1]);
  await redis.command('CONFIG', 'SET', 'requirepass', 'new').catch(() => {});
  write('new\n');
  // The administrator of this server has the old password until its connection is closed, so another user kills.
  await redis.commandAs('admin', 'CLIENT', 'KILL', 'USER', 'default');
  t.equal((await untilCounted(store, ONE)).length, 1);
});

t.test('a missing or empty file is reported clearly, and the start waits for it', async t => {
  const redis = await administered(t, ...APP);
  const { file, write, path } = authFile('');
  const logger = new KeepingLogger();
  const store = redisStore({ socketType: 'tcp', url: redis.address, auth: '', authFile: file }, { logger });
  t.teardown(() => store.stop());
  const started = store.start();
  await until(() => logger.messages('error').length > 0);
  const [{ fields }] = logger.lines.filter(line => line.level === 'error');
  const fault = `KVCACHE_AUTH_FILE: '${path}' is empty; it must hold password or user:password`;
  t.equal(fields['reason'], `${redis.address}: ${fault}`);
  write('app:old');
  await started;
  t.same(await count(store, ONE), [1]);
});

t.test('sentinels, and the master that they name, have a file each', async t => {
  const master = await startRedis({ args: ['--requirepass', 'm4ster'] });
  t.teardown(() => master.stop());
  const sentinel = await startSentinel(master.port, 's3ntinel');
  t.teardown(() => sentinel.stop());
  const { store } = await open(t, {
    type: 'sentinel',
    url: `${MASTER_NAME},${sentinel.address}`,
    authFile: authFile('m4ster').file,
    sentinelAuthFile: authFile('s3ntinel\n').file,
  });
  t.same(await count(store, ONE), [1]);
});

t.test('all nodes of a cluster are asked with what the file holds', async t => {
  const cluster = await startCluster({ nodes: 3, args: ['--requirepass', 'cl4ster'] });
  t.teardown(() => cluster.stop());
  const { store } = await open(t, {
    type: 'cluster',
    url: cluster.address,
    authFile: authFile('cl4ster').file,
  });
  const keys = ['a', 'b', 'c', 'd', 'e', 'f'].map(key => ({ key, hits: 1 }));
  t.same(await count(store, keys), [1, 1, 1, 1, 1, 1]);
});

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { askOverHttp, statistic } from '../support/asking.ts';
import { clusterFor } from '../support/redis-cluster.ts';
import { MASTER_NAME, sentinelFor } from '../support/redis-sentinel.ts';
import { type RedisServer, redisFor, startRedis } from '../support/redis-server.ts';
import { writeRules } from '../support/rule-files.ts';
import { type ServiceProcess, serviceFor } from '../support/service.ts';
import { tempDirectory } from '../support/temp-directory.ts';
import { until } from '../support/until.ts';

const RULES = `domain: d
descriptors:
  - {key: second, rate_limit: {unit: second, requests_per_unit: 1000}}
  - {key: day, rate_limit: {unit: day, requests_per_unit: 1000}}
`;

const ASK = {
  domain: 'd',
  descriptors: ['second', 'day'].map(key => ({ entries: [{ key, value: 'x' }] })),
};

function settings(t: Test, env: Readonly<Record<string, string>>): Record<string, string> {
  return { RUNTIME_ROOT: writeRules(tempDirectory(t), { 'config/rules.yaml': RULES }), ...env };
}

async function start(t: Test, env: Readonly<Record<string, string>>): Promise<ServiceProcess> {
  return await serviceFor(t, { env: settings(t, env) });
}

/** A Redis of this test with a password, and a sentinel of it with another one. */
async function startWatched(t: Test) {
  const master = await redisFor(t, { args: ['--requirepass', 'm4ster'] });
  const sentinel = await sentinelFor(t, master.port, 's3ntinel');
  return { master, url: `${MASTER_NAME},${sentinel.address}` };
}

/** The limit per day was counted in `main`, the one per second, whose counter may be gone again, in the other one. */
async function areApart(t: Test, main: RedisServer, perSecond: RedisServer): Promise<void> {
  const [key, ...others] = (await main.command('KEYS', 'd_*')) as string[];
  t.match(key, /^d_day_x_\d+$/);
  t.same(others, []);
  for (const redis of [main, perSecond]) {
    t.match(await redis.command('INFO', 'commandstats'), /cmdstat_incrby:calls=1,/);
  }
}

t.test('KVCACHE_TYPE=cluster, and sentinels for limits per second, each with its passwords', async t => {
  const cluster = await clusterFor(t, { nodes: 1, args: ['--requirepass', 'cl4ster'] });
  const { master, url } = await startWatched(t);
  const service = await start(t, {
    KVCACHE_TYPE: 'cluster',
    KVCACHE_URL: cluster.address,
    KVCACHE_AUTH: 'cl4ster',
    KVCACHE_PERSECOND: 'true',
    KVCACHE_PERSECOND_TYPE: 'sentinel',
    KVCACHE_PERSECOND_URL: url,
    KVCACHE_PERSECOND_AUTH: 'm4ster',
    KVCACHE_PERSECOND_SENTINEL_AUTH: 's3ntinel',
  });
  t.equal((await askOverHttp(service.http, ASK)).status, 200);
  await areApart(t, cluster.nodes[0], master);
  t.ok((await statistic(service.debug, 'ratelimit.redis_pool.cx_active')) >= 1);
  t.ok((await statistic(service.debug, 'ratelimit.redis_per_second_pool.cx_active')) >= 1);
  t.match(await service.terminate(), { status: 0 });
  t.notMatch(service.output, /cl4ster|m4ster|s3ntinel/, 'no password is in the log');
});

t.test('every password may be in a file, which is read again when it was replaced', async t => {
  const { master, url } = await startWatched(t);
  const perSecond = await startWatched(t);
  const directory = tempDirectory(t);
  const file = (name: string, text: string): string => {
    writeFileSync(join(directory, name), text);
    return join(directory, name);
  };
  await master.command('ACL', 'SETUSER', 'app', 'on', '>old', '~*', '&*', '+@all');
  const auth = file('auth', 'app:old\n');
  const sentinelAuth = file('sentinel', 's3ntinel\n');
  const service = await start(t, {
    WORKER_THREADS: '1',
    KVCACHE_TYPE: 'sentinel',
    KVCACHE_URL: url,
    KVCACHE_AUTH_FILE: auth,
    KVCACHE_SENTINEL_AUTH_FILE: sentinelAuth,
    KVCACHE_PERSECOND: 'true',
    KVCACHE_PERSECOND_TYPE: 'sentinel',
    KVCACHE_PERSECOND_URL: perSecond.url,
    KVCACHE_PERSECOND_AUTH_FILE: file('persecond', 'm4ster'),
    KVCACHE_PERSECOND_SENTINEL_AUTH_FILE: sentinelAuth,
  });
  t.equal((await askOverHttp(service.http, ASK)).status, 200);
  file('auth', 'app:new\n');
  await master.command('ACL', 'SETUSER', 'app', 'resetpass', '>new');
  await master.command('CLIENT', 'KILL', 'USER', 'app');
  await until(async () => (await askOverHttp(service.http, ASK)).status === 200);
  t.notMatch(service.output, /m4ster|s3ntinel|app:/, 'no password is in the log');
});

t.test('KVCACHE_TYPE=sentinel, and a cluster for limits per second', async t => {
  const { master, url } = await startWatched(t);
  const cluster = await clusterFor(t, { nodes: 1 });
  const service = await start(t, {
    KVCACHE_TYPE: 'sentinel',
    KVCACHE_URL: url,
    KVCACHE_AUTH: 'm4ster',
    KVCACHE_SENTINEL_AUTH: 's3ntinel',
    KVCACHE_PERSECOND: 'true',
    KVCACHE_PERSECOND_TYPE: 'cluster',
    KVCACHE_PERSECOND_URL: cluster.address,
  });
  t.equal((await askOverHttp(service.http, ASK)).status, 200);
  await areApart(t, master, cluster.nodes[0]);
});

t.test('KVCACHE_SOCKET_TYPE=unix reaches Redis through its socket, the second one too', async t => {
  // Nobody may come in by TCP but the test, which has the password of the default user.
  const ann = ['--requirepass', 'adm1n', '--user', 'ann', 'on', '>s3cret', '~*', '&*', '+@all'];
  const [main, perSecond] = await Promise.all(
    [ann, ['--requirepass', 'adm1n']].map(args => startRedis({ unixSocket: true, args })),
  );
  t.teardown(() => Promise.all([main.stop(), perSecond.stop()]));
  const service = await start(t, {
    KVCACHE_SOCKET_TYPE: 'unix',
    KVCACHE_URL: main.socketPath!,
    KVCACHE_AUTH: 'ann:s3cret',
    KVCACHE_PERSECOND: 'true',
    KVCACHE_PERSECOND_SOCKET_TYPE: 'unix',
    KVCACHE_PERSECOND_URL: perSecond.socketPath!,
    KVCACHE_PERSECOND_AUTH: 'adm1n',
  });
  t.equal((await askOverHttp(service.http, ASK)).status, 200);
  await areApart(t, main, perSecond);
  t.match(await main.command('CLIENT', 'LIST'), new RegExp(`addr=${main.socketPath}:0 .* user=ann `));
});

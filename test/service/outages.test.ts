import t, { type Test } from 'tap';
import { askOverHttp } from '../support/asking.ts';
import { freePort } from '../support/free-port.ts';
import { tcpReceiver } from '../support/line-receivers.ts';
import { startMemcached } from '../support/memcached-server.ts';
import { startCluster } from '../support/redis-cluster.ts';
import { MASTER_NAME, sentinelFor } from '../support/redis-sentinel.ts';
import { redisFor } from '../support/redis-server.ts';
import { writeRules } from '../support/rule-files.ts';
import { type LogLine, type ServiceProcess, serviceFor, startService } from '../support/service.ts';
import { type Teardown, tempDirectory } from '../support/temp-directory.ts';
import { missing } from '../support/tools.ts';

const RULES = `domain: d
descriptors:
  - key: minute
    rate_limit: {unit: minute, requests_per_unit: 1000000}
  - key: second
    rate_limit: {unit: second, requests_per_unit: 1000000}
`;

/** Many keys, so that each node of a cluster and each server of memcached has some. */
const ASK = {
  domain: 'd',
  descriptors: Array.from({ length: 12 }, (_, i) => ({
    entries: [{ key: i % 2 === 0 ? 'minute' : 'second', value: String(i) }],
  })),
};

const isAvailable = (line: LogLine): boolean => / available again$/.test(String(line['@message']));

async function serve(t: Test, env: Readonly<Record<string, string>>): Promise<ServiceProcess> {
  return await serviceFor(t, {
    rules: RULES,
    env: { RUNTIME_WATCH_ROOT: 'false', DISABLE_STATS: 'true', ...env },
  });
}

/** The lines from now on that the default level lets through, without those of a start. */
function linesOf(service: ServiceProcess): () => LogLine[] {
  const before = service.logs.length;
  return () =>
    service.logs.slice(before).filter(line => line['level'] === 'warning' || line['level'] === 'error');
}

/** Asks without pause, four at a time, until told to stop; how many answers were errors. */
function traffic(service: ServiceProcess): () => Promise<number> {
  let stopped = false;
  let failed = 0;
  const ask = async (): Promise<void> => {
    while (!stopped) if ((await askOverHttp(service.http, ASK)).status >= 500) failed++;
  };
  const asking = Promise.all([ask(), ask(), ask(), ask()]);
  return async () => {
    stopped = true;
    await asking;
    return failed;
  };
}

interface Servers {
  readonly env: Readonly<Record<string, string>>;
  kill(): Promise<unknown>;
  restart(): Promise<unknown>;
}

async function oneRedis(t: Teardown): Promise<Servers> {
  const redis = await redisFor(t);
  return { env: { REDIS_URL: redis.address }, kill: () => redis.kill(), restart: () => redis.restart() };
}

async function sentinel(t: Teardown): Promise<Servers> {
  const redis = await redisFor(t);
  const watching = await sentinelFor(t, redis.port);
  return {
    env: { REDIS_TYPE: 'sentinel', REDIS_URL: `${MASTER_NAME},${watching.address}` },
    kill: () => redis.kill(),
    restart: () => redis.restart(),
  };
}

async function cluster(t: Teardown): Promise<Servers> {
  const { nodes } = await startCluster({ nodes: 3 });
  t.teardown(() => Promise.all(nodes.map(node => node.stop())));
  return {
    env: { REDIS_TYPE: 'cluster', REDIS_URL: nodes.map(node => node.address).join(',') },
    kill: () => nodes[1].kill(),
    restart: () => nodes[1].restart(),
  };
}

async function perSecond(t: Teardown): Promise<Servers> {
  const [main, seconds] = [await redisFor(t), await redisFor(t)];
  return {
    env: { REDIS_URL: main.address, REDIS_PERSECOND: 'true', REDIS_PERSECOND_URL: seconds.address },
    kill: () => seconds.kill(),
    restart: () => seconds.restart(),
  };
}

async function memcached(t: Teardown): Promise<Servers> {
  const servers = [await startMemcached(), await startMemcached()];
  t.teardown(() => Promise.all(servers.map(server => server.stop())));
  return {
    env: { BACKEND_TYPE: 'memcache', MEMCACHE_HOST_PORT: servers.map(each => each.address).join(',') },
    kill: () => Promise.all(servers.map(server => server.kill())),
    restart: () => Promise.all(servers.map(server => server.start())),
  };
}

for (const [name, start, env] of [
  ['one Redis, with decision threads', oneRedis, { WORKER_THREADS: '2' }],
  ['one Redis, counted in the process meanwhile', oneRedis, { STORE_FAILURE_MODE: 'local' }],
  ['the master of a sentinel', sentinel, {}],
  ['a node of a cluster', cluster, {}],
  ['Redis for limits per second', perSecond, {}],
  ['two servers of memcached, with failures allowed', memcached, {}],
] as const) {
  const skip = start === memcached && missing('memcached', 'memcached');
  t.test(`${name}, killed and started again under load, is two lines at one level`, { skip }, async t => {
    const servers = await start(t);
    const service = await serve(t, { ...servers.env, ...env });
    const lines = linesOf(service);
    const stop = traffic(service);
    await servers.kill();
    await service.logged(line => / is unavailable; /.test(String(line['@message'])));
    // Several rounds of attempts to connect, in which requests go on failing.
    for (let i = 0; i < 100; i++) await askOverHttp(service.http, ASK);
    await servers.restart();
    await service.logged(isAvailable);
    const failed = await stop();
    const told = lines();
    t.equal(told.length, 2, JSON.stringify(told));
    t.equal(told[0]['level'], told[1]['level']);
    t.equal(told[0]['store'], told[1]['store']);
    t.ok(Number(told[1]['failedCalls']) >= 100, `${told[1]['failedCalls']} failed calls`);
    t.ok(Number(told[1]['seconds']) >= 0);
    if (told[0]['level'] === 'warning') t.equal(failed, 0);
  });
}

t.test('a store that is away at the start is two lines, and says that ports stay closed', async t => {
  const port = await freePort();
  const root = writeRules(tempDirectory(t), { 'config/rules.yaml': RULES });
  const starting = startService({
    env: {
      ...{
        RUNTIME_ROOT: root,
        RUNTIME_WATCH_ROOT: 'false',
        DISABLE_STATS: 'true',
        REDIS_URL: `127.0.0.1:${port}`,
      },
      ...{ REDIS_STARTUP_INITIAL_INTERVAL: '5ms', REDIS_STARTUP_MAX_INTERVAL: '20ms', LOG_LEVEL: 'debug' },
    },
  });
  await redisFor(t, { port });
  const service = await starting;
  t.teardown(() => service.terminate());
  const told = service.logs.filter(line => line['level'] === 'error').map(line => line['@message']);
  t.ok(told.length === 0 || told.length === 2, 'Redis may have been faster than the process');
  if (told.length > 0) t.match(told, [/ports stay closed until it answers$/, 'Redis is available again']);
});

t.test('statsd that goes away and comes back is two lines at one level', async t => {
  const first = await tcpReceiver(t);
  const service = await serve(t, {
    DISABLE_STATS: 'false',
    STATSD_HOST: '127.0.0.1',
    STATSD_PORT: String(first.port),
    STATS_FLUSH_INTERVAL: '20ms',
  });
  const lines = linesOf(service);
  await first.received.until(({ text }) => text.length > 0);
  await first.close();
  await service.logged(line => /^Statistics cannot be sent/.test(String(line['@message'])));
  await tcpReceiver(t, { port: first.port });
  await service.logged(line => line['@message'] === 'Statistics are sent again');
  const told = lines();
  t.equal(told.length, 2, JSON.stringify(told));
  t.same(
    told.map(line => line['level']),
    ['warning', 'warning'],
  );
});

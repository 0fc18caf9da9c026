import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { askOverHttp, getPage, statistic } from '../support/asking.ts';
import { Authority } from '../support/certificates.ts';
import { freePort } from '../support/free-port.ts';
import { type RedisServer, redisFor } from '../support/redis-server.ts';
import { writeRules } from '../support/rule-files.ts';
import { serviceFor, startService } from '../support/service.ts';
import { tempDirectory } from '../support/temp-directory.ts';
import { until } from '../support/until.ts';

const RULES = `domain: d
descriptors:
  - {key: second, rate_limit: {unit: second, requests_per_unit: 1000}}
  - {key: day, rate_limit: {unit: day, requests_per_unit: 1000}}
`;

function rules(t: Test): Record<string, string> {
  return { RUNTIME_ROOT: writeRules(tempDirectory(t), { 'config/rules.yaml': RULES }) };
}

const ask = (...keys: string[]) => ({
  domain: 'd',
  descriptors: keys.map(key => ({ entries: [{ key, value: 'x' }] })),
});

function untilHealth(address: string, status: number): Promise<void> {
  return until(async () => (await getPage(address, '/healthcheck')).status === status);
}

t.test('health follows the connections to Redis, where that is asked for', async t => {
  const redis = await redisFor(t);
  const env = { ...rules(t), KVCACHE_URL: redis.address };
  const [following, steady] = await Promise.all([
    startService({ env: { ...env, KVCACHE_HEALTH_CHECK_ACTIVE_CONNECTION: 'true' } }),
    startService({ env }),
  ]);
  t.teardown(() => Promise.all([following.terminate(), steady.terminate()]));
  t.equal((await getPage(following.http, '/healthcheck')).status, 200);
  await redis.kill();
  await untilHealth(following.http, 500);
  await steady.logged(line => line['@message'] === 'Redis connection lost; reconnecting');
  t.equal((await getPage(steady.http, '/healthcheck')).status, 200);
  t.equal((await askOverHttp(steady.http, ask('day'))).status, 503);
  await redis.restart();
  await untilHealth(following.http, 200);
  t.equal((await askOverHttp(following.http, ask('day'))).status, 200);
});

t.test('two instances of Redis that want TLS and a certificate', async t => {
  const authority = new Authority('Test CA');
  const directory = tempDirectory(t);
  const file = (name: string, content: string): string => {
    writeFileSync(join(directory, name), content);
    return join(directory, name);
  };
  const ca = file('ca.crt', authority.certificate);
  const startTls = async (): Promise<{ redis: RedisServer; url: string }> => {
    const pair = authority.issue({ subject: 'elsewhere', names: ['elsewhere.example'] });
    const port = await freePort();
    const redis = await redisFor(t, {
      args: [
        ...['--tls-port', String(port), '--tls-auth-clients', 'yes', '--tls-ca-cert-file', ca],
        ...['--tls-cert-file', file(`${port}.crt`, pair.certificate)],
        ...['--tls-key-file', file(`${port}.key`, pair.key)],
      ],
    });
    return { redis, url: `127.0.0.1:${port}` };
  };
  const [main, perSecond] = [await startTls(), await startTls()];
  const own = authority.issue({ subject: 'sluice', usage: ['client'] });
  const service = await serviceFor(t, {
    env: {
      ...rules(t),
      KVCACHE_URL: main.url,
      KVCACHE_TLS: 'true',
      KVCACHE_TLS_CACERT: ca,
      KVCACHE_TLS_CLIENT_CERT: file('client.crt', own.certificate),
      KVCACHE_TLS_CLIENT_KEY: file('client.key', own.key),
      KVCACHE_TLS_SKIP_HOSTNAME_VERIFICATION: 'true',
      KVCACHE_PERSECOND: 'true',
      KVCACHE_PERSECOND_URL: perSecond.url,
      KVCACHE_PERSECOND_TLS: 'true',
    },
  });
  t.equal((await askOverHttp(service.http, ask('second', 'day'))).status, 200);
  for (const { redis } of [main, perSecond]) {
    t.match(await redis.command('INFO', 'commandstats'), /cmdstat_incrby:calls=1,/);
  }
  t.match(await main.redis.command('KEYS', 'd_*'), [/^d_day_x_/]);
  t.ok((await statistic(service.debug, 'ratelimit.redis_pool.cx_active')) >= 1);
  t.ok((await statistic(service.debug, 'ratelimit.redis_per_second_pool.cx_active')) >= 1);
});

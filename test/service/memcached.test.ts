import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { askOverHttp, statistic } from '../support/asking.ts';
import { Authority } from '../support/certificates.ts';
import { DnsServer } from '../support/dns-server.ts';
import { type MemcachedServer, memcachedFor, startMemcached } from '../support/memcached-server.ts';
import { writeRules } from '../support/rule-files.ts';
import { launched, ServiceProcess, serviceFor } from '../support/service.ts';
import { tempDirectory } from '../support/temp-directory.ts';
import { missing, outputOf } from '../support/tools.ts';
import { until } from '../support/until.ts';

const RULES = 'domain: d\ndescriptors:\n  - {key: a, rate_limit: {unit: year, requests_per_unit: 9}}\n';
const RECORD = '_limits._tcp.test';

function settings(t: Test, env: Readonly<Record<string, string>>): Record<string, string> {
  const RUNTIME_ROOT = writeRules(tempDirectory(t), { 'config/rules.yaml': RULES });
  return { RUNTIME_ROOT, BACKEND_TYPE: 'altcache', ...env };
}

async function start(t: Test, env: Readonly<Record<string, string>>): Promise<ServiceProcess> {
  return await serviceFor(t, { env: settings(t, env) });
}

/** What remains of the limit of each descriptor after a request, one of whose hits is added when this resolves. */
async function hit(service: ServiceProcess, ...values: string[]): Promise<unknown[]> {
  const before = await addedHits(service);
  const descriptors = values.map(value => ({ entries: [{ key: 'a', value }] }));
  const { body } = await askOverHttp(service.http, { domain: 'd', descriptors });
  await until(async () => (await addedHits(service)) > before);
  return (body.statuses ?? []).map(status => status['limitRemaining']);
}

async function addedHits(service: ServiceProcess): Promise<number> {
  const added = await statistic(service.debug, 'ratelimit.memcache.increment.__code=success');
  return added + (await statistic(service.debug, 'ratelimit.memcache.add.__code=success'));
}

async function connectionsTo(memcached: MemcachedServer): Promise<number> {
  const stats = await memcached.command('stats');
  return Number(stats.find(line => line.startsWith('STAT curr_connections'))?.split(' ')[2]);
}

/** Has the service ask this DNS server, where it would ask those of the system. */
function asking(port: number): string {
  const preload = `
    import { Resolver } from 'node:dns/promises';
    const { resolveSrv } = Resolver.prototype;
    Resolver.prototype.resolveSrv = function (name) {
      this.setServers(['127.0.0.1:${port}']);
      return resolveSrv.call(this, name);
    };`;
  return `--import=data:text/javascript,${encodeURIComponent(preload)}`;
}

t.test('ALTCACHE_HOST_PORT names servers, ALTCACHE_MAX_IDLE_CONNS the connections to each', async t => {
  const servers = await Promise.all([startMemcached(), startMemcached()]);
  t.teardown(() => Promise.all(servers.map(server => server.stop())));
  const before = await Promise.all(servers.map(connectionsTo));
  const ALTCACHE_HOST_PORT = servers.map(({ address }) => address).join();
  const service = await start(t, { ALTCACHE_HOST_PORT, ALTCACHE_MAX_IDLE_CONNS: '8', WORKER_THREADS: '0' });
  t.same([await hit(service, 'x'), await hit(service, 'x')], [[8], [7]]);
  for (const [i, server] of servers.entries()) {
    // One that asked before may still be there, which is why it is so many.
    await until(async () => (await connectionsTo(server)) === before[i] + 8);
  }
});

t.test('ALTCACHE_SRV names the servers, and ALTCACHE_SRV_REFRESH follows it', async t => {
  const [first, second] = await Promise.all([startMemcached(), startMemcached()]);
  const dns = new DnsServer();
  t.teardown(() => Promise.all([first.stop(), second.stop(), dns.stop()]));
  await dns.start();
  dns.records.set(RECORD, [{ name: 'localhost', port: first.port }]);
  const env = { ALTCACHE_SRV: RECORD, NODE_OPTIONS: asking(dns.port), WORKER_THREADS: '0' };
  const service = await start(t, { ...env, ALTCACHE_SRV_REFRESH: '20ms' });
  t.same([await hit(service, 'x'), await hit(service, 'x')], [[8], [7]]);
  dns.records.set(RECORD, [{ name: 'localhost', port: second.port }]);
  await service.logged(line => line['servers'] === `localhost:${second.port}`);
  t.same(await hit(service, 'x'), [8], 'the other server begins anew');
  t.equal(await first.get(`d_a_x_${startOfYear()}`), '2');
});

t.test('a key that memcached cannot hold is as if without hits, and spoils no other', async t => {
  const memcached = await memcachedFor(t);
  const service = await start(t, { ALTCACHE_HOST_PORT: memcached.address, CACHE_KEY_PREFIX: 'p:' });
  const tooLong = 'x'.repeat(250);
  t.same(await hit(service, 'x', tooLong), [8, 8]);
  t.same(await hit(service, 'x', tooLong, 'with space'), [7, 8, 8]);
  t.equal(await memcached.get(`p:d_a_x_${startOfYear()}`), '2', 'and the prefix is that of the settings');
  t.equal(await statistic(service.debug, 'ratelimit.service.call.should_rate_limit.redis_error'), 2);
});

t.test('an ALTCACHE_SRV that does not exist ends the start with its name', async t => {
  const dns = new DnsServer();
  t.teardown(() => dns.stop());
  await dns.start();
  const env = settings(t, { ALTCACHE_SRV: RECORD, NODE_OPTIONS: asking(dns.port) });
  const service = new ServiceProcess({ env });
  t.match(await service.ended, { status: 2 });
  t.match(service.output, `the servers of ${RECORD} (ALTCACHE_SRV) cannot be looked up`);
});

const canTls = /enable-ssl/.test(await outputOf('memcached', ['-h']));
const noTls = missing('memcached', 'memcached') || (canTls ? false : 'this memcached is built without TLS');

t.test('ALTCACHE_TLS, with a certificate on both sides', { skip: noTls }, async t => {
  const directory = tempDirectory(t);
  const file = (name: string, text: string): string => {
    writeFileSync(join(directory, name), text);
    return join(directory, name);
  };
  const [servers, clients] = [new Authority('servers'), new Authority('clients')];
  const pair = servers.issue({ subject: 'elsewhere', names: ['elsewhere.example'] });
  const client = clients.issue({ subject: 'sluice', usage: ['client'] });
  const options = [
    `ssl_chain_cert=${file('server.pem', pair.certificate)}`,
    `ssl_key=${file('server.key', pair.key)}`,
    `ssl_ca_cert=${file('clients.pem', clients.certificate)}`,
    'ssl_verify_mode=2',
  ];
  const memcached = await memcachedFor(t, { args: ['-Z', '-o', options.join()] });
  const env = {
    ALTCACHE_HOST_PORT: memcached.address,
    ALTCACHE_TLS: 'true',
    ALTCACHE_TLS_CACERT: file('servers.pem', servers.certificate),
    ALTCACHE_TLS_CLIENT_CERT: file('client.pem', client.certificate),
    ALTCACHE_TLS_CLIENT_KEY: file('client.key', client.key),
  };
  const service = await start(t, { ...env, ALTCACHE_TLS_SKIP_HOSTNAME_VERIFICATION: 'true' });
  t.same([await hit(service, 'x'), await hit(service, 'x')], [[8], [7]]);
  const strict = launched(t, { env: settings(t, env) });
  const line = await strict.logged(each => each['reason'] !== undefined);
  t.match(line['reason'], /does not match certificate's altnames/, 'unless its name is not looked at');
});

/** The start of the window that a year's limit has now. */
function startOfYear(): number {
  const nowS = Math.floor(Date.now() / 1_000);
  return nowS - (nowS % 31_536_000);
}

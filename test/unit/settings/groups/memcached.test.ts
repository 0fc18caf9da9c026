import t from 'tap';
import { memcachedAddresses } from '../../../../src/settings/groups/memcached.ts';
import { type Environment, loadSettings } from '../../../../src/settings/load.ts';
import { refusal } from '../refusal.ts';

const SERVERS = { BACKEND_TYPE: 'altcache', ALTCACHE_HOST_PORT: 'a:11211' };

t.test('memcached is chosen under both of its names, or by naming its servers', async t => {
  for (const BACKEND_TYPE of ['altcache', 'memcache']) {
    t.equal(loadSettings({ BACKEND_TYPE, MEMCACHE_HOST_PORT: 'a:1' }).backendType, 'memcached');
  }
  t.equal(loadSettings({ MEMCACHE_HOST_PORT: 'a:1' }).backendType, 'memcached');
  t.equal(loadSettings({ MEMCACHE_SRV: '_memcached._tcp.example.com' }).backendType, 'memcached');
  t.equal(loadSettings({ MEMCACHE_HOST_PORT: 'a:1', REDIS_URL: 'r:6379' }).backendType, 'redis');
  t.equal(loadSettings({ MEMCACHE_HOST_PORT: 'a:1', BACKEND_TYPE: 'memory' }).backendType, 'embedded');
});

t.test('servers are host:port, an IPv6 address in brackets, or paths, in their order', async t => {
  t.same(memcachedAddresses('b:2, a_1.x-y:11211,[::1]:3,/run/memcached.sock'), [
    { shown: 'b:2', target: { host: 'b', port: 2 } },
    { shown: 'a_1.x-y:11211', target: { host: 'a_1.x-y', port: 11_211 } },
    { shown: '[::1]:3', target: { host: '::1', port: 3 } },
    { shown: '/run/memcached.sock', target: { path: '/run/memcached.sock' } },
  ]);
  for (const wrong of ['a', 'a:', ':1', 'a:0', 'a:65536', 'a:1,', ',a:1', '[a]:1', '::1:1', 'a b:1']) {
    t.match(
      refusal({ ...SERVERS, ALTCACHE_HOST_PORT: wrong }),
      `ALTCACHE_HOST_PORT="${wrong}": not in the accepted format; accepted: host:port, [IPv6]:port or the path`,
      wrong,
    );
  }
  t.not(refusal({ ...SERVERS, ALTCACHE_HOST_PORT: Array(1_001).fill('a:1').join() }), '');
});

t.test('the servers come from a list or from a record, and from one of them', async t => {
  t.match(
    refusal({ BACKEND_TYPE: 'memcache' }),
    'ALTCACHE_HOST_PORT="" (default) and ALTCACHE_SRV="" (default): no memcached servers are given; accepted: either a list',
  );
  t.match(
    refusal({ ...SERVERS, MEMCACHE_SRV: '_memcached._tcp.example.com' }),
    'and MEMCACHE_SRV="_memcached._tcp.example.com": the memcached servers are given twice',
  );
  for (const ALTCACHE_SRV of ['memcached.example.com', '_memcached._tcp', '_a._tcp.x y', '._tcp.x']) {
    t.match(
      refusal({ ALTCACHE_SRV }),
      `ALTCACHE_SRV="${ALTCACHE_SRV}": not in the accepted format`,
      ALTCACHE_SRV,
    );
  }
});

t.test('fewer connections than one mean two, and a refresh below zero means no refresh', async t => {
  const read = (env: Environment) => loadSettings({ ...SERVERS, ...env });
  t.equal(read({}).memcachedConnections, 2);
  t.equal(read({ MEMCACHE_MAX_IDLE_CONNS: '0' }).memcachedConnections, 2);
  t.equal(read({ ALTCACHE_MAX_IDLE_CONNS: '-3' }).memcachedConnections, 2);
  t.equal(read({ ALTCACHE_MAX_IDLE_CONNS: '5' }).memcachedConnections, 5);
  t.equal(read({ ALTCACHE_SRV_REFRESH: '-1s' }).memcachedSrvRefreshMs, 0);
  t.equal(read({ MEMCACHE_SRV_REFRESH: '90s' }).memcachedSrvRefreshMs, 90_000);
  t.match(refusal({ ...SERVERS, ALTCACHE_SRV_REFRESH: '10' }), 'a number without a unit');
});

t.test('a certificate and its key go together', async t => {
  const tls = { ...SERVERS, ALTCACHE_TLS: 'true' };
  t.equal(refusal({ ...tls, ALTCACHE_TLS_CLIENT_CERT: 'c', ALTCACHE_TLS_CLIENT_KEY: 'k' }), '');
  t.match(
    refusal({ ...tls, MEMCACHE_TLS_CLIENT_CERT: '/tls/c.pem' }),
    'MEMCACHE_TLS_CLIENT_CERT="/tls/c.pem" and ALTCACHE_TLS_CLIENT_KEY="" (default): a client certificate and its private key',
  );
  t.equal(refusal({ ...SERVERS, ALTCACHE_TLS_CLIENT_CERT: 'c' }), '', 'without TLS nobody reads it');
});

t.test('a store that fails is an error, unless it is memcached, or another way is chosen', async t => {
  t.equal(loadSettings({}).storeFailureMode, 'error');
  t.equal(loadSettings({ REDIS_URL: 'r:6379' }).storeFailureMode, 'error');
  t.equal(loadSettings(SERVERS).storeFailureMode, 'allow');
  for (const STORE_FAILURE_MODE of ['error', 'allow', 'deny', 'local'] as const) {
    t.equal(loadSettings({ ...SERVERS, STORE_FAILURE_MODE }).storeFailureMode, STORE_FAILURE_MODE);
  }
  t.match(refusal({ STORE_FAILURE_MODE: 'open' }), 'accepted: error, allow, deny or local, in exactly');
});

t.test('a snapshot is of the embedded store, with a path short enough for a socket', async t => {
  t.equal(refusal({ MEMORY_STORE_SNAPSHOT_PATH: '/var/lib/counters' }), '');
  t.match(
    refusal({ MEMORY_STORE_SNAPSHOT_PATH: '/var/lib/counters', REDIS_URL: 'r:6379' }),
    'only the embedded store writes its counters to a file; accepted: BACKEND_TYPE=memory, or no MEMORY_STORE_SNAPSHOT_PATH',
  );
  t.match(refusal({ MEMORY_STORE_SNAPSHOT_PATH: 'x'.repeat(97) }), 'accepted: a path of at most 96 bytes');
  t.match(refusal({ MEMORY_STORE_SNAPSHOT_INTERVAL: '100ms' }), 'accepted: a duration from 1s to 24h');
});

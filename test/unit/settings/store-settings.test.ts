import t from 'tap';
import { type Environment, loadSettings } from '../../../src/settings/load.ts';
import { STORE_SETTING_KEYS } from '../../../src/settings/store-settings.ts';
import { SETTINGS } from '../../../src/settings/table.ts';
import { refusal } from './refusal.ts';

const NO_STORE =
  /these settings belong to Redis or memcached, but no address of either is given; each process would count separately/;
const UNUSED = 'Settings of a counter store that is not used have no effect';

// What counts as "settings of a store are given, and no store is".
t.test('settings that describe a store stop the start where nothing says which store it is', async t => {
  const given: readonly Environment[] = [
    { REDIS_AUTH: 's3cret' },
    { KVCACHE_AUTH: 's3cret', BACKEND_TYPE: '' },
    { REDIS_TLS: 'true' },
    { REDIS_TLS_CACERT: '/ca.pem' },
    { REDIS_TYPE: 'cluster' },
    { REDIS_SOCKET_TYPE: 'unix' },
    { REDIS_POOL_SIZE: '20' },
    { REDIS_TIMEOUT: '1s' },
    { REDIS_PERSECOND: 'true' },
    { REDIS_PERSECOND_URL: 'redis:6379' },
    { REDIS_SENTINEL_AUTH: 's3cret' },
    { REDIS_HEALTH_CHECK_ACTIVE_CONNECTION: 'true' },
    { MEMCACHE_MAX_IDLE_CONNS: '10' },
    { ALTCACHE_TLS: 'true' },
  ];
  for (const env of given) {
    const text = refusal(env);
    t.match(text, NO_STORE, JSON.stringify(env));
    t.match(text, /accepted: the address of Redis in KVCACHE_URL .*BACKEND_TYPE=memory to count separately/);
    t.notMatch(text, 's3cret');
  }
});

t.test('settings that promise no store do not', async t => {
  const given: readonly Environment[] = [
    {},
    // What Envoy Gateway sets, without the address that its configuration must have.
    {
      RUNTIME_ROOT: '/data',
      LOG_LEVEL: 'info',
      USE_STATSD: 'false',
      GRPC_SERVER_TLS_CA_CERT: '/certs/ca.crt',
      FORCE_START_WITHOUT_INITIAL_CONFIG: 'true',
    },
    {
      REDIS_TLS: 'false',
      REDIS_AUTH: '',
      REDIS_PERSECOND: 'false',
      REDIS_TYPE: 'SINGLE',
      REDIS_POOL_SIZE: '10',
    },
    // Names of no settings.
    { REDIS_PORT: 'tcp://10.0.0.1:6379', REDIS_SERVICE_HOST: '10.0.0.1' },
  ];
  for (const env of given) {
    const settings = loadSettings(env);
    t.equal(settings.backendType, 'embedded');
    t.same(settings.warnings, [], JSON.stringify(env));
  }
});

t.test('a socket type of TCP alone is ignored with a warning', async t => {
  const settings = loadSettings({ REDIS_SOCKET_TYPE: 'tcp' });
  t.equal(settings.backendType, 'embedded');
  t.same(settings.warnings, [
    { message: UNUSED, fields: { store: 'memory', settings: 'REDIS_SOCKET_TYPE' } },
  ]);
});

t.test('BACKEND_TYPE=memory counts in memory on purpose, and a warning names what has no effect', async t => {
  const settings = loadSettings({ BACKEND_TYPE: 'memory', REDIS_AUTH: 's3cret', REDIS_URL: 'redis:6379' });
  t.equal(settings.backendType, 'embedded');
  t.same(settings.warnings, [
    { message: UNUSED, fields: { store: 'memory', settings: 'REDIS_URL, REDIS_AUTH' } },
  ]);
  t.same(loadSettings({ BACKEND_TYPE: 'memory' }).warnings, []);
});

t.test('Envoy Gateway, which sets an address of Redis, can count in memory', async t => {
  // Its configuration must name a Redis. What the container adds comes on top.
  const gateway = { REDIS_SOCKET_TYPE: 'tcp', REDIS_URL: 'redis.redis.svc:6379', REDIS_TLS: 'true' };
  t.equal(loadSettings({ ...gateway, BACKEND_TYPE: 'memory' }).backendType, 'embedded');
  t.match(refusal({ ...gateway, REDIS_URL: '' }), /REDIS_URL="": the value is empty/);
});

t.test('BACKEND_TYPE=redis without an address uses the default address, with a warning', async t => {
  const { redisUrl, warnings } = loadSettings({
    BACKEND_TYPE: 'redis',
    REDIS_HOST: 'redis',
    REDIS_AUTH: 'x',
  });
  t.equal(redisUrl, '/var/run/nutcracker/ratelimit.sock');
  t.match(warnings, [
    { message: 'No Redis address is set; the default is used', fields: { used: redisUrl } },
    { fields: { name: 'REDIS_HOST', closest: 'REDIS_URL' } },
  ]);
});

t.test('warnings say that settings of the other store have no effect', async t => {
  const redis = { REDIS_URL: 'redis:6379', REDIS_AUTH: 'x', MEMCACHE_MAX_IDLE_CONNS: '10' };
  t.same(loadSettings(redis).warnings, [
    { message: UNUSED, fields: { store: 'redis', settings: 'MEMCACHE_MAX_IDLE_CONNS' } },
  ]);
  const memcached = { ALTCACHE_HOST_PORT: 'm:11211', ALTCACHE_TLS: 'true', REDIS_TLS: 'true' };
  t.same(loadSettings(memcached).warnings, [
    { message: UNUSED, fields: { store: 'memcached', settings: 'REDIS_TLS' } },
  ]);
});

t.test('every setting whose name begins as those of a store do is one of a store', async t => {
  const named = Object.entries(SETTINGS).filter(([, { names }]) => /^(KVCACHE|ALTCACHE)_/.test(names[0]));
  t.same(named.map(([key]) => key).sort(), [...STORE_SETTING_KEYS].sort());
});

t.test('REDIS_CLOSE_CONNECTION_ON_READONLY_ERROR is known, and says that nothing else happens', async t => {
  const redis = { REDIS_URL: 'redis:6379' };
  t.same(loadSettings({ ...redis, REDIS_CLOSE_CONNECTION_ON_READONLY_ERROR: 'true' }).warnings, []);
  t.match(loadSettings({ ...redis, REDIS_CLOSE_CONNECTION_ON_READONLY_ERROR: 'false' }).warnings, [
    {
      message: 'Setting has no effect',
      fields: { name: 'REDIS_CLOSE_CONNECTION_ON_READONLY_ERROR', reason: /always replaced/ },
    },
  ]);
});

t.test('tasks with an address in Redis are not kept in a file unless that is said', async t => {
  const tasks = {
    TASKS_ENABLED: 'true',
    SECRETS_MASTER_KEY: '0'.repeat(64),
    TASKS_REDIS_URL: 'redis://u:s3cret@h:6379',
  };
  t.match(
    refusal(tasks),
    'TASKS_REDIS_URL=*** and TASKS_STORE="sqlite" (default): an address of Redis is given for tasks',
  );
  t.equal(refusal({ ...tasks, TASKS_STORE: 'redis' }), '');
  t.equal(refusal({ ...tasks, TASKS_STORE: 'sqlite' }), '');
});

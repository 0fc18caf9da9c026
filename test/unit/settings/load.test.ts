import t from 'tap';
import type { LogLevel } from '../../../src/base/logger.ts';
import { MASK } from '../../../src/settings/faults.ts';
import { describeSettings, type Environment, loadSettings } from '../../../src/settings/load.ts';
import { settingEntries } from '../../../src/settings/table.ts';
import { defaultServeThreads, defaultWorkerThreads } from '../../../src/settings/thread-counts.ts';
import { faultLines } from './refusal.ts';

t.test('without variables every setting is at its default', async t => {
  const { givenBy, warnings, mogrifiers, ...values } = loadSettings({});
  t.same([givenBy, warnings, mogrifiers], [{}, [], []]);
  const [derived, fixed] = [new Set<string>(), new Set<string>()];
  for (const [key, setting] of settingEntries()) {
    (setting.default === null ? derived : fixed).add(key);
    if (setting.default !== null) t.same(values[key], setting.default, key);
  }
  t.same(new Set(Object.keys(values)), new Set([...derived, ...fixed]));
  const serveThreads = defaultServeThreads();
  const listening = { serveThreads, grpcSocketPath: '', grpcServerEngine: 'sluice' } as const;
  t.same(Object.fromEntries(Object.entries(values).filter(([key]) => derived.has(key))), {
    serveThreads,
    workerThreads: defaultWorkerThreads(listening),
    backendType: 'embedded',
    redisUrl: '/var/run/nutcracker/ratelimit.sock',
    redisSocketType: 'unix',
    redisPerSecondSocketType: 'unix',
    storeFailureMode: 'error',
    tasksMaxOpen: 1_000_000,
  });
});

t.test('the type of a choice is the set of its values', async t => {
  // Does not compile when the inferred types widen to string.
  const typed: {
    logLevel: LogLevel;
    logFormat: 'text' | 'json';
    backendType: 'embedded' | 'redis' | 'memcached';
  } = loadSettings({});
  t.match(typed, { logLevel: 'warning', logFormat: 'text', backendType: 'embedded' });
});

t.test('the record cannot be changed', async t => {
  const settings = loadSettings({ PORT: '1' });
  t.ok(Object.isFrozen(settings));
  t.ok(Object.isFrozen(settings.givenBy));
});

t.test('variables that are no setting are ignored', async t => {
  t.same(loadSettings({ PATH: '/bin', HOME: '/', port: '1', Host: '?' }), loadSettings({}));
});

t.test('a variable that is set to the empty text overrides the default of a text', async t => {
  const settings = loadSettings({ RUNTIME_APPDIRECTORY: '', GRPC_UDS: '', HOST: '' });
  t.equal(settings.runtimeAppDirectory, '');
  t.equal(settings.httpHost, '');
});

t.test('no number, bool or duration is empty; 010 is 8; a bare 10 is no duration', async t => {
  for (const variable of ['PORT', 'NEAR_LIMIT_RATIO', 'SHADOW_MODE', 'KVCACHE_TIMEOUT']) {
    const lines = faultLines({ [variable]: '' });
    t.equal(lines.length, 1);
    t.match(lines[0], `${variable}="": the value is empty`);
  }
  t.equal(loadSettings({ PORT: '010' }).httpPort, 8);
  t.same(faultLines({ REDIS_TIMEOUT: '10' }), [
    '  REDIS_TIMEOUT="10": a number without a unit; accepted: a duration up to 1h with units, such as 1m30s or 500ms',
  ]);
});

t.test('REDIS_TYPE ignores the letter case; CONFIG_TYPE and BACKEND_TYPE do not', async t => {
  t.equal(loadSettings({ REDIS_TYPE: 'Single' }).redisType, 'single');
  t.equal(loadSettings({ REDIS_TYPE: 'SINGLE' }).redisType, 'single');
  t.match(
    faultLines({ CONFIG_TYPE: 'file' })[0],
    'CONFIG_TYPE="file": not one of the choices; accepted: FILE',
  );
  t.match(
    faultLines({ BACKEND_TYPE: 'Redis' })[0],
    'BACKEND_TYPE="Redis": not one of the choices; accepted: memory, redis',
  );
});

t.test('LOG_LEVEL and LOG_FORMAT ignore the letter case and refuse what they do not know', async t => {
  t.equal(loadSettings({ LOG_LEVEL: 'Debug' }).logLevel, 'debug');
  t.equal(loadSettings({ LOG_LEVEL: 'warning' }).logLevel, 'warning');
  t.equal(loadSettings({ LOG_FORMAT: 'JSON' }).logFormat, 'json');
  t.equal(loadSettings({ LOG_FORMAT: '' }).logFormat, 'text');
  t.match(
    faultLines({ LOG_LEVEL: 'loud' })[0],
    'LOG_LEVEL="loud": not one of the choices; accepted: panic, fatal,',
  );
  t.match(
    faultLines({ LOG_FORMAT: 'xml' })[0],
    'LOG_FORMAT="xml": not one of the choices; accepted: text, json',
  );
});

t.test('the store is the embedded one until an address is set; BACKEND_TYPE decides over both', async t => {
  t.equal(loadSettings({}).backendType, 'embedded');
  t.equal(loadSettings({ REDIS_URL: 'redis:6379' }).backendType, 'redis');
  t.equal(loadSettings({ KVCACHE_URL: 'redis:6379', BACKEND_TYPE: '' }).backendType, 'redis');
  t.equal(loadSettings({ BACKEND_TYPE: '' }).backendType, 'embedded');
  t.equal(loadSettings({ KVCACHE_URL: 'redis:6379', BACKEND_TYPE: 'memory' }).backendType, 'embedded');
  const settings = loadSettings({ BACKEND_TYPE: 'redis' });
  t.match(settings, {
    backendType: 'redis',
    redisUrl: '/var/run/nutcracker/ratelimit.sock',
    redisSocketType: 'unix',
  });
});

t.test('the socket type follows from the address unless it is set', async t => {
  t.equal(loadSettings({ KVCACHE_URL: '/run/redis.sock' }).redisSocketType, 'unix');
  t.equal(loadSettings({ KVCACHE_URL: './redis.sock' }).redisSocketType, 'unix');
  t.equal(loadSettings({ KVCACHE_URL: 'localhost:6379' }).redisSocketType, 'tcp');
  t.equal(loadSettings({ KVCACHE_URL: 'redis://u:p@localhost:6379/1' }).redisSocketType, 'tcp');
  t.equal(loadSettings({ KVCACHE_URL: '[::1]:6379', KVCACHE_SOCKET_TYPE: 'tcp6' }).redisSocketType, 'tcp6');
});

t.test('values that mean the same as another are brought to that one', async t => {
  t.equal(loadSettings({ GRPC_MAX_CONNECTION_AGE: '8760h' }).grpcMaxConnectionAgeMs, 480 * 3_600_000);
  t.equal(loadSettings({ GRPC_MAX_CONNECTION_AGE: '0' }).grpcMaxConnectionAgeMs, 0);
  t.equal(loadSettings({ EXPIRATION_JITTER_MAX_SECONDS: '-1' }).expirationJitterMaxSeconds, 0);
  t.equal(loadSettings({ LOCAL_CACHE_SIZE_IN_BYTES: '1' }).localCacheSizeBytes, 524_288);
  t.equal(loadSettings({ LocalCacheSizeInBytes: '1048576' }).localCacheSizeBytes, 1_048_576);
  const redis = { BACKEND_TYPE: 'redis' };
  t.equal(loadSettings({ ...redis, KVCACHE_TIMEOUT: '-1s' }).redisTimeoutMs, 0);
  t.equal(loadSettings({ ...redis, KVCACHE_STARTUP_MAX_ELAPSED_TIME: '-1s' }).redisStartupMaxElapsedMs, 0);
});

t.test('a number out of range is clamped to the range, with a warning', async t => {
  const HOUR_MS = 3_600_000;
  const cases = [
    ['MEMCACHE_MAX_IDLE_CONNS', '100', 'memcachedConnections', 64, '64'],
    ['REDIS_POOL_SIZE', '5000', 'redisPoolSize', 1_000, '1000'],
    ['REDIS_POOL_SIZE', '-1', 'redisPoolSize', 4, '4'],
    ['REDIS_TIMEOUT', '10h', 'redisTimeoutMs', HOUR_MS, '1h'],
    ['REDIS_STARTUP_INITIAL_INTERVAL', '0', 'redisStartupInitialIntervalMs', 1, '1ms'],
    ['GRPC_MAX_CONNECTION_AGE', '87600h', 'grpcMaxConnectionAgeMs', 480 * HOUR_MS, '480h'],
    ['GRPC_MAX_CONNECTION_AGE_GRACE', '8760h', 'grpcMaxConnectionAgeGraceMs', 480 * HOUR_MS, '480h'],
    ['SHUTDOWN_TIMEOUT', '4h', 'shutdownTimeoutMs', HOUR_MS / 6, '10m'],
    ['EXPIRATION_JITTER_MAX_SECONDS', '300000000', 'expirationJitterMaxSeconds', 31_536_000, '31536000'],
    ['LOCAL_CACHE_SIZE_IN_BYTES', '104857600000', 'localCacheSizeBytes', 4_294_967_296, '4294967296'],
    ['NEAR_LIMIT_RATIO', '80', 'nearLimitRatio', 1, '1'],
    ['XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES', '2147483647', 'xdsMaxMessageBytes', 268_435_456, '268435456'],
  ] as const;
  for (const [name, text, key, value, used] of cases) {
    const store = name.startsWith('MEMCACHE')
      ? { MEMCACHE_HOST_PORT: 'memcached:11211' }
      : { REDIS_URL: 'redis:6379' };
    const settings = loadSettings({ ...store, [name]: text });
    t.equal(settings[key], value, name);
    t.match(settings.warnings, [
      {
        message: 'Setting is out of range; the nearest accepted value is used',
        fields: { given: `${name}="${text}"`, used },
      },
    ]);
    t.equal(settings.warnings.length, 1, name);
  }
});

t.test('a number whose nearest end would be something else than was meant stops the start', async t => {
  const slips = {
    PORT: '80800',
    STATSD_PORT: '0',
    MAX_QUEUED_DECISIONS: '0',
    MEMORY_STORE_MAX_KEYS: '1023',
    MEMORY_STORE_SNAPSHOT_INTERVAL: '0',
    STATS_FLUSH_INTERVAL: '0',
    TASKS_RETAIN_SUCCEEDED: '87600h',
    TASKS_RETAIN_OTHER: '0',
    TASKS_MAX_OPEN: '0',
    TASKS_PUSH_CONCURRENCY: '0',
  };
  const lines = faultLines(slips);
  t.equal(lines.length, Object.keys(slips).length);
  for (const line of lines) t.match(line, ': out of range; accepted: ');
});

t.test('header names must be HTTP field names', async t => {
  t.equal(loadSettings({ LIMIT_LIMIT_HEADER: 'X-Limit' }).limitLimitHeader, 'X-Limit');
  for (const text of ['', 'a b', 'a:b', 'a\r\nb', 'é', 'x'.repeat(129)]) {
    t.equal(faultLines({ LIMIT_RESET_HEADER: text }).length, 1, JSON.stringify(text));
  }
});

t.test('the path of a socket must fit the address of one', async t => {
  t.equal(loadSettings({ GRPC_UDS: 'x'.repeat(107) }).grpcSocketPath.length, 107);
  t.match(faultLines({ GRPC_UDS: 'x'.repeat(108) })[0], 'accepted: a path of at most 107 bytes');
});

t.test('either name of a setting works, and both with the same text', async t => {
  const timeout = (env: Environment) => loadSettings({ BACKEND_TYPE: 'redis', ...env }).redisTimeoutMs;
  t.equal(timeout({ KVCACHE_TIMEOUT: '5s' }), 5_000);
  t.equal(timeout({ REDIS_TIMEOUT: '5s' }), 5_000);
  t.equal(timeout({ KVCACHE_TIMEOUT: '5s', REDIS_TIMEOUT: '5s' }), 5_000);
});

t.test('a description says for each setting what it is and where it is from', async t => {
  const described = describeSettings(
    loadSettings({ BACKEND_TYPE: 'redis', REDIS_TIMEOUT: '90s', LOG_LEVEL: 'INFO' }),
  );
  t.equal(described.length, settingEntries().length);
  const find = (name: string) => described.find(one => one.name === name);
  t.same(find('REDIS_TIMEOUT'), { name: 'REDIS_TIMEOUT', value: '1m30s', source: 'environment' });
  t.same(find('LOG_LEVEL'), { name: 'LOG_LEVEL', value: 'info', source: 'environment' });
  t.same(find('PORT'), { name: 'PORT', value: '8080', source: 'default' });
  t.same(find('KVCACHE_SOCKET_TYPE'), { name: 'KVCACHE_SOCKET_TYPE', value: 'unix', source: 'default' });
  t.equal(find('KVCACHE_TIMEOUT'), undefined);
});

t.test('a description masks secrets', async t => {
  const described = describeSettings(
    loadSettings({ KVCACHE_URL: 'redis://u:hunter2@h:6379', REDIS_AUTH: 'hunter2' }),
  );
  t.notMatch(JSON.stringify(described), 'hunter2');
  t.match(
    described.find(({ name }) => name === 'KVCACHE_URL'),
    { value: MASK, source: 'environment' },
  );
  t.match(
    described.find(({ name }) => name === 'REDIS_AUTH'),
    { value: MASK, source: 'environment' },
  );
});

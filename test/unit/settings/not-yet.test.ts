import t from 'tap';
import { type Environment, loadSettings } from '../../../src/settings/load.ts';
import { MISSING_SETTINGS, unreadVariables } from '../../../src/settings/not-yet.ts';
import { settingEntries } from '../../../src/settings/table.ts';

function refusal(env: Environment): string {
  try {
    loadSettings(env);
  } catch (refused) {
    if (refused instanceof Error) return refused.message;
  }
  return '';
}

const missing = MISSING_SETTINGS.flatMap(({ names }) => names);
const present = settingEntries().flatMap(([, { names }]) => [...names]);

/** Every setting that the documents name, by both of its names; of the second Redis and of mogrifiers one each. */
const DOCUMENTED = `
  CONFIG_TYPE FORCE_START_WITHOUT_INITIAL_CONFIG RUNTIME_ROOT RUNTIME_SUBDIRECTORY RUNTIME_APPDIRECTORY
  RUNTIME_IGNOREDOTFILES RUNTIME_WATCH_ROOT MERGE_DOMAIN_CONFIG HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED
  CONFIG_GRPC_XDS_NODE_ID CONFIG_GRPC_XDS_NODE_METADATA CONFIG_GRPC_XDS_SERVER_URL
  CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS
  CONFIG_GRPC_XDS_SERVER_USE_TLS CONFIG_GRPC_XDS_CLIENT_TLS_CERT CONFIG_GRPC_XDS_CLIENT_TLS_KEY
  CONFIG_GRPC_XDS_SERVER_TLS_CACERT CONFIG_GRPC_XDS_SERVER_TLS_SAN XDS_CLIENT_BACKOFF_JITTER
  XDS_CLIENT_BACKOFF_INITIAL_INTERVAL XDS_CLIENT_BACKOFF_MAX_INTERVAL XDS_CLIENT_BACKOFF_RANDOM_FACTOR
  XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES
  HOST PORT GRPC_HOST GRPC_PORT GRPC_UDS DEBUG_HOST DEBUG_PORT GRPC_MAX_CONNECTION_AGE
  GRPC_MAX_CONNECTION_AGE_GRACE GRPC_SERVER_USE_TLS GRPC_SERVER_TLS_CERT GRPC_SERVER_TLS_KEY
  GRPC_CLIENT_TLS_CACERT GRPC_CLIENT_TLS_SAN LOG_LEVEL LOG_FORMAT
  SHADOW_MODE QUOTA_MODE RESPONSE_DYNAMIC_METADATA LIMIT_RESPONSE_HEADERS_ENABLED LIMIT_LIMIT_HEADER
  LIMIT_REMAINING_HEADER LIMIT_RESET_HEADER CACHE_KEY_PREFIX EXPIRATION_JITTER_MAX_SECONDS
  STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT LOCAL_CACHE_SIZE_IN_BYTES LocalCacheSizeInBytes BACKEND_TYPE
  DISABLE_STATS STATS_FLUSH_INTERVAL NEAR_LIMIT_RATIO EXTRA_TAGS
  USE_PUSHSTATS USE_STATSD PUSHSTATS_HOST STATSD_HOST PUSHSTATS_PORT STATSD_PORT PUSHSTATS_PROTOCOL
  STATSD_PROTOCOL USE_AGENTSTATS USE_DOG_STATSD AGENTSTATS_MOGRIFIERS USE_DOG_STATSD_MOGRIFIERS
  USE_PULLSTATS USE_PROMETHEUS PULLSTATS_ADDR PROMETHEUS_ADDR PULLSTATS_PATH PROMETHEUS_PATH
  PULLSTATS_MAPPER_YAML PROMETHEUS_MAPPER_YAML PULLSTATS_RESPONSE_TIME_AS_MILLISECONDS
  PROMETHEUS_RESPONSE_TIME_AS_MILLISECONDS
  KVCACHE_SOCKET_TYPE KVCACHE_URL KVCACHE_TYPE KVCACHE_POOL_SIZE KVCACHE_TIMEOUT KVCACHE_AUTH
  KVCACHE_POOL_ON_EMPTY_BEHAVIOR KVCACHE_POOL_ON_EMPTY_WAIT_DURATION KVCACHE_PIPELINE_WINDOW
  KVCACHE_PIPELINE_LIMIT KVCACHE_CLUSTER_PIPELINE_PARALLELISM KVCACHE_TLS KVCACHE_TLS_CLIENT_CERT
  KVCACHE_TLS_CLIENT_KEY KVCACHE_TLS_CACERT KVCACHE_TLS_SKIP_HOSTNAME_VERIFICATION KVCACHE_SENTINEL_AUTH
  KVCACHE_HEALTH_CHECK_ACTIVE_CONNECTION KVCACHE_STARTUP_INITIAL_INTERVAL KVCACHE_STARTUP_MAX_INTERVAL
  KVCACHE_STARTUP_MAX_ELAPSED_TIME KVCACHE_PERSECOND KVCACHE_PERSECOND_SOCKET_TYPE KVCACHE_PERSECOND_URL
  KVCACHE_PERSECOND_POOL_SIZE KVCACHE_PERSECOND_TYPE KVCACHE_PERSECOND_TIMEOUT KVCACHE_PERSECOND_AUTH
  KVCACHE_PERSECOND_POOL_ON_EMPTY_BEHAVIOR KVCACHE_PERSECOND_POOL_ON_EMPTY_WAIT_DURATION
  KVCACHE_PERSECOND_PIPELINE_WINDOW KVCACHE_PERSECOND_PIPELINE_LIMIT KVCACHE_PERSECOND_TLS
  KVCACHE_PERSECOND_CLUSTER_PIPELINE_PARALLELISM KVCACHE_PERSECOND_SENTINEL_AUTH
  ALTCACHE_HOST_PORT ALTCACHE_SRV ALTCACHE_SRV_REFRESH ALTCACHE_MAX_IDLE_CONNS ALTCACHE_TLS
  ALTCACHE_TLS_CLIENT_CERT ALTCACHE_TLS_CLIENT_KEY ALTCACHE_TLS_CACERT ALTCACHE_TLS_SKIP_HOSTNAME_VERIFICATION
  TRACING_ENABLED TRACING_EXPORTER_PROTOCOL TRACING_SERVICE_NAME TRACING_SERVICE_NAMESPACE
  TRACING_SERVICE_INSTANCE_ID TRACING_SAMPLING_RATE`
  .trim()
  .split(/\s+/)
  .flatMap(name => {
    const other = name.replace(/^KVCACHE_/, 'REDIS_').replace(/^ALTCACHE_/, 'MEMCACHE_');
    return other === name ? [name] : [name, other];
  });

t.test('each documented setting is read, or known not to be', async t => {
  const known = new Set([...missing, ...present]);
  t.same(
    DOCUMENTED.filter(name => !known.has(name)),
    [],
  );
});

t.test('no setting is both read and known not to be', async t => {
  t.same(
    missing.filter(name => present.includes(name)),
    [],
  );
  t.same(missing, [...new Set(missing)], 'nor twice among the latter');
  t.same(
    missing.filter(name => !DOCUMENTED.includes(name)),
    [],
    'nor is one of them made up',
  );
});

t.test('whatever asks for what is not here is told, under the name that was used', async t => {
  for (const { names, lacks } of MISSING_SETTINGS) {
    for (const name of names) {
      const env = { [name]: 'asked for' };
      if (lacks === null) {
        t.equal(refusal(env), '', name);
        t.same(unreadVariables(env), [name]);
      } else {
        t.match(refusal(env), `  ${name}="asked for": this version does not have ${lacks}; accepted: `);
        t.same(unreadVariables(env), []);
      }
    }
  }
});

t.test('protection, other servers and other results are refused, all at once', async t => {
  const env = {
    REDIS_TLS: 'true',
    REDIS_PERSECOND: '1',
    USE_STATSD: 'true',
    USE_DOG_STATSD: 't',
    USE_PROMETHEUS: 'TRUE',
    USE_DOG_STATSD_MOGRIFIERS: 'A',
    TRACING_ENABLED: 'true',
    MEMCACHE_HOST_PORT: 'm:11211',
    CONFIG_GRPC_XDS_SERVER_USE_TLS: 'true',
    REDIS_HEALTH_CHECK_ACTIVE_CONNECTION: 'true',
    CONFIG_TYPE: 'GRPC_XDS_SOTW',
    BACKEND_TYPE: 'memcache',
    REDIS_TYPE: 'Cluster',
  };
  const lines = refusal(env).split('\n').slice(1);
  t.equal(lines.length, Object.keys(env).length);
  for (const line of lines) t.match(line, ': this version does not have ');
  t.match(
    lines.join('\n'),
    '  REDIS_TLS="true": this version does not have TLS to Redis; accepted: false, or',
  );
  t.match(
    lines.join('\n'),
    '"m:11211": this version does not have a memcached store; accepted: the variable unset',
  );
});

t.test('texts that ask for nothing else than what is here pass without a word', async t => {
  const env = {
    REDIS_TLS: 'false',
    KVCACHE_PERSECOND: '0',
    USE_STATSD: 'false',
    DISABLE_STATS: 'true',
    USE_PULLSTATS: 'F',
    AGENTSTATS_MOGRIFIERS: '',
    TRACING_ENABLED: 'false',
    TRACING_SERVICE_NAME: 'RateLimit',
    REDIS_POOL_SIZE: '10',
    KVCACHE_POOL_ON_EMPTY_BEHAVIOR: 'CREATE',
    REDIS_PIPELINE_WINDOW: '0s',
    STATS_FLUSH_INTERVAL: '10s',
    EXTRA_TAGS: '',
    MEMCACHE_HOST_PORT: '',
    XDS_CLIENT_BACKOFF_JITTER: 'true',
  };
  t.equal(refusal(env), '');
  t.same(unreadVariables(env), []);
});

t.test('what is only tuned is named, and never shown: it may be a secret', async t => {
  const env = {
    REDIS_POOL_SIZE: '20',
    REDIS_PERSECOND_AUTH: 'hunter2',
    STATS_FLUSH_INTERVAL: '1s',
    PATH: '/bin',
  };
  t.same(unreadVariables(env), ['STATS_FLUSH_INTERVAL', 'REDIS_POOL_SIZE', 'REDIS_PERSECOND_AUTH']);
});

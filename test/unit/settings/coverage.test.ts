import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { SETTINGS, settingEntries } from '../../../src/settings/table.ts';
import { repositoryRoot } from '../../support/repository.ts';

/** Every variable of spec 2.7, in its order; those that are made from a name of the user's are not among them. */
const SPECIFIED = `
  HOST PORT CONFIG_TYPE FORCE_START_WITHOUT_INITIAL_CONFIG
  RUNTIME_ROOT RUNTIME_SUBDIRECTORY RUNTIME_APPDIRECTORY RUNTIME_IGNOREDOTFILES RUNTIME_WATCH_ROOT
  MERGE_DOMAIN_CONFIG
  CONFIG_GRPC_XDS_NODE_ID CONFIG_GRPC_XDS_SERVER_URL CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL
  XDS_CLIENT_BACKOFF_JITTER XDS_CLIENT_BACKOFF_INITIAL_INTERVAL XDS_CLIENT_BACKOFF_MAX_INTERVAL
  XDS_CLIENT_BACKOFF_RANDOM_FACTOR XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES CONFIG_GRPC_XDS_SERVER_USE_TLS
  CONFIG_GRPC_XDS_CLIENT_TLS_CERT CONFIG_GRPC_XDS_CLIENT_TLS_KEY CONFIG_GRPC_XDS_SERVER_TLS_CACERT
  CONFIG_GRPC_XDS_SERVER_TLS_SAN CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS
  GRPC_HOST GRPC_PORT GRPC_UDS DEBUG_HOST DEBUG_PORT GRPC_MAX_CONNECTION_AGE GRPC_MAX_CONNECTION_AGE_GRACE
  LOG_LEVEL LOG_FORMAT SHADOW_MODE USE_PUSHSTATS DISABLE_STATS STATS_FLUSH_INTERVAL NEAR_LIMIT_RATIO EXTRA_TAGS
  USE_AGENTSTATS AGENTSTATS_MOGRIFIERS USE_PULLSTATS PULLSTATS_ADDR PULLSTATS_PATH PULLSTATS_MAPPER_YAML
  HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED LIMIT_RESPONSE_HEADERS_ENABLED
  LIMIT_LIMIT_HEADER LIMIT_REMAINING_HEADER LIMIT_RESET_HEADER
  BACKEND_TYPE KVCACHE_SOCKET_TYPE KVCACHE_URL KVCACHE_TYPE KVCACHE_POOL_SIZE KVCACHE_TIMEOUT
  KVCACHE_POOL_ON_EMPTY_BEHAVIOR KVCACHE_POOL_ON_EMPTY_WAIT_DURATION KVCACHE_PIPELINE_WINDOW
  KVCACHE_PIPELINE_LIMIT KVCACHE_TLS KVCACHE_TLS_CLIENT_CERT KVCACHE_TLS_CLIENT_KEY KVCACHE_TLS_CACERT
  KVCACHE_TLS_SKIP_HOSTNAME_VERIFICATION KVCACHE_AUTH KVCACHE_SENTINEL_AUTH
  KVCACHE_HEALTH_CHECK_ACTIVE_CONNECTION KVCACHE_PERSECOND
  KVCACHE_PERSECOND_SOCKET_TYPE KVCACHE_PERSECOND_URL KVCACHE_PERSECOND_POOL_SIZE KVCACHE_PERSECOND_TYPE
  KVCACHE_PERSECOND_TIMEOUT KVCACHE_PERSECOND_POOL_ON_EMPTY_BEHAVIOR
  KVCACHE_PERSECOND_POOL_ON_EMPTY_WAIT_DURATION KVCACHE_PERSECOND_PIPELINE_WINDOW
  KVCACHE_PERSECOND_PIPELINE_LIMIT KVCACHE_PERSECOND_TLS KVCACHE_PERSECOND_AUTH KVCACHE_PERSECOND_SENTINEL_AUTH
  CACHE_KEY_PREFIX STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT LocalCacheSizeInBytes
  ALTCACHE_HOST_PORT ALTCACHE_SRV ALTCACHE_SRV_REFRESH ALTCACHE_MAX_IDLE_CONNS ALTCACHE_TLS
  ALTCACHE_TLS_CLIENT_CERT ALTCACHE_TLS_CLIENT_KEY ALTCACHE_TLS_CACERT ALTCACHE_TLS_SKIP_HOSTNAME_VERIFICATION
  TRACING_ENABLED TRACING_EXPORTER_PROTOCOL TRACING_SERVICE_NAME TRACING_SERVICE_NAMESPACE
  TRACING_SERVICE_INSTANCE_ID TRACING_SAMPLING_RATE
`
  .trim()
  .split(/\s+/);

/** Settings of both Redis instances are read by what follows the prefix of the instance. */
function isRead(key: string, code: string): boolean {
  const [, rest] = /^redis(?:PerSecond)?([A-Z]\w*)$/.exec(key) ?? [];
  return (
    new RegExp(`\\b${key}\\b`).test(code) || (rest !== undefined && code.includes(`\${prefix}${rest}\``))
  );
}

/** Texts of all sources in a folder, but for those of `leftOut`. */
function sources(folder: string, leftOut: RegExp): string {
  const root = repositoryRoot();
  const files = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' });
  return files
    .filter(file => file.endsWith('.ts') && !leftOut.test(join(folder, file)))
    .map(file => readFileSync(join(root, folder, file), 'utf8'))
    .join('\n');
}

t.test('every setting of the specification is one here', async t => {
  const known = new Set(Object.values(SETTINGS).flatMap(setting => setting.names));
  t.same(
    SPECIFIED.filter(name => !known.has(name)),
    [],
  );
});

t.test('every setting is read by code outside of the settings', async t => {
  // Settings that have no effect are only warned about, and mogrifiers are read by the loader.
  const code = sources('src', /^src\/settings\/(?!store-settings|kinds\/redis|load\.)/);
  t.same(
    settingEntries()
      .filter(([key]) => !isRead(key, code))
      .map(([key]) => key),
    [],
  );
});

t.test('every setting is set by a test of what it does', async t => {
  // Those of the table itself set all of them, whatever they do.
  const tests = sources('test', /^test\/unit\/settings\//);
  t.same(
    settingEntries()
      .filter(([, { names }]) => !names.some(name => new RegExp(`\\b${name}\\b`).test(tests)))
      .map(([, { names }]) => names[0]),
    [],
  );
});

t.test('every setting of the specification is given to the whole program by a test', async t => {
  const tests = sources('test/service', /(?!)/);
  // As a key or by the name of a variable: a title that names it is not enough.
  const isGiven = (name: string) => new RegExp(`\\b${name}(:|,| })`).test(tests);
  const namesOf = (name: string) => settingEntries().find(([, { names }]) => names.includes(name))![1].names;
  t.same(
    SPECIFIED.filter(name => !namesOf(name).some(isGiven)),
    [],
  );
});

import t from 'tap';
import { type Environment, loadSettings } from '../../../src/settings/load.ts';
import { settingEntries } from '../../../src/settings/table.ts';
import { words } from '../../support/words.ts';

/** Names that are warned about, each with the setting that is closest. */
function misspelled(env: Environment): Record<string, unknown> {
  const warnings = loadSettings(env).warnings.filter(({ message }) =>
    message.includes('nvironment variable ignored'),
  );
  return Object.fromEntries(warnings.map(({ fields }) => [fields['name'], fields['closest']]));
}

t.test('a misspelled name is reported with the setting that was meant', async t => {
  const slips = {
    REDIS_ULR: 'REDIS_URL',
    REDIS_UR: 'REDIS_URL',
    REDIS_URI: 'REDIS_URL',
    LIMIT_RESPONSE_HEADER_ENABLED: 'LIMIT_RESPONSE_HEADERS_ENABLED',
    KVCACHE_TLS_CA_CERT: 'KVCACHE_TLS_CACERT',
    RUNTIME_SUBDIR: undefined,
    RUNTIME_SUB_DIRECTORY: 'RUNTIME_SUBDIRECTORY',
    MEMCACHED_HOST_PORT: 'MEMCACHE_HOST_PORT',
    log_level: 'LOG_LEVEL',
    LOCALCACHESIZEINBYTES: 'LocalCacheSizeInBytes',
    NEAR_LIMIT_RATION: 'NEAR_LIMIT_RATIO',
  };
  for (const [name, meant] of Object.entries(slips)) {
    t.same(misspelled({ [name]: 's3cret' }), meant === undefined ? {} : { [name]: meant }, name);
  }
});

t.test('an unknown name with a prefix of settings is reported even if no setting is similar', async t => {
  t.same(misspelled({ KVCACHE_UNKNOWN_THING: 'x' }), { KVCACHE_UNKNOWN_THING: undefined });
  t.ok('PULLSTATS_TOKEN' in misspelled({ PULLSTATS_TOKEN: 'x' }));
  t.ok('CONFIG_GRPC_XDS_SERVER_PATH' in misspelled({ CONFIG_GRPC_XDS_SERVER_PATH: 'x' }));
});

t.test('the address of a store under a common name is reported only if no store is chosen', async t => {
  t.same(misspelled({ REDIS_HOST: 'redis' }), { REDIS_HOST: 'REDIS_URL' });
  t.same(misspelled({ MEMCACHE_SERVERS: 'm' }), { MEMCACHE_SERVERS: 'MEMCACHE_HOST_PORT' });
  t.same(misspelled({ REDIS_HOST: 'redis', REDIS_URL: 'redis:6379' }), {});
  t.same(misspelled({ REDIS_HOST: 'redis', BACKEND_TYPE: 'memory' }), {});
});

t.test('a name is not reported if the similar setting is given as well', async t => {
  t.same(misspelled({ REDIS_URLS: 'a,b', REDIS_URL: 'a:1' }), {});
  t.same(misspelled({ REDIS_URLS: 'a,b', KVCACHE_URL: 'a:1' }), {});
});

t.test('variables that environments set for other reasons are no slips', async t => {
  const names = [
    // What Kubernetes makes of services named `redis`, `statsd`, `grpc` and `kvcache`.
    ...['REDIS', 'REDIS_MASTER', 'MEMCACHE', 'GRPC_XDS', 'KVCACHE', 'RATELIMIT'].flatMap(service => [
      `${service}_PORT`,
      `${service}_SERVICE_HOST`,
      `${service}_SERVICE_PORT`,
      `${service}_SERVICE_PORT_GRPC`,
      `${service}_PORT_6379_TCP`,
      `${service}_PORT_6379_TCP_ADDR`,
      `${service}_PORT_6379_TCP_PORT`,
      `${service}_PORT_6379_TCP_PROTO`,
    ]),
    // Envoy Gateway, Istio and others.
    ...['GRPC_SERVER_TLS_CA_CERT', 'POD_NAME', 'POD_NAMESPACE', 'NODE_NAME', 'INSTANCE_IP', 'ENVOY_UID'],
    ...['DD_AGENT_HOST', 'DD_TAGS', 'DD_SITE', 'DD_TRACE_ENABLED', 'DD_LOGS_INJECTION'],
    ...words(`OTEL_EXPORTER_OTLP_ENDPOINT OTEL_SERVICE_NAME GRPC_VERBOSITY GRPC_TRACE GRPC_DNS_RESOLVER`),
    ...words(`NODE_ENV NODE_OPTIONS NODE_EXTRA_CA_CERTS NODE_VERSION YARN_VERSION npm_config_user_agent`),
    ...['npm_package_name', 'npm_lifecycle_event', 'npm_execpath', 'PM2_HOME', 'pm_id', 'NODE_APP_INSTANCE'],
    ...words(`HOSTNAME HOSTTYPE PATH HOME LOGNAME SHLVL SHELL TERM COLORTERM EDITOR PAGER`),
    ...['LANG', 'LANGUAGE', 'LC_ALL', 'XDG_RUNTIME_DIR', 'XDG_SESSION_ID', 'SSH_CONNECTION', 'SSH_AUTH_SOCK'],
    ...words(`DBUS_SESSION_BUS_ADDRESS SUDO_USER MAIL OLDPWD TZ LOG_DIR LOGLEVEL_ROOT DEBUG_COLORS`),
    ...words(`INVOCATION_ID JOURNAL_STREAM LISTEN_FDS NOTIFY_SOCKET MEMORY_PRESSURE_WATCH RUNTIME_DIRECTORY`),
    ...words(`STATE_DIRECTORY CONFIGURATION_DIRECTORY LOGS_DIRECTORY CACHE_DIRECTORY SYSTEMD_EXEC_PID`),
    ...['AWS_REGION', 'AWS_ROLE_ARN', 'AWS_WEB_IDENTITY_TOKEN_FILE', 'GOOGLE_CLOUD_PROJECT', 'GOMEMLIMIT'],
    ...['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'SSL_CERT_FILE', 'SSL_CERT_DIR'],
    ...['CI', 'GITHUB_ACTIONS', 'GITHUB_REF', 'GITLAB_CI', 'BUILD_NUMBER', 'RUNNER_TEMP', 'TAP_CHILD_ID'],
    ...words(`DATABASE_URL SERVICE_NAME SERVICE_PORT SECRET_KEY APP_ENV VERSION MODE PORTS POST`),
    ...['AGENTSTATS_MOGRIFIER_X_PATTERN', 'DOG_STATSD_MOGRIFIER_X_TAGS', 'REDIS_PASSWORD', 'REDISCLI_AUTH'],
    'UV_THREADPOOL_SIZE',
  ];
  t.same(
    misspelled({ ...Object.fromEntries(names.map(name => [name, 'tcp://10.0.0.1:80'])), DD_ENV: 'prod' }),
    {},
  );
});

t.test('the environment of this test has no slip in it', async t => {
  const known = new Set(settingEntries().flatMap(([, { names }]) => names));
  const foreign = Object.entries(process.env).filter(([name]) => !known.has(name));
  t.same(misspelled(Object.fromEntries(foreign)), {});
});

t.test('values are never shown, and the number of lines is limited', async t => {
  const env = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`KVCACHE_NO_${i}`, 's3cret']));
  const { warnings } = loadSettings({ ...env, BACKEND_TYPE: 'memory' });
  t.equal(warnings.length, 20);
  t.notMatch(JSON.stringify(warnings), 's3cret');
});

t.test('a port that Kubernetes made for a service of the name is left out, with a warning', async t => {
  const settings = loadSettings({ STATSD_PORT: 'tcp://10.0.0.1:8125', GRPC_PORT: 'tcp://10.0.0.2:8081' });
  t.match(settings, { statsdPort: 8125, grpcPort: 8081, givenBy: { statsdPort: undefined } });
  t.match(
    settings.warnings.map(({ fields }) => fields['name']),
    ['GRPC_PORT', 'STATSD_PORT'],
  );
  t.match(loadSettings({ STATSD_PORT: 'tcp://10.0.0.1:8125', PUSHSTATS_PORT: '9125' }), { statsdPort: 9125 });
});

t.test('nothing else that is written in this way is left out', async t => {
  t.throws(() => loadSettings({ MEMCACHE_HOST_PORT: 'tcp://10.0.0.1:11211' }), /not in the accepted format/);
  t.throws(() => loadSettings({ PORT: 'tcp://10.0.0.1:8080' }), /not a whole number/);
});

import t from 'tap';
import { loadSettings } from '../../../src/settings/load.ts';
import type { Settings } from '../../../src/settings/table.ts';
import { faultLines } from './refusal.ts';

// Likely mistakes with addresses, secrets and files, and what Sluice makes of them. Those that only a server shows are in
// test/unit/app/stores/mistakes.test.ts.

const SECRET = 's3cret';

/** What is certain is done: the settings that result, and the variables from which white space was removed. */
const UNDERSTOOD: readonly (readonly [
  what: string,
  env: Readonly<Record<string, string>>,
  settings: Partial<Settings>,
  trimmed: readonly string[],
])[] = [
  [
    'rediss:// means TLS',
    { REDIS_URL: `rediss://user:${SECRET}@h:6380/0` },
    { redisTls: true, redisSocketType: 'tcp', backendType: 'redis' },
    [],
  ],
  ['valkeys:// means TLS', { KVCACHE_URL: 'valkeys://h:6380' }, { redisTls: true }, []],
  [
    'rediss:// for the second instance does not concern the first one',
    { REDIS_URL: 'h:1', REDIS_PERSECOND: 'true', REDIS_PERSECOND_URL: 'rediss://h:2' },
    { redisTls: false, redisPerSecondTls: true },
    [],
  ],
  [
    'rediss:// for tasks',
    { TASKS_REDIS_URL: `rediss://:${SECRET}@h:1`, TASKS_STORE: 'redis' },
    { tasksRedisTls: true },
    [],
  ],
  [
    'a space after a comma',
    { REDIS_TYPE: 'sentinel', REDIS_URL: 'limits, a:1 , b:2' },
    { redisUrl: 'limits,a:1,b:2' },
    ['REDIS_URL'],
  ],
  [
    'a space after a comma, memcached',
    { MEMCACHE_HOST_PORT: 'a:1, b:2' },
    { memcachedServers: 'a:1,b:2' },
    ['MEMCACHE_HOST_PORT'],
  ],
  [
    'line breaks from files',
    {
      KVCACHE_URL: 'h:1\n',
      KVCACHE_AUTH: `${SECRET}\r\n`,
      KVCACHE_TLS_CACERT: '/ca.pem\n',
      KVCACHE_TLS: 'true\n',
      ADMIN_TOKEN: `${SECRET.repeat(6)}\n`,
      PORT: ' 8080',
    },
    {
      redisUrl: 'h:1',
      redisAuth: SECRET,
      redisTlsCaCert: '/ca.pem',
      adminToken: SECRET.repeat(6),
      httpPort: 8080,
    },
    ['PORT', 'KVCACHE_URL', 'KVCACHE_AUTH', 'KVCACHE_TLS', 'KVCACHE_TLS_CACERT', 'ADMIN_TOKEN'],
  ],
  ['a comma in a password', { REDIS_URL: `redis://:${SECRET},x@h:6379` }, { redisType: 'single' }, []],
  ['spaces that belong to a password', { REDIS_URL: 'h:1', REDIS_AUTH: ' a b ' }, { redisAuth: ' a b ' }, []],
];

for (const [what, env, settings, trimmed] of UNDERSTOOD) {
  t.test(`understood: ${what}`, async t => {
    const loaded = loadSettings(env);
    t.match(loaded, settings);
    const warned = loaded.warnings.filter(({ message }) => message.startsWith('White space was removed'));
    t.same(warned.map(({ fields }) => fields['setting']).sort(), [...trimmed].sort());
    t.notMatch(JSON.stringify(loaded.warnings), SECRET);
  });
}

/** What is likely is named, with the line to write. */
const REFUSED: readonly (readonly [what: string, env: Readonly<Record<string, string>>, fault: RegExp])[] = [
  [
    'a list of sentinels without the type',
    { REDIS_URL: 'limits,a:26379,b:26379' },
    /^ {2}REDIS_URL=\*\*\* and .*: a list of addresses, but REDIS_TYPE is single: it seems to be the name of a master and its sentinels; accepted: REDIS_TYPE=sentinel/,
  ],
  [
    'the nodes of a cluster without the type',
    { KVCACHE_URL: `redis://:${SECRET}@a:1,b:2` },
    /it seems to be the nodes of a cluster; accepted: KVCACHE_TYPE=cluster for this list/,
  ],
  [
    'the type of the other instance only',
    {
      REDIS_TYPE: 'sentinel',
      REDIS_URL: 'limits,a:1',
      REDIS_PERSECOND: 'true',
      REDIS_PERSECOND_URL: 'fast,a:1',
    },
    /REDIS_PERSECOND_URL=\*\*\* .*REDIS_PERSECOND_TYPE is single.*accepted: REDIS_PERSECOND_TYPE=sentinel/,
  ],
  [
    'a list for tasks',
    {
      TASKS_STORE: 'redis',
      TASKS_ENABLED: 'true',
      TASKS_REDIS_URL: 'a:1,b:2',
      SECRETS_MASTER_KEY: 'x'.repeat(32),
    },
    /TASKS_REDIS_URL=\*\*\*: a list of addresses, but TASKS_REDIS_TYPE is single.*TASKS_REDIS_TYPE=cluster/,
  ],
  ['a host without its port', { REDIS_URL: 'redis.example.com' }, /the port is missing; accepted: host:port/],
  [
    'a question mark in a password',
    { REDIS_URL: `redis://user?${SECRET}:x@h:6379` },
    /REDIS_URL=\*\*\* .*a `\?` begins parameters; write `%3F` for it/,
  ],
  ['a URL of HTTP', { REDIS_URL: 'http://h:6379' }, /neither host:port nor a redis:\/\/ address/],
  [
    'quotes that the shell did not remove',
    { MEMCACHE_HOST_PORT: '"a:11211"' },
    /MEMCACHE_HOST_PORT=.*: it is enclosed in quotes, which belong to the value: remove them/,
  ],
  [
    'a URL for memcached',
    { MEMCACHE_HOST_PORT: 'memcached://a:11211' },
    /MEMCACHE_HOST_PORT=.*not in the accepted format; accepted: host:port/,
  ],
  [
    'a private key instead of its path',
    { REDIS_URL: 'h:1', REDIS_TLS: 'true', REDIS_TLS_CLIENT_KEY: `-----BEGIN PRIVATE KEY-----\n${SECRET}` },
    /REDIS_TLS_CLIENT_KEY=\*\*\*: it is the content of a file; accepted: a path/,
  ],
  [
    'a port with a colon, as in other programs',
    { PORT: ':8080' },
    /PORT=":8080": not a whole number; accepted: a whole number from 0 to 65535/,
  ],
  [
    'an address with its port for statsd',
    { STATSD_HOST: 'statsd:8125' },
    /STATSD_HOST=.*a host name without a port/,
  ],
  ['a URL for statsd', { STATSD_HOST: 'http://statsd' }, /STATSD_HOST=.*a host name without a port/],
  ['a port alone for Prometheus', { PROMETHEUS_ADDR: '9090' }, /PROMETHEUS_ADDR="9090": .*such as :9090/],
  ['a host name for an SRV record', { MEMCACHE_SRV: 'memcached' }, /MEMCACHE_SRV=.*such as _memcached\._tcp/],
  [
    'a certificate without its key',
    { GRPC_SERVER_USE_TLS: 'true', GRPC_SERVER_TLS_CERT: '/cert.pem' },
    /GRPC_SERVER_TLS_KEY="" \(default\): TLS requires a certificate and its private key; accepted: the paths/,
  ],
  [
    'the content of the files of the gRPC server',
    {
      GRPC_SERVER_USE_TLS: 'true',
      GRPC_SERVER_TLS_CERT: '/cert.pem',
      GRPC_SERVER_TLS_KEY: `-----BEGIN PRIVATE KEY-----\n${SECRET}`,
    },
    /GRPC_SERVER_TLS_KEY=\*\*\*: it is the content of a file; accepted: a path/,
  ],
  [
    'an address without a scheme for the keys of tokens',
    { TASKS_JWT_JWKS_URL: `idp.example/${SECRET}`, TASKS_JWT_ISSUER: 'i', TASKS_JWT_AUDIENCE: 'a' },
    /TASKS_JWT_JWKS_URL=\*\*\*: .*accepted: a URL that begins with https:/,
  ],
  [
    'a master key of another length',
    { SECRETS_MASTER_KEY: SECRET },
    /SECRETS_MASTER_KEY=\*\*\*: .*accepted: 32 bytes in base64 or hex \("openssl rand -base64 32"/,
  ],
  [
    'a master key in quotes',
    { SECRETS_MASTER_KEY: `"${SECRET}"` },
    /SECRETS_MASTER_KEY=\*\*\*: it is enclosed in quotes, which belong to the value: remove them/,
  ],
  [
    'a token with the scheme before it',
    { ADMIN_TOKEN: `Bearer ${SECRET.repeat(4)}` },
    /ADMIN_TOKEN=\*\*\*: .*accepted: at least 16 characters without spaces/,
  ],
  [
    'a secret instead of the path of its file, beside another fault',
    { DECISION_LOG_HASH_SECRET_FILE: SECRET },
    /DECISION_LOG_HASH_SECRET_FILE=\*\*\*: without hashes, the secret has no effect/,
  ],
  [
    'the same in quotes',
    {
      REDIS_URL: 'h:1',
      REDIS_TLS: 'true',
      REDIS_TLS_CLIENT_KEY: `"-----BEGIN PRIVATE KEY-----\\n${SECRET}"`,
    },
    /REDIS_TLS_CLIENT_KEY=\*\*\*: it is enclosed in quotes/,
  ],
];

for (const [what, env, fault] of REFUSED) {
  t.test(`refused: ${what}`, async t => {
    const lines = faultLines(env);
    t.match(lines.join('\n'), fault);
    t.notMatch(lines.join('\n'), SECRET);
  });
}

t.test('quotes around a secret are named, because they may belong to it', async t => {
  const { warnings, redisAuth } = loadSettings({ REDIS_URL: 'h:1', REDIS_AUTH: `"${SECRET}"` });
  t.equal(redisAuth, `"${SECRET}"`);
  t.match(warnings, [{ message: /quote/, fields: { setting: 'REDIS_AUTH' } }]);
  t.notMatch(JSON.stringify(warnings), SECRET);
});

t.test('rediss:// beside settings that say the opposite is TLS, with a warning', async t => {
  const settings = (env: Readonly<Record<string, string>>) => {
    const { redisTls, warnings } = loadSettings(env);
    t.equal(redisTls, true);
    return warnings
      .filter(({ message }) => message.startsWith('rediss://'))
      .map(({ fields }) => fields['settings']);
  };
  t.same(settings({ REDIS_URL: 'rediss://h:1', REDIS_TLS: 'false' }), ['REDIS_URL, REDIS_TLS']);
  t.same(settings({ REDIS_TYPE: 'cluster', REDIS_URL: 'redis://a:1,rediss://b:2' }), ['REDIS_URL']);
  t.same(settings({ REDIS_TYPE: 'sentinel', REDIS_URL: 'limits,rediss://a:1' }), []);
  t.same(settings({ REDIS_URL: 'rediss://h:1', REDIS_TLS: 'true' }), []);
});

t.test('parameters of a Redis URL that have no effect are named', async t => {
  const { warnings } = loadSettings({
    REDIS_URL: `rediss://h:1?ssl_cert_reqs=none&db=1&password=${SECRET}&timeout=5`,
  });
  t.match(warnings, [{ fields: { setting: 'REDIS_URL', parameters: 'ssl_cert_reqs, timeout' } }]);
  t.notMatch(JSON.stringify(warnings), SECRET);
});

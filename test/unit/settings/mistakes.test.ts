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

t.test('parameters of a Redis URL that have no effect are named', async t => {
  const { warnings } = loadSettings({
    REDIS_URL: `rediss://h:1?ssl_cert_reqs=none&db=1&password=${SECRET}&timeout=5`,
  });
  t.match(warnings, [{ fields: { setting: 'REDIS_URL', parameters: 'ssl_cert_reqs, timeout' } }]);
  t.notMatch(JSON.stringify(warnings), SECRET);
});

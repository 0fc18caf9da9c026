import t from 'tap';
import { type Environment, loadSettings } from '../../../src/settings/load.ts';
import { words } from '../../support/words.ts';
import { refusal } from './refusal.ts';

function accepted(env: Environment): boolean {
  try {
    loadSettings(env);
    return true;
  } catch {
    return false;
  }
}

t.test('two servers on one port are refused, whichever they are', async t => {
  t.match(
    refusal({ PORT: '9000', GRPC_PORT: '9000' }),
    'PORT="9000" and GRPC_PORT="9000": two servers cannot listen on the same port; accepted: different ports',
  );
  t.match(refusal({ DEBUG_PORT: '8080' }), 'PORT="8080" (default) and DEBUG_PORT="8080": two servers');
  t.match(refusal({ DEBUG_PORT: '8081' }), 'GRPC_PORT="8081" (default) and DEBUG_PORT="8081": two servers');
});

t.test('one port is fine on different addresses, for free ports, and beside a unix socket', async t => {
  t.ok(accepted({ PORT: '9000', GRPC_PORT: '9000', HOST: '127.0.0.1', GRPC_HOST: '127.0.0.2' }));
  t.notOk(
    accepted({ PORT: '9000', GRPC_PORT: '9000', HOST: '127.0.0.1' }),
    'gRPC listens on every interface',
  );
  t.notOk(accepted({ PORT: '9000', GRPC_PORT: '9000', HOST: '127.0.0.1', GRPC_HOST: '127.0.0.1' }));
  t.ok(accepted({ PORT: '0', GRPC_PORT: '0', DEBUG_PORT: '0' }));
  t.ok(accepted({ PORT: '9000', GRPC_PORT: '9000', GRPC_UDS: '/run/grpc.sock' }));
  t.notOk(accepted({ PORT: '9000', DEBUG_PORT: '9000', GRPC_UDS: '/run/grpc.sock' }));
});

t.test('one address is one however it is written', async t => {
  const both = (HOST: string, GRPC_HOST: string) =>
    accepted({ PORT: '9000', GRPC_PORT: '9000', HOST, GRPC_HOST });
  const same = [
    ['localhost', '127.0.0.1'],
    ['::1', 'LocalHost'],
    ['localhost', 'localhost.'],
    ['::1', '[0:0:0:0:0:0:0:1]'],
    ['My-Host', 'my-host'],
    ['fe80::A', 'fe80::a'],
    ['fe80::1%eth0', 'fe80::1%eth0'],
    ['0:0:0:0:0:0:0:0', '10.0.0.1'],
  ];
  for (const [first, second] of same) {
    t.notOk(both(first, second), `${first} ${second}`);
    t.notOk(both(second, first), `${second} ${first}`);
  }
  for (const [first, second] of [
    ['localhost', '127.0.0.2'],
    ['127.0.0.1', '::1'],
    ['localhost', 'my-host'],
  ]) {
    t.ok(both(first, second), `${first} ${second}`);
  }
});

t.test('ports are shared on Linux only', t => {
  const platform = Object.getOwnPropertyDescriptor(process, 'platform');
  t.teardown(() => Object.defineProperty(process, 'platform', platform!));
  const on = (value: string) => Object.defineProperty(process, 'platform', { ...platform, value });
  on('linux');
  t.ok(accepted({ SHARE_PORTS: 'true' }));
  on('darwin');
  t.match(
    refusal({ SHARE_PORTS: 'true' }),
    'SHARE_PORTS="true": processes cannot share ports on darwin: only Linux distributes the connections among ' +
      'them; accepted: false, and a different HOST, PORT, GRPC_HOST or GRPC_PORT for each process',
  );
  t.ok(accepted({ SHARE_PORTS: 'false' }));
  t.end();
});

t.test('an address for TCP must name host and port', async t => {
  const right = words(
    `localhost:6379 10.0.0.1:1 [::1]:6379 a_b.c-d:65535 redis://h redis://:p@h:6379/2?db=1`,
  );
  for (const KVCACHE_URL of right) t.ok(accepted({ KVCACHE_URL }), KVCACHE_URL);
  const wrong = words(`
    localhost localhost: :6379 h:0 h:65536 [h]:1 ::1:6379 redis:// redis://:s3cret@h:1/99x
    redis://:s3cret%zz@h:1`);
  for (const KVCACHE_URL of wrong) t.notOk(accepted({ KVCACHE_URL }), KVCACHE_URL);
  t.match(
    refusal({ KVCACHE_URL: 'localhost' }),
    'KVCACHE_URL=*** and KVCACHE_SOCKET_TYPE="tcp" (default): not an address for tcp: the port is missing; accepted: host:port',
  );
  t.match(
    refusal({ KVCACHE_URL: 'redis://:s3cret@h:1/-1' }),
    'KVCACHE_URL=*** and KVCACHE_SOCKET_TYPE="tcp" (default): not an address for tcp: its database is not',
  );
});

t.test('the address must fit the socket type', async t => {
  t.ok(accepted({ REDIS_SOCKET_TYPE: 'tcp4', REDIS_URL: 'h:6379' }));
  t.notOk(accepted({ REDIS_SOCKET_TYPE: 'tcp', REDIS_URL: '/run/redis.sock' }));
  t.ok(accepted({ REDIS_SOCKET_TYPE: 'unix', REDIS_URL: '/run/redis.sock' }));
  t.ok(accepted({ REDIS_SOCKET_TYPE: 'unix', REDIS_URL: '/run/redis:6379' }));
  t.notOk(accepted({ REDIS_SOCKET_TYPE: 'unix', REDIS_URL: 'redis://h/' }));
  t.ok(accepted({ REDIS_SOCKET_TYPE: 'unix', REDIS_URL: 'redis.sock' }), 'a path need not hold a slash');
  t.match(
    refusal({ REDIS_SOCKET_TYPE: 'unix', REDIS_URL: 'h:6379' }),
    'REDIS_URL=*** and REDIS_SOCKET_TYPE="unix": not an address for a unix socket; accepted: the path of a unix socket',
  );
});

t.test('the address must fit the arrangement of the servers, of either instance', async t => {
  t.match(
    refusal({ KVCACHE_TYPE: 'sentinel', KVCACHE_URL: 'h:1' }),
    'KVCACHE_URL=*** and KVCACHE_TYPE="sentinel": not an address for sentinel: the name of the master or the sentinels',
  );
  t.match(
    refusal({
      KVCACHE_URL: 'h:1',
      KVCACHE_PERSECOND: 'true',
      KVCACHE_PERSECOND_TYPE: 'cluster',
      KVCACHE_PERSECOND_URL: 'h:1,',
    }),
    'KVCACHE_PERSECOND_URL=*** and KVCACHE_PERSECOND_TYPE="cluster": not an address for cluster: an entry',
  );
  t.ok(accepted({ KVCACHE_URL: 'h:1', KVCACHE_PERSECOND_URL: 'h' }), 'what is not used does no harm');
});

t.test('a second instance of Redis needs a first one', async t => {
  const alone = { BACKEND_TYPE: 'memory', KVCACHE_PERSECOND: 'true' };
  t.match(refusal(alone), 'a second Redis instance for per-second limits requires');
  t.ok(accepted({ KVCACHE_PERSECOND: 'true', KVCACHE_URL: 'h:1' }));
  t.ok(accepted({ KVCACHE_PERSECOND: 'true', ALTCACHE_HOST_PORT: 'm:1' }), 'memcached has no use for it');
});

t.test('a password is given by itself or by a file, not by both', async t => {
  for (const name of ['AUTH', 'SENTINEL_AUTH', 'PERSECOND_AUTH', 'PERSECOND_SENTINEL_AUTH']) {
    const file = { REDIS_URL: 'h:1', [`REDIS_${name}_FILE`]: '/run/secrets/redis' };
    t.ok(accepted(file));
    const both = refusal({ ...file, [`KVCACHE_${name}`]: 's3cret' });
    t.match(
      both,
      `KVCACHE_${name}=*** and REDIS_${name}_FILE="/run/secrets/redis": the password is given twice`,
    );
    t.ok(accepted({ ...file, [`KVCACHE_${name}`]: '' }), 'an empty one is none');
  }
});

t.test('a certificate for Redis needs its key', async t => {
  t.match(
    refusal({ KVCACHE_URL: 'h:1', KVCACHE_TLS: 'true', KVCACHE_TLS_CLIENT_CERT: '/tls/own.crt' }),
    'KVCACHE_TLS_CLIENT_CERT="/tls/own.crt" and KVCACHE_TLS_CLIENT_KEY="" (default): a client certificate and its private key',
  );
});

t.test('the address does not matter to the embedded store', async t => {
  t.ok(accepted({ BACKEND_TYPE: 'memory', KVCACHE_URL: 'localhost' }));
});

const PAIR = { GRPC_SERVER_TLS_CERT: '/tls/tls.crt', GRPC_SERVER_TLS_KEY: '/tls/tls.key' };
const TLS = { GRPC_SERVER_USE_TLS: 'true', ...PAIR };

t.test('TLS needs the files of certificate and key, wherever they are', async t => {
  t.ok(accepted(TLS));
  t.ok(accepted({ ...TLS, GRPC_SERVER_TLS_KEY: '/elsewhere/tls.key' }));
  t.ok(accepted(PAIR), 'files that are not used yet do no harm');
  t.match(
    refusal({ GRPC_SERVER_USE_TLS: 'true', GRPC_SERVER_TLS_CERT: '/tls/tls.crt' }),
    'GRPC_SERVER_USE_TLS="true" and GRPC_SERVER_TLS_KEY="" (default): TLS requires a certificate and its private key; ' +
      'accepted: the paths of both files, or GRPC_SERVER_USE_TLS=false',
  );
  t.match(
    refusal({ GRPC_SERVER_USE_TLS: 'true' }),
    'GRPC_SERVER_USE_TLS="true" and GRPC_SERVER_TLS_CERT="" (default) and GRPC_SERVER_TLS_KEY="" (default): TLS',
  );
});

t.test('a client CA is refused where no client is asked for a certificate', async t => {
  t.ok(accepted({ ...TLS, GRPC_CLIENT_TLS_CACERT: '/tls/ca.crt' }));
  t.match(
    refusal({ ...PAIR, GRPC_CLIENT_TLS_CACERT: '/tls/ca.crt' }),
    'GRPC_CLIENT_TLS_CACERT="/tls/ca.crt" and GRPC_SERVER_USE_TLS="false" (default): client certificates can only',
  );
});

t.test('the name of a client is refused without a CA, and must be one name', async t => {
  const withCa = { ...TLS, GRPC_CLIENT_TLS_CACERT: '/tls/ca.crt' };
  for (const GRPC_CLIENT_TLS_SAN of [
    '',
    'proxy',
    'proxy.edge.test',
    '*.edge.test',
    '10.0.0.1',
    '::1',
    'a_b.test.',
  ]) {
    t.ok(accepted({ ...withCa, GRPC_CLIENT_TLS_SAN }), GRPC_CLIENT_TLS_SAN);
  }
  for (const GRPC_CLIENT_TLS_SAN of ['a b', 'a,b', 'a:443', 'spiffe://edge/proxy', '*', 'x'.repeat(254)]) {
    t.notOk(accepted({ ...withCa, GRPC_CLIENT_TLS_SAN }), GRPC_CLIENT_TLS_SAN);
  }
  t.match(
    refusal({ ...TLS, GRPC_CLIENT_TLS_SAN: 'proxy.test' }),
    'GRPC_CLIENT_TLS_SAN="proxy.test" and GRPC_CLIENT_TLS_CACERT="" (default): the name in a client certificate',
  );
});

t.test('a secret for hashes of the decision log is refused without hashes, and twice', async t => {
  const secret = { DECISION_LOG_HASH_SECRET: 'hidden' };
  const hashed = { ...secret, DECISION_LOG_HASH_KEYS: 'true' };
  t.ok(accepted(hashed));
  t.match(refusal(secret), 'without hashes, the secret has no effect');
  const twice = refusal({ ...hashed, DECISION_LOG_HASH_SECRET_FILE: '/run/secret' });
  t.match(twice, 'the secret is given twice');
  t.notMatch(twice, 'hidden');
});

t.test('a setting with a fault of its own brings no second fault', async t => {
  const message = refusal({
    PORT: '8081x',
    DEBUG_PORT: '8081',
    KVCACHE_SOCKET_TYPE: 'TCP',
    KVCACHE_URL: 'localhost',
  });
  t.equal(message.split('\n').length, 4);
  t.match(
    message,
    /PORT="8081x".*\n.*KVCACHE_SOCKET_TYPE="TCP".*\n.*GRPC_PORT="8081" \(default\) and DEBUG_PORT="8081"/,
  );
});

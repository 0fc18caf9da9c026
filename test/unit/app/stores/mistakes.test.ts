import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { redisTaskStore } from '../../../../src/app/tasks/redis-task-store.ts';
import { systemClock } from '../../../../src/base/clock.ts';
import { asError } from '../../../../src/base/fault.ts';
import type { Service } from '../../../../src/base/lifecycle.ts';
import { loadSettings } from '../../../../src/settings/load.ts';
import { Authority } from '../../../support/certificates.ts';
import { count } from '../../../support/counting.ts';
import { freePort } from '../../../support/free-port.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { memcachedFor } from '../../../support/memcached-server.ts';
import { redisFor } from '../../../support/redis-server.ts';
import { startedStore, storeOfSettings } from '../../../support/store-of-settings.ts';
import { tempDirectory } from '../../../support/temp-directory.ts';
import { until } from '../../../support/until.ts';

// Mistakes in settings that only a server shows: what the operator reads names the setting to change. The other ones are
// in test/unit/settings/mistakes.test.ts.

const SECRET = 's3cret';
const random = () => 0.5;

const authority = new Authority('Test CA');
const folder = tempDirectory(t);
const file = (name: string, text: string): string => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};
const { certificate, key } = authority.issue({ subject: '127.0.0.1', names: ['127.0.0.1'] });
const files = {
  cert: file('crt', certificate),
  key: file('key', key),
  ca: file('ca', authority.certificate),
};

/** A Redis with a port for TLS, and one without. */
async function startBoth(t: Test): Promise<{ readonly plain: string; readonly tls: string }> {
  const port = await freePort();
  const pair = ['--tls-cert-file', files.cert, '--tls-key-file', files.key, '--tls-ca-cert-file', files.ca];
  const args = ['--tls-port', String(port), '--tls-auth-clients', 'no', '--requirepass', SECRET, ...pair];
  const redis = await redisFor(t, { args });
  return { plain: `127.0.0.1:${redis.port}`, tls: `127.0.0.1:${port}` };
}

/** The error of a store that does not start. */
async function refusal(store: Service): Promise<string> {
  return await Promise.resolve(store.start()).then(
    () => 'it has started',
    failure => asError(failure).message,
  );
}

const ONCE = { REDIS_STARTUP_MAX_ELAPSED_TIME: '30ms', REDIS_TIMEOUT: '1s', REDIS_AUTH: SECRET };

t.test('Redis for decisions', async t => {
  const { plain, tls } = await startBoth(t);
  const faults: readonly (readonly [what: string, env: Readonly<Record<string, string>>, fault: RegExp])[] = [
    [
      'no TLS for a port with TLS',
      { REDIS_URL: tls },
      /before the server answered \(it may expect TLS; if so, set REDIS_TLS=true\)/,
    ],
    [
      'TLS for a port without TLS',
      { REDIS_URL: plain, REDIS_TLS: 'true' },
      /if the server does not use TLS, set REDIS_TLS=false/,
    ],
    [
      'rediss:// for a port without TLS',
      { REDIS_URL: `rediss://${plain}` },
      /if the server does not use TLS, write redis:\/\/ instead of rediss:\/\//,
    ],
    [
      'rediss:// without the CA',
      { REDIS_URL: `rediss://${tls}` },
      /no trusted CA has signed the certificate of the server; set REDIS_TLS_CACERT/,
    ],
    [
      'a wrong password',
      { REDIS_URL: plain, REDIS_AUTH: `${SECRET}x` },
      /WRONGPASS.*\(check REDIS_AUTH, which is "password" or "user:password"\)/,
    ],
    [
      'a wrong password in the address',
      { KVCACHE_URL: `redis://:${SECRET}x@${plain}`, REDIS_AUTH: '' },
      /WRONGPASS.*\(set KVCACHE_AUTH to "password" or "user:password", or correct those in the address\)/,
    ],
    [
      'a wrong password in a file',
      { REDIS_URL: plain, REDIS_AUTH: '', REDIS_AUTH_FILE: file('wrong-auth', `${SECRET}x\n`) },
      /WRONGPASS.*\(check the user and the password in the file of REDIS_AUTH_FILE\)/,
    ],
    ['no password', { REDIS_URL: plain, REDIS_AUTH: '' }, /NOAUTH.*\(set REDIS_AUTH to "password"/],
    [
      'the password instead of the path of its file',
      { REDIS_URL: plain, REDIS_AUTH: '', REDIS_AUTH_FILE: SECRET },
      /REDIS_AUTH_FILE: its value is not the path of a file, and is not shown .*; write the path/,
    ],
    [
      'sentinels where there are none',
      { REDIS_TYPE: 'sentinel', REDIS_URL: `limits,${plain}`, REDIS_SENTINEL_AUTH: SECRET },
      /no sentinel knows the master .*unknown command/,
    ],
    [
      'a cluster where there is none',
      { REDIS_TYPE: 'cluster', REDIS_URL: plain },
      /cluster support disabled/,
    ],
  ];
  for (const [what, env, fault] of faults) {
    await t.test(what, async t => {
      const { opened } = await storeOfSettings(t, { ...ONCE, ...env });
      const text = await refusal(opened);
      t.match(text, fault);
      t.notMatch(text, SECRET);
    });
  }
  await t.test('a user, a password and a database in the address', async t => {
    const env = { ...ONCE, REDIS_AUTH: '', REDIS_URL: `redis://default:${SECRET}@${plain}/3` };
    const { opened } = await startedStore(t, env);
    t.same(await count(opened.store, [{ key: 'b', hits: 1 }]), [1]);
  });
  await t.test('a file with a line break at its end', async t => {
    const path = file('auth', `${SECRET}\n`);
    await startedStore(t, { ...ONCE, REDIS_AUTH: '', REDIS_AUTH_FILE: path, REDIS_URL: plain });
  });
  await t.test('what is certain works: rediss://, line breaks and spaces', async t => {
    const env = { REDIS_AUTH: `${SECRET}\n`, REDIS_TLS_CACERT: `${files.ca}\n` };
    const { opened } = await startedStore(t, { ...ONCE, ...env, REDIS_URL: ` rediss://${tls}\n` });
    t.same(await count(opened.store, [{ key: 'a', hits: 1 }]), [1]);
  });
});

t.test('Redis for tasks', async t => {
  const { plain, tls } = await startBoth(t);
  const start = async (env: Readonly<Record<string, string>>): Promise<string> => {
    const settings = loadSettings({ TASKS_STORE: 'redis', TASKS_REDIS_TIMEOUT: '500ms', ...env });
    const parts = { settings, clock: systemClock, random, logger: new KeepingLogger() };
    const store = redisTaskStore(parts, { startMs: 3_000 });
    t.teardown(() => store.stop());
    return await refusal(store);
  };
  const wrong = await start({ TASKS_REDIS_URL: `redis://:${SECRET}x@${plain}` });
  t.match(wrong, /WRONGPASS.*\(check the user and the password in TASKS_REDIS_URL: redis:/);
  t.match(await start({ TASKS_REDIS_URL: `redis://${plain}` }), /NOAUTH.*TASKS_REDIS_URL/);
  t.notMatch(wrong, SECRET);
  t.match(await start({ TASKS_REDIS_URL: tls }), /it may expect TLS; if so, set TASKS_REDIS_TLS=true/);
  t.match(
    await start({ TASKS_REDIS_URL: plain, TASKS_REDIS_TLS: 'true' }),
    /does not (seem to )?use TLS.*set TASKS_REDIS_TLS=false/,
  );
});

t.test('memcached', async t => {
  const plain = await memcachedFor(t);
  const tls = await memcachedFor(t, {
    args: ['-Z', '-o', `ssl_chain_cert=${files.cert},ssl_key=${files.key}`],
  });
  const line = async (env: Readonly<Record<string, string>>): Promise<string> => {
    const { opened, logger } = await storeOfSettings(t, env);
    Promise.resolve(opened.start()).catch(() => {});
    const text = (): string => JSON.stringify(logger.lines);
    await until(() => /TLS=/.test(text()));
    return text();
  };
  t.match(await line({ MEMCACHE_HOST_PORT: tls.address }), /it may expect TLS; if so, set MEMCACHE_TLS=true/);
  t.match(
    await line({ MEMCACHE_HOST_PORT: plain.address, MEMCACHE_TLS: 'true' }),
    /does not (seem to )?use TLS.*set MEMCACHE_TLS=false/,
  );
});

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { ClientTlsFiles } from '../../../../src/app/stores/client-tls.ts';
import { Authority, type CertificatePair } from '../../../support/certificates.ts';
import { count } from '../../../support/counting.ts';
import { freePort } from '../../../support/free-port.ts';
import { startCluster } from '../../../support/redis-cluster.ts';
import { startRedis } from '../../../support/redis-server.ts';
import { type RedisStoreOptions, redisStore, type TestEndpoint } from '../../../support/stores.ts';
import { tempDirectory } from '../../../support/temp-directory.ts';
import { trustByDefault } from '../../../support/trust.ts';

const authority = new Authority('Test CA');
const files = tempDirectory(t);

function file(name: string, content: string): string {
  const path = join(files, name);
  writeFileSync(path, content);
  return path;
}

function pairArgs(name: string, pair: CertificatePair): string[] {
  return [
    ...['--tls-cert-file', file(`${name}.crt`, pair.certificate)],
    ...['--tls-key-file', file(`${name}.key`, pair.key)],
    ...['--tls-ca-cert-file', file('ca.crt', authority.certificate)],
  ];
}

/** A Redis with this certificate, or one for these names; `host:port` of its TLS port. */
async function startTls(
  t: Test,
  shown: CertificatePair | readonly string[],
  args: readonly string[] = [],
): Promise<string> {
  const pair = 'key' in shown ? shown : authority.issue({ subject: shown[0], names: shown });
  const port = await freePort();
  const redis = await startRedis({
    args: ['--tls-port', String(port), ...pairArgs('server', pair), ...args],
  });
  t.teardown(() => redis.stop());
  return `127.0.0.1:${port}`;
}

const TRUSTING: ClientTlsFiles = {
  certificate: '',
  key: '',
  ca: file('ca.crt', authority.certificate),
  skipHostnameVerification: false,
  settings: 'KVCACHE_TLS',
};

function store(
  t: Test,
  url: string,
  tls: ClientTlsFiles | null,
  type: TestEndpoint['type'] = 'single',
  options: RedisStoreOptions = {},
) {
  const endpoint = { socketType: 'tcp', url, auth: '', type, ...(tls !== null && { tls }) } as const;
  const opened = redisStore(endpoint, { startMaxElapsedMs: 30, ...options });
  t.teardown(() => opened.stop());
  return opened;
}

t.test('counts over TLS when the file of the CA names who signed the certificate', async t => {
  const url = await startTls(t, ['127.0.0.1'], ['--tls-auth-clients', 'no']);
  const trusting = store(t, url, TRUSTING);
  await trusting.start();
  t.same(await count(trusting, [{ key: 'a', hits: 1 }]), [1]);
  await t.rejects(store(t, url, { ...TRUSTING, ca: '' }).start(), /unable to verify|self.signed/);
  await t.rejects(store(t, url, null).start(), 'and nothing is counted without TLS');
});

t.test('the name in the certificate is checked, unless that is switched off', async t => {
  const url = await startTls(t, ['elsewhere.example'], ['--tls-auth-clients', 'no']);
  await t.rejects(store(t, url, TRUSTING).start(), /does not match certificate|IP: 127\.0\.0\.1/);
  const lenient = store(t, url, { ...TRUSTING, skipHostnameVerification: true });
  await lenient.start();
  t.same(await count(lenient, [{ key: 'a', hits: 1 }]), [1]);
  const untrusting = { ...TRUSTING, ca: '', skipHostnameVerification: true };
  await t.rejects(store(t, url, untrusting).start(), /unable to verify|self.signed/, 'but who signed it is');
});

t.test('a certificate whose time is over is refused', async t => {
  const pair = authority.issue({ subject: 'old', names: ['127.0.0.1'], to: '2021-01-01' });
  const url = await startTls(t, pair, ['--tls-auth-clients', 'no']);
  await t.rejects(store(t, url, TRUSTING).start(), /expired/);
});

t.test('a variable that switches checking off for other programs is no switch here', async t => {
  const url = await startTls(t, ['127.0.0.1'], ['--tls-auth-clients', 'no']);
  t.teardown(() => {
    delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
  });
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
  await t.rejects(store(t, url, { ...TRUSTING, ca: '' }).start(), /unable to verify|self.signed/);
});

t.test('the name of the host is what a certificate must be for, and is sent along', async t => {
  const url = await startTls(t, ['localhost'], ['--tls-auth-clients', 'no']);
  const named = store(t, url.replace('127.0.0.1', 'localhost'), TRUSTING);
  await named.start();
  t.same(await count(named, [{ key: 'a', hits: 1 }]), [1]);
});

t.test('a certificate is shown to a Redis that asks for one', async t => {
  const url = await startTls(t, ['127.0.0.1'], ['--tls-auth-clients', 'yes']);
  const own = authority.issue({ subject: 'sluice', usage: ['client'] });
  const showing = store(t, url, {
    ...TRUSTING,
    certificate: file('client.crt', own.certificate),
    key: file('client.key', own.key),
  });
  await showing.start();
  t.same(await count(showing, [{ key: 'a', hits: 1 }]), [1]);
  await t.rejects(store(t, url, TRUSTING).start(), 'and without one there is no connection');
});

t.test('the nodes of a cluster are reached over TLS too', async t => {
  const pair = authority.issue({ subject: '127.0.0.1', names: ['127.0.0.1'] });
  const port = await freePort();
  const cluster = await startCluster({
    nodes: 1,
    args: [
      ...['--tls-port', String(port), '--tls-cluster', 'yes', '--tls-auth-clients', 'no'],
      ...pairArgs('node', pair),
    ],
  });
  t.teardown(() => cluster.stop());
  const clustered = store(t, `127.0.0.1:${port}`, TRUSTING, 'cluster');
  await clustered.start();
  t.same(await count(clustered, [{ key: 'a', hits: 1 }]), [1]);
});

t.test('an authority that the process trusts is trusted here, also beside a file', async t => {
  trustByDefault(t, authority.certificate);
  const url = await startTls(t, ['127.0.0.1'], ['--tls-auth-clients', 'no']);
  const stranger = file('stranger.crt', new Authority('Stranger').certificate);
  for (const ca of ['', stranger]) {
    const trusting = store(t, url, { ...TRUSTING, ca });
    await trusting.start();
    t.same((await count(trusting, [{ key: 'a', hits: 1 }])).length, 1);
  }
});

t.test('the reason of a handshake that fails names the setting that helps', async t => {
  const tls = (args: readonly string[], names = ['127.0.0.1'], to?: string) =>
    startTls(t, authority.issue({ subject: 'redis', names, ...(to !== undefined && { to }) }), args);
  const anybody = ['--tls-auth-clients', 'no'];
  const stranger = new Authority('Stranger').issue({ subject: 'stranger' });
  const asStranger = {
    certificate: file('stranger-client.crt', stranger.certificate),
    key: file('stranger-client.key', stranger.key),
  };
  const fails = (url: string, files: ClientTlsFiles, reason: RegExp, options: RedisStoreOptions = {}) =>
    t.rejects(store(t, url, files, 'single', options).start(), { message: reason });
  const open = await tls(anybody);
  await fails(open, { ...TRUSTING, ca: '' }, /set KVCACHE_TLS_CACERT to the file of its CA\)$/);
  await fails(
    await tls(anybody, ['elsewhere.example']),
    TRUSTING,
    /is for another name; .*, or set KVCACHE_TLS_SKIP_HOSTNAME_VERIFICATION=true\)$/,
  );
  await fails(await tls(anybody, ['127.0.0.1'], '2021-01-01'), TRUSTING, /expired \(.* renew it/);
  const strict = await tls(['--tls-auth-clients', 'yes']);
  await fails(strict, TRUSTING, /set KVCACHE_TLS_CLIENT_CERT and the file of its key\)$/);
  await fails(strict, { ...TRUSTING, ...asStranger }, /check KVCACHE_TLS_CLIENT_CERT\)$/);
  const old = await tls(['--tls-auth-clients', 'yes', '--tls-protocols', 'TLSv1.2']);
  await fails(old, TRUSTING, /set KVCACHE_TLS_CLIENT_CERT/);
  const plain = await startRedis();
  t.teardown(() => plain.stop());
  await fails(
    `127.0.0.1:${plain.port}`,
    TRUSTING,
    /ETIMEDOUT.* \(if the server does not use TLS, set KVCACHE_TLS=false\)$/,
    { timeoutMs: 100 },
  );
});

t.test('a file that cannot be used stops the start with its setting and its name', async t => {
  const missing = join(files, 'missing.pem');
  t.throws(() => store(t, 'h:1', { ...TRUSTING, ca: missing }), {
    message: /KVCACHE_TLS_CACERT: '.*missing\.pem' cannot be read/,
  });
  const own = authority.issue({ subject: 'sluice' });
  t.throws(
    () =>
      store(t, 'h:1', {
        ...TRUSTING,
        certificate: file('swapped.crt', own.key),
        key: file('swapped.key', own.certificate),
      }),
    { message: /KVCACHE_TLS_CLIENT_CERT: '.*swapped\.crt' must hold a certificate/ },
  );
});

import { execFileSync } from 'node:child_process';
import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import {
  readTlsFiles,
  type TlsPaths,
  type TlsTexts,
} from '../../../../../src/transports/grpc/tls/tls-files.ts';
import { checkTlsMaterial } from '../../../../../src/transports/grpc/tls/tls-material.ts';
import { Authority, selfSigned } from '../../../../support/certificates.ts';
import { tempDirectory } from '../../../../support/temp-directory.ts';

const NOW_MS = Date.parse('2025-06-01T00:00:00Z');
const PATHS: TlsPaths = { certificate: 'c.pem', key: 'k.pem', clientCa: null };
const WITH_CA: TlsPaths = { ...PATHS, clientCa: 'ca.pem' };

const root = new Authority('root');
const pair = root.issue({ subject: 'server', names: ['localhost'] });
const other = root.issue({ subject: 'other' });

function check(texts: Partial<TlsTexts>) {
  const complete = { ...pair, clientCa: null, ...texts };
  return checkTlsMaterial(complete, complete.clientCa === null ? PATHS : WITH_CA, NOW_MS);
}

/** The error of the check. It must never contain a key. */
function refusal(t: Test, texts: Partial<TlsTexts>): string {
  try {
    check(texts);
  } catch (fault) {
    const { name, message } = fault as Error;
    t.equal(name, 'TlsFault');
    for (const line of (texts.key ?? pair.key).split('\n')) {
      if (line.length > 20 && !line.startsWith('-----')) t.notOk(message.includes(line));
    }
    return message;
  }
  return '';
}

t.test('a pair is accepted, with its subject and its expiry', async t => {
  t.match(check({}), {
    subject: 'CN=server',
    validTo: 'Dec 31 00:00:00 2099 GMT',
    warnings: [],
    context: { cert: pair.certificate, ca: undefined, minVersion: 'TLSv1.2' },
  });
});

t.test('a chain is handed on whole, in its order', async t => {
  const between = new Authority('between', root);
  const leaf = between.issue({ subject: 'leaf' });
  const certificate = leaf.certificate + between.certificate;
  t.equal(check({ ...leaf, certificate }).context.cert, certificate);
});

t.test('certificate and key may share a file, among comments and blocks of other kinds', async t => {
  const parameters = '-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n';
  const both = `subject=CN = server\n${pair.certificate}key:\n${parameters}${pair.key}`;
  t.equal(check({ certificate: both, key: both }).context.cert, pair.certificate);
});

t.test('keys of the usual forms are read', async t => {
  const sec1 = createPrivateKey(pair.key).export({ type: 'sec1', format: 'pem' }).toString();
  t.match(sec1, /BEGIN EC PRIVATE KEY/);
  t.ok(check({ key: sec1 }));
  t.ok(check({ key: pair.key.replaceAll('\n', '\r\n') }), 'with line ends of Windows');
});

t.test('a certificate file without a certificate is refused with its setting and its name', async t => {
  const expected =
    /^GRPC_SERVER_TLS_CERT: 'c\.pem' holds no certificate in PEM form; it must hold a block that begins/;
  t.match(refusal(t, { certificate: '' }), expected);
  t.match(refusal(t, { certificate: pair.key }), expected);
  t.match(refusal(t, { certificate: pair.certificate.slice(0, 200) }), expected, 'half a file');
});

t.test('the error for a damaged certificate names its place in the file', async t => {
  const damaged = pair.certificate.replace(/\nM[A-Za-z]/, '\nAA');
  t.match(
    refusal(t, { certificate: pair.certificate + damaged }),
    /^GRPC_SERVER_TLS_CERT: 'c\.pem': certificate 2 of 2 is damaged \(.+\); copy the file again$/,
  );
});

t.test('a key file without a key, or with one that cannot be used, is refused', async t => {
  const none = /^GRPC_SERVER_TLS_KEY: 'k\.pem' holds no private key in PEM form; it must hold a block/;
  t.match(refusal(t, { key: '' }), none);
  t.match(refusal(t, { key: pair.certificate }), none);
  t.match(refusal(t, { key: pair.key.slice(0, 100) }), none, 'half a file');
  t.match(
    refusal(t, { key: pair.key.replace(/\nM[A-Za-z]/, '\nAA') }),
    /^GRPC_SERVER_TLS_KEY: 'k\.pem': the private key is damaged; copy the file again$/,
  );
});

t.test('a key behind a passphrase is refused with that reason', async t => {
  const cipher = { cipher: 'aes-256-cbc', passphrase: 'secret' };
  const key = createPrivateKey(pair.key);
  for (const type of ['pkcs8', 'sec1'] as const) {
    const locked = key.export({ type, format: 'pem', ...cipher }).toString();
    t.match(refusal(t, { key: locked }), /'k\.pem' is protected by a passphrase; store the key without one/);
  }
});

t.test('a key of another certificate is refused, and both files are named', async t => {
  t.equal(
    refusal(t, { key: other.key }),
    "GRPC_SERVER_TLS_KEY: the key in 'k.pem' does not belong to the first certificate in 'c.pem'; name a pair in GRPC_SERVER_TLS_KEY and GRPC_SERVER_TLS_CERT",
  );
  const chain = other.certificate + pair.certificate;
  t.match(
    refusal(t, { certificate: chain }),
    /does not belong to the first certificate/,
    'the chain upside down',
  );
});

t.test(
  'a key that is too short for TLS is refused when it is loaded, not at the first handshake',
  async t => {
    const keys = generateKeyPairSync('rsa', { modulusLength: 512 });
    const weak = root.issue({ subject: 'weak', keys });
    t.match(
      refusal(t, weak),
      /^GRPC_SERVER_TLS_CERT: TLS cannot be served with 'c\.pem' and 'k\.pem' \(.*key too small\)/,
    );
  },
);

t.test('certificates that peers will refuse are warned of, not refused', async t => {
  const expired = root.issue({ subject: 'server', to: '2025-05-31' });
  t.strictSame(check(expired).warnings, [
    "the TLS certificate in 'c.pem' (GRPC_SERVER_TLS_CERT) expired at May 31 00:00:00 2025 GMT: clients will refuse it; renew it",
  ]);
  const early = root.issue({ subject: 'server', from: '2025-06-02' });
  t.match(check(early).warnings, [/valid only from Jun {2}2 00:00:00 2025 GMT on: .*check the clock/]);
  t.equal(check(early).warnings.length, 1);
});

t.test('a client CA is handed on; without a root in it no client could ever be accepted', async t => {
  const between = new Authority('between', root);
  const clientCa = between.certificate + root.certificate;
  t.strictSame(check({ clientCa }).context.ca, [between.certificate, root.certificate]);
  t.match(check({ clientCa: selfSigned('one client').certificate }).warnings, []);
  t.equal(
    refusal(t, { clientCa: between.certificate }),
    "GRPC_CLIENT_TLS_CACERT: 'ca.pem' holds no root certificate; add the one that signed CN=between",
  );
  t.match(refusal(t, { clientCa: '' }), /^GRPC_CLIENT_TLS_CACERT: 'ca\.pem' holds no certificate/);
});

t.test('expired client CAs are warned of when no other is left', async t => {
  const gone = new Authority('gone', undefined, { to: '2025-05-31' });
  t.match(check({ clientCa: gone.certificate }).warnings, [
    /every CA certificate in 'ca\.pem' .*has expired/,
  ]);
  t.strictSame(check({ clientCa: gone.certificate + root.certificate }).warnings, []);
});

t.test('files are read as they are', async t => {
  const directory = tempDirectory(t);
  const paths = {
    certificate: join(directory, 'c'),
    key: join(directory, 'k'),
    clientCa: join(directory, 'ca'),
  };
  writeFileSync(paths.certificate, 'the certificate');
  writeFileSync(paths.key, 'the key');
  writeFileSync(paths.clientCa, '');
  const texts = { certificate: 'the certificate', key: 'the key', clientCa: '' };
  t.strictSame(await readTlsFiles(paths), texts);
  t.strictSame(await readTlsFiles({ ...paths, clientCa: null }), { ...texts, clientCa: null });
});

t.test('the error for an unreadable file has its setting, its name and what to do', async t => {
  const directory = tempDirectory(t);
  const good = join(directory, 'good');
  writeFileSync(good, '');
  const [missing, folder, large, pipe] = ['missing', 'folder', 'large', 'pipe'].map(name =>
    join(directory, name),
  );
  mkdirSync(folder);
  writeFileSync(large, Buffer.alloc(1_048_577));
  execFileSync('mkfifo', [pipe]);
  const paths = { certificate: good, key: good, clientCa: good };
  const read = (part: keyof TlsPaths, path: string) => readTlsFiles({ ...paths, [part]: path });
  await t.rejects(read('certificate', missing), {
    message: `GRPC_SERVER_TLS_CERT: '${missing}' does not exist; put the file there, or correct the setting`,
  });
  await t.rejects(read('key', folder), {
    message: `GRPC_SERVER_TLS_KEY: '${folder}' is not a regular file; name a PEM file`,
  });
  await t.rejects(read('clientCa', pipe), /^GRPC_CLIENT_TLS_CACERT: .*not a regular file/);
  await t.rejects(read('key', large), /^GRPC_SERVER_TLS_KEY: .* is larger than 1048576 bytes/);
  await t.rejects(
    read('key', join(good, 'x')),
    /cannot be read \(ENOTDIR\); let the user of this process read it/,
  );
});

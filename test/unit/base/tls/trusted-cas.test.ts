import { writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createServer, rootCertificates } from 'node:tls';
import t from 'tap';
import { trustedCas } from '../../../../src/base/tls/trusted-cas.ts';
import { Authority } from '../../../support/certificates.ts';
import { Child } from '../../../support/child-process.ts';
import { HOST_NODES } from '../../../support/host-nodes.ts';
import { tempDirectory } from '../../../support/temp-directory.ts';

const authority = new Authority('company root');
const file = join(tempDirectory(t), 'company.pem');
writeFileSync(file, authority.certificate);

const { certificate: cert, key } = authority.issue({ subject: 'server', names: ['127.0.0.1'] });
const server = createServer({ cert, key }, socket => socket.end());
server.on('tlsClientError', () => {});
await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
t.teardown(() => server.close());
const { port } = server.address() as AddressInfo;

/** Of hosts: it has no list of the system's authorities, and takes none as the default. */
const OLD_NODE = HOST_NODES[0];

const MODULE = new URL('../../../../src/base/tls/trusted-cas.js', import.meta.url);

/** What a process says that connects to the server once, with the list and once as libraries do. */
async function connecting(
  env: Readonly<Record<string, string>>,
  more = '',
  node = process.execPath,
): Promise<string> {
  const script = `
    import { connect } from 'node:tls';
    import { trustedCas, trustCasEverywhere } from ${JSON.stringify(MODULE.href)};
    const ask = (options) => new Promise(resolve => {
      const socket = connect({ host: '127.0.0.1', port: ${port}, ...options });
      socket.on('secureConnect', () => { resolve('connected'); socket.destroy(); });
      socket.on('error', failure => resolve(failure.code));
    });
    const before = await ask({ ca: trustedCas(${JSON.stringify(more)}) });
    trustCasEverywhere();
    console.log('own ' + before + ', libraries ' + await ask({}));
  `;
  const child = new Child({
    command: node,
    args: ['--input-type=module', '--eval', script],
    env: { PATH: process.env['PATH'], ...env },
  });
  return await child.line(line => (line.startsWith('own ') ? line : undefined), 20_000);
}

t.test('an authority of the system, of NODE_EXTRA_CA_CERTS or of OpenSSL is trusted', async t => {
  for (const env of [
    { SSL_CERT_FILE: file },
    { NODE_EXTRA_CA_CERTS: file },
    { SSL_CERT_FILE: file, NODE_OPTIONS: '--use-openssl-ca' },
  ]) {
    t.equal(await connecting(env), 'own connected, libraries connected', JSON.stringify(env));
  }
});

t.test('Node.js 22.13 trusts the same, except in libraries', { skip: OLD_NODE.missing }, async t => {
  const folder = tempDirectory(t);
  writeFileSync(join(folder, 'root.pem'), authority.certificate);
  const asked = (env: Record<string, string>, more?: string) => connecting(env, more, OLD_NODE.path);
  const own = 'own connected, libraries UNABLE_TO_VERIFY_LEAF_SIGNATURE';
  t.equal(await asked({ SSL_CERT_FILE: file }), own);
  t.equal(await asked({ SSL_CERT_DIR: folder }), own);
  t.equal(await asked({}, authority.certificate), own);
  t.equal(await asked({ NODE_EXTRA_CA_CERTS: file }), 'own connected, libraries connected');
  const nowhere = join(folder, 'nothing');
  const none = 'own UNABLE_TO_VERIFY_LEAF_SIGNATURE, libraries UNABLE_TO_VERIFY_LEAF_SIGNATURE';
  t.equal(await asked({ SSL_CERT_FILE: nowhere, SSL_CERT_DIR: nowhere }), none);
});

t.test('also beside the file of a setting, and none of them is needed for that file', async t => {
  const stranger = new Authority('stranger').certificate;
  const both = await connecting({ SSL_CERT_FILE: file }, stranger);
  t.equal(both, 'own connected, libraries connected');
  const alone = await connecting({}, authority.certificate);
  t.equal(alone, 'own connected, libraries UNABLE_TO_VERIFY_LEAF_SIGNATURE');
});

t.test('an authority that nothing names is not trusted', async t => {
  const refused = 'UNABLE_TO_VERIFY_LEAF_SIGNATURE';
  t.equal(await connecting({}), `own ${refused}, libraries ${refused}`);
});

t.test('the well-known authorities are among them, each once', async t => {
  const all = trustedCas(rootCertificates[0]);
  t.equal(new Set(all).size, all.length);
  for (const root of rootCertificates) if (!all.includes(root)) t.fail(root);
});

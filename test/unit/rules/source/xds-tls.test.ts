import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ServerCredentials } from '@grpc/grpc-js';
import type { Test } from 'tap';
import t from 'tap';
import type { XdsTls } from '../../../../src/rules/source/ads-stream.ts';
import { AdsServer } from '../../../support/ads-server.ts';
import { Authority } from '../../../support/certificates.ts';
import { tempDirectory } from '../../../support/temp-directory.ts';
import { trustByDefault } from '../../../support/trust.ts';
import { startXds } from './started-xds.ts';

const SERVER_CA = new Authority('server root');
const CLIENT_CA = new Authority('client root');
const STRANGER_CA = new Authority('stranger');
const CLIENT = CLIENT_CA.issue({ subject: 'client' });
const NO_TLS_FILES: XdsTls = { caFile: '', certFile: '', keyFile: '', serverName: '' };

/** A server with a certificate for `names` that asks clients for one of {@link CLIENT_CA}, if at all. */
function serve(t: Test, names: readonly string[], clients: 'any' | 'known' = 'any'): Promise<AdsServer> {
  const { certificate, key } = SERVER_CA.issue({ subject: 'server', names });
  const pair = { cert_chain: Buffer.from(certificate), private_key: Buffer.from(key) };
  const ca = Buffer.from(CLIENT_CA.certificate);
  return AdsServer.start(t, { credentials: ServerCredentials.createSsl(ca, [pair], clients === 'known') });
}

/** Writes PEM texts into files; the paths by name. */
function pemFiles<T extends Record<string, string>>(t: Test, texts: T): { readonly [K in keyof T]: string } {
  const directory = tempDirectory(t);
  const paths = Object.entries(texts).map(([name, text]) => {
    const path = join(directory, `${name}.pem`);
    writeFileSync(path, text);
    return [name, path];
  });
  return Object.fromEntries(paths);
}

const serverCa = (t: Test): { caFile: string } => pemFiles(t, { caFile: SERVER_CA.certificate });

t.test('a server whose certificate the CA file vouches for is asked', async t => {
  const ads = await serve(t, ['localhost']);
  await startXds(t, ads.address, { tls: { ...NO_TLS_FILES, ...serverCa(t) } });
  t.match(await ads.request(), { version_info: '' });
});

t.test('a server is not asked without the CA file, nor with that of another CA', async t => {
  const ads = await serve(t, ['localhost']);
  for (const files of [{}, pemFiles(t, { caFile: STRANGER_CA.certificate })]) {
    const { logger, clock } = await startXds(t, ads.address, { tls: { ...NO_TLS_FILES, ...files } });
    await clock.pass(3_000);
    t.match(logger.lines[0], {
      message: 'Could not connect to the xDS server',
      fields: { reason: /unable to verify the first.*set CONFIG_GRPC_XDS_SERVER_TLS_CACERT/s },
    });
  }
});

t.test('an authority that the process trusts is trusted, also beside the file of another CA', async t => {
  trustByDefault(t, SERVER_CA.certificate);
  for (const files of [{}, pemFiles(t, { caFile: STRANGER_CA.certificate })]) {
    const ads = await serve(t, ['localhost']);
    await startXds(t, ads.address, { tls: { ...NO_TLS_FILES, ...files } });
    t.match(await ads.request(), { version_info: '' });
  }
});

t.test('the error says that the server does not use TLS', async t => {
  const ads = await AdsServer.start(t);
  const { logger, clock } = await startXds(t, ads.address, { tls: NO_TLS_FILES });
  await clock.pass(3_000);
  t.match(logger.lines[0].fields, { reason: /set CONFIG_GRPC_XDS_SERVER_USE_TLS=false/ });
});

t.test('the error says that the server may expect TLS', async t => {
  const ads = await serve(t, ['localhost']);
  const { logger, clock } = await startXds(t, ads.address);
  await clock.pass(3_000);
  t.match(logger.lines[0].fields, {
    reason: /may expect TLS; if so, set CONFIG_GRPC_XDS_SERVER_USE_TLS=true/,
  });
});

t.test('the name to look for replaces that of the address', async t => {
  const ads = await serve(t, ['control.example']);
  const tls = { ...NO_TLS_FILES, ...serverCa(t), serverName: 'control.example' };
  await startXds(t, ads.address, { tls });
  t.match(await ads.request(), { version_info: '' });
});

t.test('an address can be the name to look for', async t => {
  const ads = await serve(t, ['10.1.2.3']);
  const tls = { ...NO_TLS_FILES, ...serverCa(t), serverName: '10.1.2.3' };
  await startXds(t, ads.address, { tls });
  t.match(await ads.request(), { version_info: '' });
});

t.test('a certificate for another name than the given one or the host is refused', async t => {
  const ads = await serve(t, ['control.example']);
  for (const serverName of ['', 'other.example', '10.1.2.3']) {
    const tls = { ...NO_TLS_FILES, ...serverCa(t), serverName };
    const { logger, clock } = await startXds(t, ads.address, { tls });
    await clock.pass(3_000);
    t.match(
      logger.lines[0]?.fields,
      { reason: /(does not match certificate|is not in the cert).*set CONFIG_GRPC_XDS_SERVER_TLS_SAN/s },
      serverName,
    );
  }
});

t.test('a client certificate is shown to a server that wants one', async t => {
  const ads = await serve(t, ['localhost'], 'known');
  const files = pemFiles(t, {
    caFile: SERVER_CA.certificate,
    certFile: CLIENT.certificate,
    keyFile: CLIENT.key,
  });
  await startXds(t, ads.address, { tls: { ...NO_TLS_FILES, ...files } });
  t.match(await ads.request(), { version_info: '' });
});

t.test('without one such a server refuses, and it is asked again', async t => {
  const ads = await serve(t, ['localhost'], 'known');
  const { clock, logger } = await startXds(t, ads.address, {
    tls: { ...NO_TLS_FILES, ...serverCa(t) },
    // With TLS 1.3 the refusal may come when the connection seems to stand.
    backoff: { initialMs: 3_000, maxMs: 3_000 },
  });
  await clock.pass(3_000);
  await clock.pass(3_000);
  t.ok(logger.lines.filter(({ fields }) => 'retryInMs' in fields).length >= 2);
});

t.test('certificates that were replaced are used by the next connection', async t => {
  const ads = await serve(t, ['localhost']);
  const files = pemFiles(t, { caFile: STRANGER_CA.certificate });
  const { clock, logger } = await startXds(t, ads.address, { tls: { ...NO_TLS_FILES, ...files } });
  await clock.pass(3_000);
  t.equal(logger.messages('error').length, 1);
  writeFileSync(files.caFile, SERVER_CA.certificate);
  void clock.pass(3_000);
  t.match(await ads.request(), { version_info: '' });
});

t.test('files that cannot be used end the start, with the setting that names them', async t => {
  const { junk, cert, key } = pemFiles(t, { junk: 'junk', cert: CLIENT.certificate, key: CLIENT.key });
  const cases: readonly (readonly [Partial<XdsTls>, RegExp])[] = [
    [
      { caFile: '/nowhere/ca.pem' },
      /^CONFIG_GRPC_XDS_SERVER_TLS_CACERT="\/nowhere\/ca.pem" cannot be read: ENOENT/,
    ],
    [{ caFile: junk }, /^CONFIG_GRPC_XDS_SERVER_TLS_CACERT=".*junk.pem" contains no PEM certificate$/],
    [{ certFile: '/nowhere/c.pem', keyFile: key }, /^CONFIG_GRPC_XDS_CLIENT_TLS_CERT=.* cannot be read/],
    [{ certFile: cert, keyFile: '/nowhere/k.pem' }, /^CONFIG_GRPC_XDS_CLIENT_TLS_KEY=.* cannot be read/],
    [{ certFile: cert, keyFile: junk }, /^CONFIG_GRPC_XDS_CLIENT_TLS_CERT=.* and .* cannot be used/],
  ];
  for (const [files, message] of cases) {
    await t.rejects(startXds(t, 'localhost:1', { tls: { ...NO_TLS_FILES, ...files } }), { message });
  }
});

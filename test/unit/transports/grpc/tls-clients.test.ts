import t from 'tap';
import { Authority, type CertificatePair, selfSigned } from '../../../support/certificates.ts';
import {
  CLIENT_CA,
  ENGINES,
  greet,
  greetOn,
  openTls,
  SERVER_CA,
  showing,
  startTlsServer,
  tlsClient,
} from './tls-setup.ts';

const PROXY = CLIENT_CA.issue({ subject: 'proxy', names: ['proxy.test'], usage: ['client'] });
const VERSIONS = ['TLSv1.3', 'TLSv1.2'] as const;

for (const [engine, makeServer] of Object.entries(ENGINES)) {
  t.test(`the engine ${engine} serves only clients with a certificate of the client CA`, async t => {
    const { server } = await startTlsServer(t, { makeServer, clientName: 'proxy.test' });
    const ask = async (shown: CertificatePair | null): Promise<number> => {
      const client = tlsClient(t, server.address as { port: number }, shown);
      const { status } = await client.unary('/s/Echo');
      client.close();
      return status;
    };
    t.equal(await ask(PROXY), 0);
    t.equal(await ask(null), 14);
    t.equal(await ask(SERVER_CA.issue({ subject: 'proxy', names: ['proxy.test'] })), 14, 'of another CA');
    t.equal(await ask(CLIENT_CA.issue({ subject: 'proxy', names: ['other.test'] })), 14, 'of another name');
    t.equal(await ask(PROXY), 0);
  });
}

t.test('a client without a certificate learns so by an alert', async t => {
  const { server, log } = await startTlsServer(t, { clientName: '' });
  t.match(await greet(server.address), { served: false, error: /alert certificate required/ });
  t.match(await greet(server.address, { maxVersion: 'TLSv1.2' }), {
    served: false,
    error: /alert handshake failure/,
  });
  t.match(await log.until(/^TLS handshake failed/, 2), [
    { level: 'debug', peer: /^127/, reason: 'peer did not return a certificate' },
    { reason: 'peer did not return a certificate' },
  ]);
});

for (const maxVersion of VERSIONS) {
  t.test(`certificates that the client CA does not vouch for are refused, with ${maxVersion}`, async t => {
    const { server, log } = await startTlsServer(t, { clientName: '' });
    const cases: readonly (readonly [string, CertificatePair])[] = [
      ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', new Authority('stranger').issue({ subject: 'proxy' })],
      ['DEPTH_ZERO_SELF_SIGNED_CERT', selfSigned('proxy.test')],
      ['CERT_HAS_EXPIRED', CLIENT_CA.issue({ subject: 'proxy', to: '2021-01-01' })],
      ['CERT_NOT_YET_VALID', CLIENT_CA.issue({ subject: 'proxy', from: '2098-01-01' })],
      ['INVALID_PURPOSE', CLIENT_CA.issue({ subject: 'proxy', usage: ['server'] })],
    ];
    for (const [index, [code, pair]] of cases.entries()) {
      t.match(await greet(server.address, { maxVersion, ...showing(pair) }), { served: false }, code);
      const lines = await log.until(/^TLS handshake failed/, index + 1);
      t.match(lines[index], { level: 'debug', peer: /^127/, reason: `client certificate: ${code}` });
    }
    for (const usage of [undefined, ['client'], ['server', 'client']] as const) {
      const pair = CLIENT_CA.issue({ subject: 'proxy', ...(usage !== undefined && { usage }) });
      t.match(await greet(server.address, { maxVersion, ...showing(pair) }), { served: true }, `${usage}`);
    }
  });
}

t.test('a client may send the intermediate CAs between its certificate and the root', async t => {
  const between = new Authority('between', CLIENT_CA);
  const leaf = between.issue({ subject: 'proxy' });
  const { server } = await startTlsServer(t, { clientName: '' });
  t.match(await greet(server.address, showing(leaf)), { served: false });
  const certificate = leaf.certificate + between.certificate;
  t.match(await greet(server.address, showing({ ...leaf, certificate })), { served: true });
});

t.test(
  'the name must be among the alternative names of the certificate, by the rules for host names',
  async t => {
    const cases: readonly (readonly [string, readonly string[], boolean])[] = [
      ['proxy.test', ['proxy.test'], true],
      ['proxy.test', ['first.test', 'proxy.test'], true],
      ['PROXY.test.', ['proxy.TEST'], true],
      ['proxy.test', ['other.test'], false],
      ['a.proxy.test', ['*.proxy.test'], true],
      ['a.b.proxy.test', ['*.proxy.test'], false],
      ['proxy.test', ['*.proxy.test'], false],
      ['proxy.edge.test', ['pr*.edge.test'], false],
      ['*.proxy.test', ['*.proxy.test'], true],
      ['10.1.2.3', ['10.1.2.3'], true],
      ['10.1.2.3', ['10.1.2.4'], false],
      ['::1', ['::1'], true],
      ['0:0:0:0:0:0:0:1', ['::1'], true],
    ];
    for (const [clientName, names, served] of cases) {
      const { server } = await startTlsServer(t, { clientName });
      const pair = CLIENT_CA.issue({ subject: 'proxy', names });
      t.match(await greet(server.address, showing(pair)), { served }, `${clientName} by ${names}`);
    }
  },
);

t.test('the common name of the subject does not count', async t => {
  const { server } = await startTlsServer(t, { clientName: 'proxy.test' });
  t.match(await greet(server.address, showing(CLIENT_CA.issue({ subject: 'proxy.test' }))), {
    served: false,
  });
});

t.test('a wrong name is warned of with the names that there are', async t => {
  const { server, log } = await startTlsServer(t, { clientName: 'proxy.test' });
  await greet(server.address, showing(CLIENT_CA.issue({ subject: 'x', names: ['a.test', '10.0.0.1'] })));
  await greet(server.address, showing(CLIENT_CA.issue({ subject: 'x' })));
  t.match(await log.until(/^TLS client rejected/, 2), [
    {
      level: 'warning',
      '@message': 'TLS client rejected: its certificate is not valid for the name in GRPC_CLIENT_TLS_SAN',
      peer: /^127\.0\.0\.1:\d+$/,
      name: 'proxy.test',
      names: 'DNS:a.test, IP Address:10.0.0.1',
    },
    { level: 'warning', names: 'none' },
  ]);
});

t.test('each connection sends its certificate again: sessions are not resumed', async t => {
  const { server } = await startTlsServer(t, { clientName: '' });
  for (const maxVersion of VERSIONS) {
    const first = openTls(server.address, { maxVersion, ...showing(PROXY) });
    const sessions: Buffer[] = [];
    first.on('session', session => sessions.push(session));
    t.match(await greetOn(first), { served: true });
    // With TLS 1.3 sessions come after the handshake; with 1.2 the session is that of the connection.
    const session = sessions.at(-1) ?? first.getSession();
    t.ok(session, 'the client has a session to resume');
    first.destroy();
    const second = openTls(server.address, { maxVersion, ...showing(PROXY), ...(session && { session }) });
    t.match(await greetOn(second), { served: true });
    t.notOk(second.isSessionReused(), maxVersion);
    second.destroy();
  }
});

import { once } from 'node:events';
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { join } from 'node:path';
import { type ConnectionOptions, connect } from 'node:tls';
import { credentials } from '@grpc/grpc-js';
import t, { type Test } from 'tap';
import { askOverGrpc, dialled, statistic } from '../support/asking.ts';
import { Authority, type CertificatePair } from '../support/certificates.ts';
import { request } from '../support/decisions.ts';
import { callOverHttp2, GrpcClient } from '../support/grpc-client.ts';
import { writeRules } from '../support/rule-files.ts';
import { ServiceProcess, serviceFor } from '../support/service.ts';
import { tempDirectory } from '../support/temp-directory.ts';
import { run } from '../unit/cli/run.ts';

/** Implementations of the server, by their settings. */
const ENGINES = [
  ['sluice', {}],
  ['grpc-js', { GRPC_SERVER_ENGINE: 'grpc-js' }],
  ['sluice in 2 threads', { SERVE_THREADS: '2' }],
] as const;
const HEALTH_CHECK = '/grpc.health.v1.Health/Check';
const RULES = 'domain: d\ndescriptors:\n  - key: a\n    rate_limit: {unit: day, requests_per_unit: 1000}\n';

const SERVER_CA = new Authority('server root');
const CLIENT_CA = new Authority('client root');
const PROXY = CLIENT_CA.issue({ subject: 'proxy', names: ['proxy.test'], usage: ['client'] });

function serverPair(subject: string, to = '2099-12-31'): CertificatePair {
  return SERVER_CA.issue({ subject, names: ['localhost'], usage: ['server'], to });
}

/** Puts a pair into a directory under the names that Kubernetes gives it. */
function write(directory: string, pair: CertificatePair): void {
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'tls.crt'), pair.certificate);
  writeFileSync(join(directory, 'tls.key'), pair.key);
}

/** The settings of a service that serves TLS with the pair in a directory. */
function settings(t: Test, directory: string): Record<string, string> {
  return {
    RUNTIME_ROOT: writeRules(tempDirectory(t), { 'config/rules.yaml': RULES }),
    GRPC_SERVER_USE_TLS: 'true',
    GRPC_SERVER_TLS_CERT: join(directory, 'tls.crt'),
    GRPC_SERVER_TLS_KEY: join(directory, 'tls.key'),
    LOG_LEVEL: 'debug',
  };
}

/** As {@link settings}, for clients with a certificate of the client CA. */
function withClientCa(t: Test, directory: string): Record<string, string> {
  const file = join(directory, 'ca.crt');
  writeFileSync(file, CLIENT_CA.certificate);
  return { ...settings(t, directory), GRPC_CLIENT_TLS_CACERT: file };
}

async function start(t: Test, env: Record<string, string>): Promise<ServiceProcess> {
  return await serviceFor(t, { env });
}

function portOf(service: ServiceProcess): number {
  const address = dialled(service.grpc);
  return 'port' in address ? address.port : 0;
}

/** A client on a connection of its own, which ends with its test. */
function client(t: Test, service: ServiceProcess, shown: CertificatePair | null = null): GrpcClient {
  const [key, certificate] =
    shown === null ? [null, null] : [Buffer.from(shown.key), Buffer.from(shown.certificate)];
  const trusting = credentials.createSsl(Buffer.from(SERVER_CA.certificate), key, certificate);
  const made = new GrpcClient({ host: 'localhost', port: portOf(service) }, trusting);
  t.teardown(() => made.close());
  return made;
}

/** The common name of the certificate that a new connection is shown. */
async function subjectOf(service: ServiceProcess): Promise<string> {
  const socket = openTls(service, {});
  await once(socket, 'secureConnect');
  const { subject } = socket.getPeerCertificate();
  socket.destroy();
  return subject.CN as string;
}

function openTls(service: ServiceProcess, options: ConnectionOptions) {
  return connect({
    host: '127.0.0.1',
    port: portOf(service),
    servername: 'localhost',
    ca: SERVER_CA.certificate,
    ALPNProtocols: ['h2'],
    ...options,
  });
}

/** Runs `sluice client` against the service. */
function runClient(service: ServiceProcess, ...flags: string[]) {
  const dial = ['-dial_string', `localhost:${portOf(service)}`];
  return run('client', ...dial, '-domain', 'd', '-descriptors', 'a=x', ...flags);
}

/** Resolves when pairs have been loaded `count` times, the one of the start included. */
async function loaded(service: ServiceProcess, count: number): Promise<void> {
  const times = () => service.logs.filter(line => line['@message'] === 'TLS files loaded').length;
  await service.logged(() => times() >= count);
}

for (const [engine, env] of ENGINES) {
  t.test(`with the engine ${engine} decisions are made over TLS, for callers of three kinds`, async t => {
    const directory = tempDirectory(t);
    const pairs = [serverPair('first'), serverPair('second', '2055-05-05'), serverPair('third')];
    write(directory, pairs[0]);
    const caFile = join(directory, 'server-ca.crt');
    writeFileSync(caFile, SERVER_CA.certificate);
    const service = await start(t, { ...settings(t, directory), LOG_LEVEL: 'trace', ...env });
    t.equal((await askOverGrpc(client(t, service), request('d', 'a=x'))).overallCode, 1);

    const standing = openTls(service, {});
    const session = connectHttp2('https://localhost', { createConnection: () => standing });
    t.equal((await callOverHttp2(session, HEALTH_CHECK))['grpc-status'], '0');

    t.match(await runClient(service, '-grpc-use-tls', '-grpc-server-ca-file', caFile), {
      status: 0,
      stdout: /OK/,
    });
    t.match(await runClient(service), { status: 2, stderr: /does it require --grpc-use-tls\?/ });
    await service.logged(line => /the client does not use TLS/.test(String(line['reason'])));

    await t.test('a changed pair serves new connections, and old ones go on', async t => {
      const expiry = 'ratelimit.certificates.grpc_server.expiry_time';
      t.equal(await statistic(service.debug, expiry), Date.parse('2099-12-31T00:00:00Z') / 1_000);
      write(directory, pairs[1]);
      await loaded(service, 2);
      t.equal(await subjectOf(service), 'second');
      t.equal(await statistic(service.debug, expiry), Date.parse('2055-05-05T00:00:00Z') / 1_000);

      rmSync(join(directory, 'tls.key'));
      await service.logged(line => /^GRPC_SERVER_TLS_KEY: .* does not exist/.test(String(line['reason'])));
      t.equal(await subjectOf(service), 'second', 'the former pair stays in use');
      const failures = await statistic(service.debug, 'certs.load_failures');
      t.ok(failures >= 1);
      t.equal(await statistic(service.debug, 'certs.load_attempts'), failures + 2);

      write(directory, pairs[2]);
      await loaded(service, 3);
      t.equal(await subjectOf(service), 'third');
      t.equal(
        (await callOverHttp2(session, HEALTH_CHECK))['grpc-status'],
        '0',
        'the first connection still stands',
      );
      t.equal(standing.getPeerCertificate().subject.CN, 'first');
      session.close();
    });

    await t.test('no key is in the log, at its most talkative', async t => {
      writeFileSync(join(directory, 'tls.key'), pairs[1].key);
      await service.logged(line => /does not belong to the first certificate/.test(String(line['reason'])));
      // A key where the certificate should be, as it happens when the settings are mixed up.
      writeFileSync(join(directory, 'tls.crt'), pairs[1].key);
      await service.logged(line => /holds no certificate/.test(String(line['reason'])));
      t.match(await service.terminate(), { status: 0 });
      for (const { key } of pairs) {
        // The first line of a PEM block is no secret: the reason why a file cannot be used may show what is missing.
        for (const line of key.split('\n').filter(each => each.length > 20 && !each.startsWith('-----')))
          t.notOk(service.output.includes(line));
      }
    });
  });

  t.test(`with the engine ${engine} only clients that prove their name are served`, async t => {
    const directory = tempDirectory(t);
    write(directory, serverPair('server'));
    const [caFile, certFile, keyFile, systemFile] = [
      'server-ca.crt',
      'proxy.crt',
      'proxy.key',
      'system.crt',
    ].map(name => join(directory, name));
    writeFileSync(caFile, SERVER_CA.certificate);
    writeFileSync(certFile, PROXY.certificate);
    writeFileSync(keyFile, PROXY.key);
    const system = new Authority('system root');
    writeFileSync(systemFile, system.certificate);
    const settings = withClientCa(t, directory);
    const service = await start(t, {
      ...settings,
      GRPC_CLIENT_TLS_SAN: 'proxy.test',
      NODE_EXTRA_CA_CERTS: systemFile,
      ...env,
    });
    const ask = async (shown: CertificatePair | null) =>
      (await client(t, service, shown).unary(HEALTH_CHECK)).status;
    t.equal(await ask(PROXY), 0);
    t.equal(await ask(null), 14);
    t.equal(await ask(SERVER_CA.issue({ subject: 'proxy', names: ['proxy.test'] })), 14);
    t.equal(await ask(CLIENT_CA.issue({ subject: 'proxy', names: ['other.test'] })), 14);
    t.match(await service.logged(line => line['name'] === 'proxy.test'), {
      level: 'warning',
      names: 'DNS:other.test',
    });

    const flags = ['-grpc-use-tls', '-grpc-server-ca-file', caFile];
    const shown = ['-grpc-cert-file', certFile, '-grpc-key-file', keyFile];
    t.match(await runClient(service, ...flags, ...shown), { status: 0, stdout: /OK/ });
    t.match(await runClient(service, ...flags), {
      status: 2,
      stderr: /The service requires a client certificate/,
    });
    const other = CLIENT_CA.issue({ subject: 'proxy', names: ['other.test'] });
    writeFileSync(certFile, other.certificate);
    writeFileSync(keyFile, other.key);
    t.match(await runClient(service, ...flags, ...shown), {
      status: 2,
      stderr: /may have rejected the client certificate .*proxy\.crt: check its CA, its names/,
    });

    await t.test(
      'a CA that the system trusts does not vouch for clients, nor one that was replaced',
      async t => {
        const stranger = system.issue({ subject: 'proxy', names: ['proxy.test'] });
        t.equal(await ask(stranger), 14);
        writeFileSync(settings['GRPC_CLIENT_TLS_CACERT'], system.certificate);
        await loaded(service, 2);
        t.equal(await ask(stranger), 0);
        t.equal(await ask(PROXY), 14);
      },
    );
  });
}

t.test('a pair in a Kubernetes volume behind a link is followed through both swaps', async t => {
  const base = tempDirectory(t);
  const volume = join(base, 'volume-1');
  write(join(volume, '..1'), serverPair('first'));
  symlinkSync('..1', join(volume, '..data'));
  for (const file of ['tls.crt', 'tls.key']) symlinkSync(`..data/${file}`, join(volume, file));
  symlinkSync('volume-1', join(base, 'tls'));
  const service = await start(t, settings(t, join(base, 'tls')));
  t.equal(await subjectOf(service), 'first');

  write(join(volume, '..2'), serverPair('second'));
  symlinkSync('..2', join(volume, '..data_tmp'));
  renameSync(join(volume, '..data_tmp'), join(volume, '..data'));
  await loaded(service, 2);
  t.equal(await subjectOf(service), 'second');

  write(join(base, 'volume-2'), serverPair('third'));
  symlinkSync('volume-2', join(base, 'tls_tmp'));
  renameSync(join(base, 'tls_tmp'), join(base, 'tls'));
  await loaded(service, 3);
  t.equal(await subjectOf(service), 'third');
});

t.test('unusable TLS files prevent the start, and the error names setting and file', async t => {
  const directory = tempDirectory(t);
  write(directory, { ...serverPair('server'), key: PROXY.key });
  const service = new ServiceProcess({ env: settings(t, directory) });
  t.match(await service.ended, { status: 2 });
  t.match(
    service.output,
    /Sluice cannot start","reason":"GRPC_SERVER_TLS_KEY: the key in '.*tls\.key' does not belong/,
  );
  t.notMatch(service.output, /server listening/);
});

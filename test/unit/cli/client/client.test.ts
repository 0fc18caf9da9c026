import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { type handleUnaryCall, Server, ServerCredentials, status } from '@grpc/grpc-js';
import t from 'tap';
import { SHOULD_RATE_LIMIT_PATH } from '../../../../src/messages/client-codec.ts';
import { selfSigned } from '../../../support/certificates.ts';
import { tempDirectory } from '../../../support/temp-directory.ts';
import { type Answer, startRateLimitServer } from '../rate-limit-server.ts';
import { type Run, run } from '../run.ts';

const OK: Answer = () => ({ overallCode: 'OK', statuses: [{ code: 'OK' }] });

const OVER_LIMIT: Answer = () => ({
  overallCode: 'OVER_LIMIT',
  statuses: [
    {
      code: 'OVER_LIMIT',
      currentLimit: { requestsPerUnit: 5, unit: 'MINUTE' },
      durationUntilReset: { seconds: 49, nanos: 250_000_000 },
    },
    {
      code: 'OK',
      currentLimit: { requestsPerUnit: 20_000, unit: 'DAY', name: 'daily' },
      limitRemaining: 19_998,
      durationUntilReset: { seconds: 3_725, nanos: 0 },
    },
    { code: 'OK', currentLimit: { requestsPerUnit: 3 }, limitRemaining: 2 },
    { code: 'OK', limitRemaining: 4_294_967_295 },
    { code: 'OK' },
  ],
  responseHeadersToAdd: [{ key: 'RateLimit-Limit', value: '5' }],
  dynamicMetadata: { fields: { tier: { stringValue: 'gold' } } },
});

const DESCRIPTORS = ['user=anna,path=/x', 'user=anna', 'job=a', 'vip=yes', 'other='].flatMap(text => [
  '-descriptors',
  text,
]);

/** Runs the client with the least that it needs. */
function ask(address: string, ...args: string[]): Promise<Run> {
  return run('client', '-dial_string', address, '-domain', 'shop', '-descriptors', 'user=anna', ...args);
}

t.test('the answer names the overall code, then each descriptor with its limit', async t => {
  const { address } = await startRateLimitServer(t, { answer: OVER_LIMIT });
  const result = await run('client', '-dial_string', address, '-domain', 'shop', ...DESCRIPTORS);
  t.same(result, {
    status: 0,
    stdout: `OVER_LIMIT
user=anna,path=/x  OVER_LIMIT  5 per minute           0 remaining      resets in 49s250ms
user=anna          OK          20000 per day (daily)  19998 remaining  resets in 1h2m5s
job=a              OK          3 at the same time     2 remaining
vip=yes            OK          unlimited
other=             OK          no limit
header RateLimit-Limit: 5
metadata {"tier":"gold"}
`,
    stderr: '',
  });
});

t.test('the service sees the domain, the descriptors in order and one hit', async t => {
  const { address, requests } = await startRateLimitServer(t, { answer: OK });
  await run('client', '--dial-string', address, '--domain=shop', ...DESCRIPTORS.slice(0, 4));
  t.same(requests, [
    {
      domain: 'shop',
      descriptors: [
        {
          entries: [
            { key: 'user', value: 'anna' },
            { key: 'path', value: '/x' },
          ],
          limit: null,
          hitsAddend: null,
          isNegativeHits: false,
        },
        { entries: [{ key: 'user', value: 'anna' }], limit: null, hitsAddend: null, isNegativeHits: false },
      ],
      hitsAddend: 1,
    },
  ]);
});

t.test('a value keeps every "=" after the first', async t => {
  const { address, requests } = await startRateLimitServer(t, { answer: OK });
  await run('client', '-dial_string', address, '-domain', 'shop', '-descriptors', 'token=a=b==,q=');
  t.match(requests, [
    {
      descriptors: [
        {
          entries: [
            { key: 'token', value: 'a=b==' },
            { key: 'q', value: '' },
          ],
        },
      ],
    },
  ]);
});

t.test('--refund gives the hits back', async t => {
  const { address, requests } = await startRateLimitServer(t, { answer: OK });
  await ask(address, '--refund', '--hits', '7');
  t.match(requests, [{ hitsAddend: 7, descriptors: [{ isNegativeHits: true }] }]);
});

t.test('--lease and --lease-action say what the call does to the lease of a holder', async t => {
  const { address, requests } = await startRateLimitServer(t, { answer: OK });
  await ask(address, '--lease', 'req-1', '--lease-action', 'settle', '--hits', '812');
  await ask(address, '--lease', 'req-2');
  // The library of this server does not know the field, and skips it.
  t.match(requests, [{ hitsAddend: 812 }, { hitsAddend: 1 }]);
  t.match(await ask(address, '--lease-action', 'settle'), {
    status: 2,
    stderr: /--lease-action needs the holder of the lease: add --lease ID\./,
  });
  t.match(await ask(address, '--lease', 'a', '--lease-action', 'free'), {
    status: 2,
    stderr: /--lease-action free is unknown. Accepted: reserve, settle, release, extend\./,
  });
});

t.test('--hits counts that many on each descriptor, also beyond 32 bits, and 0 counts nothing', async t => {
  const { address, requests } = await startRateLimitServer(t, { answer: OK });
  await ask(address, '-hits', '7');
  await ask(address, '-hits=0');
  await ask(address, '-hits', '4294967295');
  await ask(address, '-hits', '4294967296');
  t.match(requests, [
    { hitsAddend: 7, descriptors: [{ hitsAddend: null }] },
    { hitsAddend: 0, descriptors: [{ hitsAddend: { value: 0 } }] },
    { hitsAddend: 4_294_967_295, descriptors: [{ hitsAddend: null }] },
    { hitsAddend: 0, descriptors: [{ hitsAddend: { value: '4294967296' } }] },
  ]);
});

t.test('a unix socket is reached in both spellings', async t => {
  const path = join(tempDirectory(t), 'rls.sock');
  await startRateLimitServer(t, { address: `unix:${path}`, answer: OK });
  t.same(await ask(`unix:${path}`), { status: 0, stdout: 'OK\nuser=anna  OK  no limit\n', stderr: '' });
  t.match(await ask(`unix://${path}`), { status: 0 });
});

t.test('--fail-over-limit turns OVER_LIMIT into exit status 1', async t => {
  const over = await startRateLimitServer(t, { answer: OVER_LIMIT });
  t.match(await ask(over.address, '--fail-over-limit'), { status: 1, stderr: '', stdout: /^OVER_LIMIT\n/ });
  t.match(await ask(over.address, '--fail-over-limit=false'), { status: 0 });
  const ok = await startRateLimitServer(t, { answer: OK });
  t.match(await ask(ok.address, '--fail-over-limit'), { status: 0 });
});

t.test('--json prints the response as one line of proto3 JSON', async t => {
  const { address } = await startRateLimitServer(t, { answer: OVER_LIMIT });
  const { stdout } = await ask(address, '--json');
  t.equal(
    stdout,
    '{"overallCode":"OVER_LIMIT","statuses":[' +
      '{"code":"OVER_LIMIT","currentLimit":{"requestsPerUnit":5,"unit":"MINUTE"},"durationUntilReset":"49.250s"},' +
      '{"code":"OK","currentLimit":{"name":"daily","requestsPerUnit":20000,"unit":"DAY"},"limitRemaining":19998,"durationUntilReset":"3725s"},' +
      '{"code":"OK","currentLimit":{"requestsPerUnit":3},"limitRemaining":2},{"code":"OK","limitRemaining":4294967295},{"code":"OK"}],' +
      '"responseHeadersToAdd":[{"key":"RateLimit-Limit","value":"5"}],"dynamicMetadata":{"tier":"gold"}}\n',
  );
});

t.test('control characters of an answer do not reach the terminal', async t => {
  const answer: Answer = () => ({
    ...OK(null),
    responseHeadersToAdd: [{ key: 'k', value: '\u001b[2J\u009b' }],
  });
  const { address } = await startRateLimitServer(t, { answer });
  t.match(await ask(address), { stdout: 'OK\nuser=anna  OK  no limit\nheader k: \\u001b[2J\\u009b\n' });
});

t.test('an error of the service is shown with its status and text', async t => {
  const answer: Answer = () => ({ code: status.UNAVAILABLE, details: 'no rules are loaded\u0007' });
  const { address } = await startRateLimitServer(t, { answer });
  t.same(await ask(address), {
    status: 2,
    stdout: '',
    stderr: `sluice client: ${address} answered with UNAVAILABLE: no rules are loaded\\u0007\n`,
  });
});

t.test('an answer without a decision is printed and fails', async t => {
  const { address } = await startRateLimitServer(t, { answer: () => ({}) });
  t.match(await ask(address), {
    status: 2,
    stdout: 'UNKNOWN\n',
    stderr: /answered neither OK nor OVER_LIMIT/,
  });
});

t.test('an answer that is no rate limit response is refused with its place', async t => {
  const asIs = (bytes: Buffer) => bytes;
  const definition = {
    path: SHOULD_RATE_LIMIT_PATH,
    requestStream: false,
    responseStream: false,
    requestSerialize: asIs,
    requestDeserialize: asIs,
    responseSerialize: asIs,
    responseDeserialize: asIs,
  };
  const reply: handleUnaryCall<Buffer, Buffer> = (_, done) => done(null, Buffer.from([0x12, 0x7f, 0]));
  const server = new Server();
  server.addService({ reply: definition }, { reply });
  t.teardown(() => server.forceShutdown());
  const port = await new Promise<number>((resolve, reject) => {
    const insecure = ServerCredentials.createInsecure();
    server.bindAsync('localhost:0', insecure, (failure, bound) =>
      failure ? reject(failure) : resolve(bound),
    );
  });
  t.match(await ask(`localhost:${port}`), {
    status: 2,
    stdout: '',
    stderr: /answered with an invalid rate limit response: field 2 is longer than the message at byte 1/,
  });
});

t.test('a refused connection says where nobody listens and what to do', async t => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  t.same(await ask(`127.0.0.1:${port}`), {
    status: 2,
    stdout: '',
    stderr: `sluice client: no connection to 127.0.0.1:${port}: connect ECONNREFUSED 127.0.0.1:${port}. Is the service running there? Start it with "sluice serve", or give its address with --dial-string.\n`,
  });
});

t.test('a missing socket is reported like a refused connection', async t => {
  const path = join(tempDirectory(t), 'none.sock');
  t.match(await ask(`unix:${path}`), {
    status: 2,
    stderr: new RegExp(`no connection to unix:${path}: connect ENOENT .* Is the service running there\\?`),
  });
});

t.test('a service that does not answer ends the wait at --timeout', async t => {
  const { address } = await startRateLimitServer(t, { answer: () => null });
  t.match(await ask(address, '--timeout', '100ms'), {
    status: 2,
    stderr: `sluice client: no response from ${address} within 100ms. Check the log of the service, or wait longer with --timeout.\n`,
  });
});

t.test('a port that accepts connections but never answers is distinguished from a slow service', async t => {
  const server = createServer().listen(0, 'localhost');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  for (const flags of [[], ['--grpc-use-tls']]) {
    const accepted = once(server, 'connection');
    t.match(await ask(`localhost:${port}`, '--timeout=100ms', ...flags), {
      status: 2,
      stderr: `sluice client: no connection to localhost:${port} within 100ms. Is it the gRPC port of the service, and`,
    });
    const [socket] = await accepted;
    socket.resume();
    await once(socket, 'close');
  }
});

const AB = ['-domain', 'd', '-descriptors', 'a=b'];

t.test('wrong arguments are refused with the flag, the reason and the way out', async t => {
  const cases: [string[], RegExp][] = [
    [['-domain', 'd'], /--descriptors is missing: give at least one, such as --descriptors user=anna\./],
    [['-descriptors', 'a=b'], /--domain is missing/],
    [
      ['-domain', 'd', '-descriptors', 'a=b,c'],
      /--descriptors a=b,c: "c" has no "="\. Write each pair as key=value/,
    ],
    [['-domain', 'd', '-descriptors', '=b'], /"=b" has no key before its "="/],
    [
      [...AB, '-hits', '1.5'],
      /--hits=1\.5: not a whole number\. Write a whole number from 0 to 9007199254740991/,
    ],
    [[...AB, '-hits', '9007199254740992'], /--hits=9007199254740992: out of range/],
    [[...AB, '-timeout', '5'], /--timeout=5: a number without a unit\. Write a duration from 1ms to 1h/],
    [[...AB, 'c=d'], /unexpected argument "c=d"\. Give descriptors with --descriptors/],
    [[...AB, '-descriptor', 'c=d'], /unknown flag -descriptor\. Did you mean --descriptors\?/],
    [[...AB, '-grpc-cert-file', 'c.pem'], /c\.pem has no effect without --grpc-use-tls/],
    [[...AB, '-grpc-use-tls', '-grpc-cert-file', 'c.pem'], /a client certificate requires its key/],
  ];
  for (const [args, text] of cases) {
    const { status, stdout, stderr } = await run('client', ...args);
    t.same({ status, stdout }, { status: 2, stdout: '' }, args.join(' '));
    t.match(stderr, text);
    t.match(stderr, /\nSee "sluice client --help"\.\n$/);
  }
});

t.test('an address that gRPC would misread is refused before it is tried', async t => {
  for (const address of [
    'localhost',
    'http://localhost:8081',
    'localhost:99999',
    'localhost:8081/x',
    '::1:8081',
    '',
  ]) {
    t.match(await ask(address), {
      status: 2,
      stderr: `sluice client: "${address}" is not a valid address. Write --dial-string as host:port, such as localhost:8081, or as unix:/path.\n`,
    });
  }
});

/** A pair for localhost, also as files. */
function pairIn(directory: string) {
  const { certificate, key } = selfSigned('localhost');
  const [certFile, keyFile] = [join(directory, 'cert.pem'), join(directory, 'key.pem')];
  writeFileSync(certFile, certificate);
  writeFileSync(keyFile, key);
  return { certificate, key, certFile, keyFile };
}

t.test('TLS with a client certificate works where both sides know the CA', async t => {
  const { certificate, key, certFile, keyFile } = pairIn(tempDirectory(t));
  const pair = { cert_chain: Buffer.from(certificate), private_key: Buffer.from(key) };
  const credentials = ServerCredentials.createSsl(Buffer.from(certificate), [pair], true);
  const { address } = await startRateLimitServer(t, { credentials, answer: OK });

  const ca = ['-grpc-use-tls', '-grpc-server-ca-file', certFile];
  t.match(await ask(address, ...ca, '-grpc-cert-file', certFile, '-grpc-key-file', keyFile), {
    status: 0,
    stdout: /^OK\n/,
    stderr: '',
  });
  t.match(await ask(address, ...ca), {
    status: 2,
    stderr:
      /certificate required. The service requires a client certificate that it trusts: give --grpc-cert-file/,
  });
  t.match(await ask(address, '-grpc-use-tls'), {
    status: 2,
    stderr: /self-signed certificate\. .* give its CA with --grpc-server-ca-file/,
  });
  t.match(await ask(address), { status: 2, stderr: /and does it require --grpc-use-tls\?/ });
});

t.test(
  'a server that ends the connection after the handshake may want another client certificate',
  async t => {
    const { certificate, key, certFile, keyFile } = pairIn(tempDirectory(t));
    const pair = ['-grpc-cert-file', certFile, '-grpc-key-file', keyFile];
    for (const end of ['close', 'reset'] as const) {
      const server = createTlsServer({ cert: certificate, key, ALPNProtocols: ['h2'] });
      const accepted = new Set<Socket>();
      server.on('connection', socket => accepted.add(socket));
      server.on('secureConnection', socket => {
        if (end === 'close') socket.destroy();
        else for (const each of accepted) each.resetAndDestroy();
      });
      server.listen(0, 'localhost');
      await once(server, 'listening');
      t.teardown(() => server.close());
      const address = `localhost:${(server.address() as AddressInfo).port}`;
      const tls = ['-grpc-use-tls', '-grpc-server-ca-file', certFile];
      const closed = `sluice client: no connection to ${address}: the server closed it after the TLS handshake.`;
      t.equal(
        (await ask(address, ...tls)).stderr,
        `${closed} If the service requires a client certificate, give --grpc-cert-file and --grpc-key-file.\n`,
        end,
      );
      t.equal(
        (await ask(address, ...tls, ...pair)).stderr,
        `${closed} The service may have rejected the client certificate ${certFile}: check its CA, its names and when it expires.\n`,
        end,
      );
    }
  },
);

t.test('TLS files that cannot be used are named', async t => {
  const directory = tempDirectory(t);
  const { certFile } = pairIn(directory);
  const keyFile = join(directory, 'other.pem');
  writeFileSync(keyFile, selfSigned('localhost').key);
  const tls = ['-grpc-use-tls', '-grpc-cert-file', certFile, '-grpc-key-file'];
  t.match(await ask('localhost:8081', ...tls, keyFile), {
    status: 2,
    stderr: new RegExp(
      `cannot use the TLS files ${keyFile}, ${certFile} \\(.*\\): they must be PEM, and key and`,
    ),
  });
  t.match(await ask('localhost:8081', ...tls, join(directory, 'none.pem')), {
    status: 2,
    stderr: /--grpc-key-file: cannot read .*none\.pem \(ENOENT/,
  });
});

t.test('TLS to a port without TLS is distinguished from other failures', async t => {
  const { address } = await startRateLimitServer(t, { answer: OK });
  t.match(await ask(address, '--grpc-use-tls'), {
    status: 2,
    stderr: `sluice client: no connection to ${address}: wrong version number. The port does not use TLS: leave out --grpc-use-tls`,
  });
});

import { once } from 'node:events';
import {
  type ClientHttp2Session,
  connect,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  sensitiveHeaders,
} from 'node:http2';
import { Client, credentials, Metadata } from '@grpc/grpc-js';
import t, { type Test } from 'tap';
import type { HeaderField } from '../../../../src/http2/hpack/encoder.ts';
import { STATIC_ENTRIES, STATIC_NAMES, STATIC_VALUES } from '../../../../src/http2/hpack/static-table.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';
import { type RawServerOptions, type ResponseField, startRawServer } from './raw-server.ts';

const OK: ResponseField = { field: [':status', '200'], indexing: 'plain' };

/** A session of node:http2, whose HPACK is that of nghttp2; it ends with the test. */
async function openSession(
  t: Test,
  url: string,
  options: Parameters<typeof connect>[1] = {},
): Promise<ClientHttp2Session> {
  const session = connect(url, options);
  session.on('error', () => {});
  t.teardown(() => session.destroy());
  await once(session, 'connect');
  return session;
}

/** Sends a request without a body, and returns the header list of the response. */
async function responseTo(
  session: ClientHttp2Session,
  headers: OutgoingHttpHeaders,
): Promise<IncomingHttpHeaders> {
  const request = session.request(headers, { endStream: true });
  const [response] = await once(request, 'response');
  request.resume();
  return response;
}

const NAMES = [
  'accept',
  'cookie',
  'user-agent',
  'grpc-timeout',
  'authorization',
  'x-a',
  'x-b',
  'x-c',
  'x-tenant-id',
];
const PRINTABLE = [
  ...Array.from({ length: 94 }, (_, i) => 0x21 + i),
  ...Array.from({ length: 128 }, (_, i) => 0x80 + i),
];

/** Octets that HTTP lets stand in a value; often the same ones again, so that they are indexed. */
function randomValue(random: SeededRandom): string {
  if (random.below(2) === 0)
    return random.pick(['', '1', 'blue', 'application/grpc', '20m', 'x'.repeat(200)]);
  return Array.from({ length: random.below(60) }, () => String.fromCharCode(random.pick(PRINTABLE))).join('');
}

/** Fields of different names, in a random order. */
function randomFields(random: SeededRandom): HeaderField[] {
  const names = NAMES.filter(() => random.below(2) === 0).sort(() => random.next() - 0.5);
  return names.map(name => [name, randomValue(random)]);
}

const CHANGES: readonly { what: string; tableSizeAt: NonNullable<RawServerOptions['tableSizeAt']> }[] = [
  { what: 'left at 4096', tableSizeAt: () => undefined },
  { what: 'turned off', tableSizeAt: i => (i === 0 ? 0 : undefined) },
  { what: 'made small', tableSizeAt: i => (i === 5 ? 150 : undefined) },
  {
    what: 'changed again and again',
    tableSizeAt: i => (i % 3 === 0 ? [100, 0, 4096, 300, 2048][(i / 3) % 5] : undefined),
  },
];

for (const { what, tableSizeAt } of CHANGES) {
  t.test(`what nghttp2 encodes is decoded, with our table size ${what}`, async t => {
    const random = new SeededRandom(7);
    const server = await startRawServer(t, { respond: () => [OK], tableSizeAt });
    const session = await openSession(t, server.url, { maxDeflateDynamicTableSize: 65_536 });
    const sent: HeaderField[][] = [];
    for (let i = 0; i < 120; i++) {
      const pseudo: HeaderField[] = [
        [':method', random.pick(['GET', 'POST'])],
        [':path', random.pick(['/', '/index.html', '/service/Method', `/${i}`])],
        [':scheme', random.pick(['http', 'https'])],
        [':authority', 'localhost'],
      ];
      const fields = randomFields(random);
      sent.push([...pseudo, ...fields]);
      const secrets = fields.map(([name]) => name).filter(() => random.below(4) === 0);
      await responseTo(session, {
        ...Object.fromEntries([...pseudo, ...fields]),
        [sensitiveHeaders]: secrets,
      });
    }
    t.equal(server.failure(), undefined);
    t.same(server.requests, sent);
  });
}

t.test('what we encode is decoded by nghttp2, while its table size changes', async t => {
  const random = new SeededRandom(8);
  const sent: ResponseField[][] = [];
  const respond = () => {
    const fields = randomFields(random).map(field => ({
      field,
      indexing: random.pick(['index', 'index', 'plain', 'never'] as const),
    }));
    sent.push(fields);
    return [OK, ...fields];
  };
  const server = await startRawServer(t, { respond });
  const session = await openSession(t, server.url, { settings: { headerTableSize: 8192 } });
  for (let i = 0; i < 400; i++) {
    if (i % 20 === 19) session.settings({ headerTableSize: random.pick([0, 64, 200, 4096, 65_536]) });
    const { ':status': status, ...headers } = await responseTo(session, { ':path': '/' });
    t.equal(status, 200);
    t.same(
      Object.entries(headers),
      sent[i].map(({ field }) => field),
    );
    const secrets = sent[i].filter(({ indexing }) => indexing === 'never').map(({ field: [name] }) => name);
    t.same(headers[sensitiveHeaders as unknown as string], secrets, 'never indexed');
  }
  t.equal(server.failure(), undefined);
});

t.test('names and values of the static table are those of nghttp2, in both directions', async t => {
  const isForbidden = (name: string) => name.startsWith(':') || name === 'transfer-encoding';
  const fields = Array.from({ length: STATIC_ENTRIES }, (_, i): HeaderField => {
    const name = STATIC_NAMES[i + 1];
    return [name, STATIC_VALUES[i + 1] || (name === 'content-length' ? '0' : 'x')];
  }).filter(([name]) => !isForbidden(name));
  const respond = (_: unknown, i: number): ResponseField[] => [OK, { field: fields[i], indexing: 'plain' }];
  const server = await startRawServer(t, { respond });
  const session = await openSession(t, server.url);
  for (const [name, value] of fields) {
    const response = await responseTo(session, { ':path': '/', [name]: value });
    t.same([response[name]].flat(), [value], `response with ${name}`);
    t.same(server.requests.at(-1)?.at(-1), [name, value], `request with ${name}`);
  }
  t.equal(fields.length, 46);
});

t.test('statuses of the static table are those of nghttp2', async t => {
  const statuses = ['200', '204', '206', '304', '400', '404', '500'];
  const server = await startRawServer(t, {
    respond: (_, i) => [{ field: [':status', statuses[i]], indexing: 'plain' }],
  });
  const session = await openSession(t, server.url);
  for (const status of statuses)
    t.equal((await responseTo(session, { ':path': '/' }))[':status'], Number(status));
});

t.test('the fields of a call by @grpc/grpc-js arrive, and those of the answer', async t => {
  const asIs = (bytes: Buffer): Buffer => bytes;
  const server = await startRawServer(t, {
    respond: (_, i) => [
      OK,
      { field: ['content-type', 'application/grpc'], indexing: 'plain' },
      { field: ['grpc-status', '9'], indexing: 'index' },
      { field: ['grpc-message', `call ${i}`], indexing: 'index' },
    ],
  });
  const client = new Client(`127.0.0.1:${server.port}`, credentials.createInsecure());
  t.teardown(() => client.close());
  for (let i = 0; i < 10; i++) {
    const metadata = new Metadata();
    metadata.set('x-tenant', 'blue');
    metadata.set('trace-bin', Buffer.of(0, 255, i));
    const error = await new Promise<{ code: number; details: string } | null>(resolve =>
      client.makeUnaryRequest('/package.Service/Method', asIs, asIs, Buffer.alloc(3), metadata, resolve),
    );
    t.match(error, { code: 9, details: `call ${i}` });
    const fields = new Map(server.requests[i]);
    t.equal(fields.get(':path'), '/package.Service/Method');
    t.equal(fields.get('te'), 'trailers');
    t.equal(fields.get('content-type'), 'application/grpc');
    t.equal(fields.get('x-tenant'), 'blue');
    t.equal(Buffer.from(fields.get('trace-bin') ?? '', 'base64').at(-1), i);
  }
  t.equal(server.failure(), undefined);
});

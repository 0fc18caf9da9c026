import { once } from 'node:events';
import {
  type ClientHttp2Session,
  connect,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  sensitiveHeaders,
} from 'node:http2';
import { type AddressInfo, createServer } from 'node:net';
import t, { type Test } from 'tap';
import { Http2Connection } from '../../../../src/http2/connection/http2-connection.ts';
import { DEFAULT_LIMITS } from '../../../../src/http2/connection/limits.ts';
import { type HeaderField, preencode } from '../../../../src/http2/hpack/encoder.ts';
import { STATIC_ENTRIES, STATIC_NAMES, STATIC_VALUES } from '../../../../src/http2/hpack/static-table.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';
import { fieldsOf } from './blocks.ts';

const OK: HeaderField = [':status', '200'];

/** Our end of HTTP/2 on a port, which answers the request that came as number `i` with fields alone. */
async function serve(t: Test, respond: (i: number) => readonly HeaderField[]) {
  const requests: HeaderField[][] = [];
  const server = createServer({ noDelay: true }, socket => {
    const handler = {
      request(
        stream: Parameters<Http2Connection['end']>[0],
        { block }: { block: Parameters<typeof fieldsOf>[0] },
      ) {
        requests.push(fieldsOf(block));
        connection.end(stream, preencode(respond(requests.length - 1)));
      },
      data() {},
      aborted() {},
    };
    const connection = new Http2Connection(DEFAULT_LIMITS, handler, 0);
    const flush = () => {
      socket.write(Uint8Array.from(connection.output.view()));
      connection.output.reset();
    };
    flush();
    socket.on('error', () => {});
    socket.on('data', bytes => {
      connection.receive(bytes, 0);
      flush();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

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

t.test('what nghttp2 encodes is decoded', async t => {
  const random = new SeededRandom(7);
  const server = await serve(t, () => [OK]);
  const session = await openSession(t, server.url, { maxDeflateDynamicTableSize: 65_536 });
  const sent: HeaderField[][] = [];
  for (let i = 0; i < 300; i++) {
    const pseudo: HeaderField[] = [
      [':method', random.pick(['GET', 'POST'])],
      [':path', random.pick(['/', '/index.html', '/service/Method', `/${i}`])],
      [':scheme', random.pick(['http', 'https'])],
      [':authority', 'localhost'],
    ];
    const fields = randomFields(random);
    sent.push([...pseudo, ...fields]);
    const secrets = fields.map(([name]) => name).filter(() => random.below(4) === 0);
    await responseTo(session, { ...Object.fromEntries([...pseudo, ...fields]), [sensitiveHeaders]: secrets });
  }
  t.same(server.requests, sent);
});

t.test('what we encode is decoded by nghttp2, while its table size changes', async t => {
  const random = new SeededRandom(8);
  const sent = Array.from({ length: 200 }, () => randomFields(random));
  const server = await serve(t, i => [OK, ...sent[i]]);
  const session = await openSession(t, server.url, { settings: { headerTableSize: 8192 } });
  for (const [i, fields] of sent.entries()) {
    if (i % 20 === 19) session.settings({ headerTableSize: random.pick([0, 64, 200, 4096, 65_536]) });
    const { ':status': status, ...headers } = await responseTo(session, { ':path': '/' });
    t.equal(status, 200);
    t.same(Object.entries(headers), fields);
  }
});

t.test('names and values of the static table are those of nghttp2, in both directions', async t => {
  const isForbidden = (name: string) => name.startsWith(':') || name === 'transfer-encoding';
  const fields = Array.from({ length: STATIC_ENTRIES }, (_, i): HeaderField => {
    const name = STATIC_NAMES[i + 1];
    return [name, STATIC_VALUES[i + 1] || (name === 'content-length' ? '0' : 'x')];
  }).filter(([name]) => !isForbidden(name));
  const server = await serve(t, i => [OK, fields[i]]);
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
  const server = await serve(t, i => [[':status', statuses[i]]]);
  const session = await openSession(t, server.url);
  for (const status of statuses)
    t.equal((await responseTo(session, { ':path': '/' }))[':status'], Number(status));
});

import { once } from 'node:events';
import { connect } from 'node:net';
import t from 'tap';
import { decodeRateLimitResponse } from '../../src/messages/client-codec.ts';
import { dialled } from '../support/asking.ts';
import { serviceFor } from '../support/service.ts';

/** `RateLimitRequest` {domain: "demo", descriptors: [{entries: [{key: "user", value: "raw"}]}]}, byte by byte. */
const REQUEST = Buffer.from(
  [
    '0a04 64656d6f', // 1 domain: "demo"
    '120d', // 2 descriptors: 13 bytes
    '0a0b', //   1 entries: 11 bytes
    '0a04 75736572', //     1 key: "user"
    '1203 726177', //     2 value: "raw"
  ]
    .join('')
    .replaceAll(' ', ''),
  'hex',
);

const RULES =
  'domain: demo\ndescriptors:\n  - {key: user, rate_limit: {unit: minute, requests_per_unit: 5}}\n';

const HEADERS: readonly (readonly [string, string])[] = [
  [':method', 'POST'],
  [':scheme', 'http'],
  [':path', '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit'],
  [':authority', 'localhost'],
  ['content-type', 'application/grpc'],
  ['te', 'trailers'],
];

t.test('a caller that knows nothing but bytes gets a decision: HTTP/2 frames written by hand', async t => {
  const service = await serviceFor(t, { rules: RULES });
  const socket = connect({ ...dialled(service.grpc) });
  t.teardown(() => socket.destroy());
  await once(socket, 'connect');
  socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  socket.write(frame(4, 0, 0, Buffer.alloc(0)));
  socket.write(frame(1, 0x4, 1, Buffer.concat(HEADERS.map(([name, value]) => literal(name, value)))));
  const length = Buffer.alloc(5);
  length.writeUInt32BE(REQUEST.length, 1);
  socket.write(frame(0, 0x1, 1, Buffer.concat([length, REQUEST])));
  const data = await firstData(socket);
  t.equal(data[0], 0, 'the message is not compressed');
  t.equal(data.readUInt32BE(1), data.length - 5);
  t.match(decodeRateLimitResponse(data.subarray(5)), {
    overallCode: 1,
    statuses: [{ code: 1, limitRemaining: 4, currentLimit: { requestsPerUnit: 5, unit: 2 } }],
  });
});

/** A frame (RFC 9113, 4.1): length, type, flags, stream, payload. */
function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** A header field that is not indexed, its name and value as they are (RFC 7541, 6.2.2); both below 127 bytes. */
function literal(name: string, value: string): Buffer {
  return Buffer.concat([
    Buffer.from([0, name.length]),
    Buffer.from(name),
    Buffer.from([value.length]),
    Buffer.from(value),
  ]);
}

/** The payload of the first DATA frame on stream 1. */
async function firstData(socket: AsyncIterable<Buffer>): Promise<Buffer> {
  let received = Buffer.alloc(0);
  for await (const chunk of socket) {
    received = Buffer.concat([received, chunk]);
    while (received.length >= 9 && received.length >= 9 + received.readUIntBE(0, 3)) {
      const end = 9 + received.readUIntBE(0, 3);
      if (received[3] === 0 && received.readUInt32BE(5) === 1) return received.subarray(9, end);
      received = received.subarray(end);
    }
  }
  throw new Error('the connection was closed without an answer');
}

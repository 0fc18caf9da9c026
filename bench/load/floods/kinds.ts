import { gzipSync } from 'node:zlib';
import { encodeRateLimitRequest, SHOULD_RATE_LIMIT_PATH } from '../../../src/messages/client-codec.ts';
import {
  data,
  type Fields,
  FLAGS,
  fieldBlock,
  frame,
  grpcFields,
  grpcMessage,
  headers,
  PARAMETER,
  ping,
  prefixedInteger,
  priority,
  rstStream,
  settings,
  TYPE,
  windowUpdate,
} from '../../../test/support/wire-frames.ts';

/** What one kind of flooder sends. */
export interface FloodKind {
  readonly name: string;
  /** Sent once when a connection has opened. */
  readonly before?: Buffer;
  /** Frames that are repeated: with a `stream`, the requests of new streams, otherwise the same bytes. */
  readonly each: (stream: number, connection: number) => Buffer;
  /** Maximum number of open streams; 0 if the repetitions use one stream or none. */
  readonly openStreams: number;
  /** SETTINGS_INITIAL_WINDOW_SIZE of the flooder. Default: a window that never closes. */
  readonly window?: number;
  /** Reconnects after this many repetitions. Default: when the server has closed the connection. */
  readonly reconnectAfter?: number;
}

export const FLOOD_DOMAIN = 'floods';

/** The rules that the calls of the bench ask for. */
export const FLOOD_RULES = `domain: ${FLOOD_DOMAIN}
descriptors:
  - key: user
    rate_limit: {unit: hour, requests_per_unit: 4000000000}
  - key: named
    detailed_metric: true
    rate_limit: {unit: hour, requests_per_unit: 4000000000}
`;

/** A field that goes into the dynamic table (RFC 7541, 6.2.1); each octet 0xbe that follows in the block repeats it. */
const LARGE_ENTRY = Buffer.concat([
  Buffer.from([0x40]),
  Buffer.from([1]),
  Buffer.from('x'),
  prefixedInteger(3_900, 7, 0),
  Buffer.alloc(3_900, 0x61),
]);
const REPEATED = 0xbe;

const CALL = fieldBlock(grpcFields(SHOULD_RATE_LIMIT_PATH));
const GZIP_CALL = fieldBlock(grpcFields(SHOULD_RATE_LIMIT_PATH, { 'grpc-encoding': 'gzip' }));
const HEALTH_CALL = fieldBlock(grpcFields('/grpc.health.v1.Health/Check'));
const NO_METHOD = fieldBlock(grpcFields('/no.such.Service/Method'));
const NO_POST = fieldBlock(grpcFields('/', { ':method': 'GET' }));
const NO_GRPC = fieldBlock(grpcFields('/', { 'content-type': 'text/plain' }));

const OPEN = headers(1, CALL);

function request(key: string, values: readonly string[]): Buffer {
  return Buffer.from(
    encodeRateLimitRequest({
      domain: FLOOD_DOMAIN,
      descriptors: values.map(value => ({ entries: [{ key, value }], limit: null, hitsAddend: null })),
      hitsAddend: 0,
    }),
  );
}

function call(stream: number, message: Uint8Array, block: Buffer = CALL, flag = 0): Buffer {
  return Buffer.concat([headers(stream, block), inFrames(stream, grpcMessage(message, flag))]);
}

const LONGEST_FRAME = 16_384;

function inFrames(stream: number, content: Buffer): Buffer {
  const frames: Buffer[] = [];
  for (let at = 0; at < content.length; at += LONGEST_FRAME) {
    const end = Math.min(at + LONGEST_FRAME, content.length);
    frames.push(data(stream, content.subarray(at, end), end === content.length ? FLAGS.endStream : 0));
  }
  return Buffer.concat(frames);
}

const manyValues = (text: string): string[] => Array.from({ length: 4_000 }, (_, i) => `${text}${i}`);
const MANY = request('user', manyValues('u'));
const LONGEST = request('user', manyValues('u'.padEnd(1_000, 'x')));
const ONE = request('user', ['ann']);
const BOMB = gzipSync(Buffer.alloc(4_000_000));
const MANY_ZIPPED = gzipSync(MANY);
const VALUES: Fields = Array.from({ length: 60 }, (_, i) => [`x-field-${i}`, 'v'.repeat(200)]);

/** Returns a string that no other call of the run uses. */
let named = 0;
const newNames = (): string[] => manyValues(`n${(named++).toString(36)}-`);

function huffman(stream: number): Buffer {
  // `0` is five bits, 00000, in the Huffman code (RFC 7541, appendix B): octets of zeros are text of zeros.
  const value = Buffer.concat([prefixedInteger(10_000, 7, 0x80), Buffer.alloc(10_000)]);
  const field = Buffer.concat([Buffer.from([0x10, 4]), Buffer.from(`x-${(stream % 90) + 10}`), value]);
  return Buffer.concat([
    headers(stream, Buffer.concat([CALL, field])),
    data(stream, grpcMessage(ONE), FLAGS.endStream),
  ]);
}

export const FLOOD_KINDS: readonly FloodKind[] = [
  { name: 'calls', each: stream => call(stream, ONE), openStreams: 500 },
  { name: 'calls of 4000 descriptors', each: stream => call(stream, MANY), openStreams: 10 },
  { name: 'calls of 4 MB', each: stream => call(stream, LONGEST), openStreams: 1 },
  {
    name: 'calls of 4000 new metric names',
    each: stream => call(stream, request('named', newNames())),
    openStreams: 2,
  },
  {
    name: 'gzip of 4000 descriptors',
    each: stream => call(stream, MANY_ZIPPED, GZIP_CALL, 1),
    openStreams: 10,
  },
  { name: 'gzip bombs', each: stream => call(stream, BOMB, GZIP_CALL, 1), openStreams: 50 },
  { name: 'calls with the windows closed', each: stream => call(stream, MANY), openStreams: 500, window: 0 },
  { name: 'invalid protobuf', each: stream => call(stream, Buffer.alloc(40, 0xff)), openStreams: 500 },
  { name: 'health checks', each: stream => call(stream, Buffer.alloc(0), HEALTH_CALL), openStreams: 500 },
  {
    name: 'no such method',
    each: stream => headers(stream, NO_METHOD, FLAGS.endHeaders | FLAGS.endStream),
    openStreams: 500,
  },
  {
    name: '405',
    each: stream => headers(stream, NO_POST, FLAGS.endHeaders | FLAGS.endStream),
    openStreams: 500,
  },
  {
    name: '415',
    each: stream => headers(stream, NO_GRPC, FLAGS.endHeaders | FLAGS.endStream),
    openStreams: 500,
  },
  {
    name: '431',
    before: headers(1, Buffer.concat([CALL, LARGE_ENTRY]), FLAGS.endHeaders | FLAGS.endStream),
    each: stream =>
      headers(
        stream + 2,
        Buffer.concat([CALL, Buffer.alloc(16_000, REPEATED)]),
        FLAGS.endHeaders | FLAGS.endStream,
      ),
    openStreams: 500,
  },
  { name: 'headers in Huffman code', each: huffman, openStreams: 100 },
  {
    name: 'headers that change',
    each: stream =>
      headers(
        stream,
        Buffer.concat([CALL, fieldBlock(VALUES), fieldBlock([['x-n', String(stream)]])]),
        FLAGS.endHeaders | FLAGS.endStream,
      ),
    openStreams: 100,
  },
  {
    name: 'resets',
    each: stream => Buffer.concat([headers(stream, CALL), rstStream(stream)]),
    openStreams: 0,
  },
  {
    name: 'DATA after the answer',
    before: headers(1, NO_METHOD),
    each: () => data(1, Buffer.from('x')),
    openStreams: 0,
  },
  { name: 'small DATA', before: OPEN, each: () => data(1, Buffer.from([0])), openStreams: 0 },
  {
    name: 'messages octet by octet',
    each: stream =>
      Buffer.concat([
        headers(stream, CALL),
        ...Array.from(grpcMessage(Buffer.alloc(1_000)), octet => data(stream, Buffer.from([octet]))),
        data(stream, Buffer.alloc(0), FLAGS.endStream),
      ]),
    openStreams: 500,
  },
  { name: 'PING', each: () => ping(), openStreams: 0 },
  { name: 'SETTINGS', each: () => settings([PARAMETER.initialWindowSize, 65_535]), openStreams: 0 },
  { name: 'PRIORITY', each: () => priority(1), openStreams: 0 },
  { name: 'unknown frames', each: () => frame(0x77, 0, 0), openStreams: 0 },
  { name: 'WINDOW_UPDATE', before: OPEN, each: () => windowUpdate(1, 1), openStreams: 0 },
  {
    name: 'half a header section',
    each: stream => headers(stream, CALL, 0),
    openStreams: 1,
    reconnectAfter: 1,
  },
  {
    name: 'connections',
    each: stream => frame(TYPE.ping, 0, 0, Buffer.alloc(8, stream)),
    openStreams: 0,
    reconnectAfter: 1,
  },
];

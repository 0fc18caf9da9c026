import { ByteWriter } from '../../src/base/bytes.ts';
import { HpackDecoder } from '../../src/http2/hpack/decoder.ts';
import { type HeaderField, preencode } from '../../src/http2/hpack/encoder.ts';
import { HpackEncoder } from '../../test/support/hpack-encoder.ts';

/**
 * What the header blocks of gRPC callers cost, in nanoseconds a block. Run it: `node bench/part/hpack.ts`.
 *
 * The blocks are those of grpc-go, whose encoder puts every field into its dynamic table: the first block of a
 * connection is all literals, the later ones are all references, but for a deadline that is never twice the same.
 */

const ROUNDS = 25;
const BLOCKS_A_ROUND = 20_000;

const LIMITS = { maxTableSize: 4096, maxListBytes: 8192, maxFields: 100 };

const CALL: readonly HeaderField[] = [
  [':method', 'POST'],
  [':scheme', 'http'],
  [':path', '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit'],
  [':authority', 'ratelimit:8081'],
  ['content-type', 'application/grpc'],
  ['user-agent', 'grpc-go/1.70.0'],
  ['te', 'trailers'],
];

/** The deadline of call `i`, as grpc-go writes what is left of half a second. */
function withDeadline(i: number): readonly HeaderField[] {
  return [...CALL, ['grpc-timeout', `${499_000 + ((i * 7919) % 997)}u`]];
}

/** The blocks of `count` calls on one connection, one behind the other. */
interface Stream {
  readonly bytes: Uint8Array;
  /** Block `i` is `bytes[ends[i - 1], ends[i])`. */
  readonly ends: readonly number[];
}

function encodeCalls(count: number, fieldsOf: (i: number) => readonly HeaderField[]): Stream {
  const encoder = new HpackEncoder({ maxTableSize: 4096 });
  const to = new ByteWriter();
  const ends: number[] = [];
  for (let i = 0; i < count; i++) {
    encoder.startBlock(to);
    for (const [name, value] of fieldsOf(i)) encoder.field(to, name, value, 'index');
    ends.push(to.length);
  }
  return { bytes: to.take(), ends };
}

/** Kept, so that no work can be optimised away. */
let sink = 0;

function decodeAll({ bytes, ends }: Stream, decoder: HpackDecoder): void {
  let start = 0;
  for (const end of ends) {
    sink += decoder.decode(bytes, start, end).listBytes;
    start = end;
  }
}

/** The median over the rounds of nanoseconds a block. */
function measure(round: () => void): number {
  const times: number[] = [];
  for (let i = 0; i < ROUNDS; i++) {
    const began = process.hrtime.bigint();
    round();
    times.push(Number(process.hrtime.bigint() - began) / BLOCKS_A_ROUND);
  }
  return times.sort((a, b) => a - b)[ROUNDS >> 1];
}

const same = encodeCalls(BLOCKS_A_ROUND, () => CALL);
const changing = encodeCalls(BLOCKS_A_ROUND, withDeadline);
const first = encodeCalls(1, withDeadline);
const response: readonly HeaderField[] = [
  [':status', '200'],
  ['content-type', 'application/grpc'],
];
const prepared = preencode(response);
const to = new ByteWriter();

const SCENARIOS: Readonly<Record<string, () => void>> = {
  'decode: the same block again': () => decodeAll(same, new HpackDecoder(LIMITS)),
  'decode: a changing grpc-timeout': () => decodeAll(changing, new HpackDecoder(LIMITS)),
  'decode: first block of a connection, all literals': () => {
    for (let i = 0; i < BLOCKS_A_ROUND; i++) decodeAll(first, new HpackDecoder(LIMITS));
  },
  'encode: a pre-encoded response': () => {
    for (let i = 0; i < BLOCKS_A_ROUND; i++) {
      to.reset();
      to.copy(prepared, 0, prepared.length);
      sink += to.length;
    }
  },
  'encode: the same response each time': () => {
    for (let i = 0; i < BLOCKS_A_ROUND; i++) sink += preencode(response).length;
  },
};

console.log('ns a block (median)');
for (const [name, round] of Object.entries(SCENARIOS))
  console.log(`${name.padEnd(52)} ${measure(round).toFixed(0).padStart(6)}`);
if (sink === 0) throw new Error('nothing was measured');

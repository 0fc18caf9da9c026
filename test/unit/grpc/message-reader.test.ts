import { gzipSync } from 'node:zlib';
import t from 'tap';
import { HeldBytes } from '../../../src/grpc/limits.ts';
import {
  FREE_RATIO,
  Inflater,
  type MessageFault,
  MessageReader,
  wholeMessage,
} from '../../../src/grpc/message-reader.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { SeededRandom } from '../../support/seeded-random.ts';

const MAX = 100_000;
const BOMB = gzipSync(Buffer.alloc(MAX));
/** What a bomb is charged. */
const CHARGE = MAX - FREE_RATIO * BOMB.length;

function inflaterWith(burst: number, perSecond = 0) {
  const clock = new ManualClock(0);
  const terms = { burst, perSecond, perRequest: 0 };
  return { clock, inflater: new Inflater({ maxMessageBytes: MAX, terms }, clock) };
}

t.test('a message is inflated, up to the limit', async t => {
  const { inflater } = inflaterWith(10 * MAX);
  t.strictSame(Buffer.from(inflater.inflate(gzipSync('abc')) as Uint8Array), Buffer.from('abc'));
  t.equal((inflater.inflate(BOMB) as Uint8Array).length, MAX);
  t.equal(inflater.inflate(gzipSync(Buffer.alloc(MAX + 1))), 'too large');
  t.equal(inflater.inflate(Buffer.from('not gzip')), 'not gzip');
});

t.test('messages that are much larger than their compressed size are paid for by time', async t => {
  const { inflater, clock } = inflaterWith(3 * MAX, CHARGE);
  for (let i = 0; i < 3; i++) t.type(inflater.inflate(BOMB), Buffer);
  t.equal(inflater.inflate(BOMB), 'too much inflated');
  clock.advance(1_000);
  t.type(inflater.inflate(BOMB), Buffer, 'a second brings one more');
  t.equal(inflater.inflate(BOMB), 'too much inflated');
});

t.test('when the budget is spent, ordinary messages still come through', async t => {
  const { inflater } = inflaterWith(MAX);
  inflater.inflate(BOMB);
  t.equal(inflater.inflate(BOMB), 'too much inflated');
  t.strictSame(Buffer.from(inflater.inflate(gzipSync('abc')) as Uint8Array), Buffer.from('abc'));
  t.strictSame(Buffer.from(inflater.inflate(gzipSync('')) as Uint8Array), Buffer.from(''));
  t.equal(inflater.inflate(gzipSync(Buffer.alloc(2_000))), 'too much inflated');
});

for (const [name, bomb, outcome] of [
  ['beyond the limit', gzipSync(Buffer.alloc(10 * MAX)), 'too large'],
  ['with a wrong checksum', Buffer.concat([BOMB.subarray(0, -8), Buffer.alloc(8)]), 'not gzip'],
] as const) {
  t.test(`a bomb ${name} is charged as well`, async t => {
    const { inflater } = inflaterWith(2 * MAX);
    t.equal(inflater.inflate(bomb), outcome);
    t.equal(inflater.inflate(bomb), outcome);
    t.equal(inflater.inflate(BOMB), 'too much inflated');
  });
}

t.test('ordinary messages cost nothing, however many come', async t => {
  const { inflater } = inflaterWith(MAX);
  const message = gzipSync(JSON.stringify({ domain: 'shop', key: 'user', value: 'x'.repeat(200) }));
  for (let i = 0; i < 2_000; i++) t.ok((inflater.inflate(message) as Uint8Array).length > 200);
});

const MAX_BYTES = 100_000;

function messageOf(length: number): Buffer {
  const message = Buffer.alloc(length);
  for (let i = 0; i < length; i++) message[i] = i * 31;
  return message;
}

/** A message with its prefix. */
function framed(message: Uint8Array, flag = 0): Buffer {
  const prefix = Buffer.alloc(5);
  prefix[0] = flag;
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

function reading(maxBytes = MAX_BYTES, room = 1_000_000) {
  const held = new HeldBytes(room);
  return { held, reader: new MessageReader(maxBytes, held) };
}

/** Appends in pieces; returns the first fault. */
function appendPieces(reader: MessageReader, bytes: Uint8Array, sizeOf: () => number): MessageFault | null {
  for (let at = 0; at < bytes.length; ) {
    const end = Math.min(at + sizeOf(), bytes.length);
    const fault = reader.append(bytes, at, end);
    if (fault !== null) return fault;
    at = end;
  }
  return null;
}

t.test('a message comes together from single octets', async t => {
  for (const length of [0, 1, 5, 1_023, 1_024, 1_025, 5_000]) {
    const { reader } = reading();
    t.equal(
      appendPieces(reader, framed(messageOf(length)), () => 1),
      null,
    );
    t.strictSame(Buffer.from(reader.finish() as Uint8Array), messageOf(length), `${length} octets`);
  }
});

t.test('a message comes together from pieces of any size', async t => {
  const random = new SeededRandom(7);
  for (let round = 0; round < 200; round++) {
    const message = messageOf(random.below(20_000));
    const { reader, held } = reading();
    const fault = appendPieces(reader, framed(message), () => 1 + random.below(7_000));
    t.equal(fault, null);
    t.ok(message.equals(reader.finish() as Uint8Array), `round ${round}`);
    reader.dispose();
    t.equal(held.held, 0);
  }
});

t.test('pieces may stand anywhere in a buffer', async t => {
  const { reader } = reading();
  const bytes = Buffer.concat([Buffer.from('before'), framed(messageOf(10)), Buffer.from('behind')]);
  t.equal(reader.append(bytes, 6, 6 + 15), null);
  t.strictSame(Buffer.from(reader.finish() as Uint8Array), messageOf(10));
});

t.test('what is missing is known once the prefix is there', async t => {
  const { reader } = reading();
  const bytes = framed(messageOf(100));
  reader.append(bytes, 0, 4);
  t.equal(reader.missing, 0);
  reader.append(bytes, 4, 5);
  t.equal(reader.missing, 100);
  reader.append(bytes, 5, 65);
  t.equal(reader.missing, 40);
});

t.test('content that is not exactly one message is refused with its cause', async t => {
  const cases: [string, Uint8Array, MessageFault][] = [
    ['nothing', Buffer.alloc(0), 'none'],
    ['part of a prefix', Buffer.alloc(4), 'incomplete'],
    ['a prefix without its message', framed(messageOf(3)).subarray(0, 5), 'incomplete'],
    ['part of a message', framed(messageOf(3)).subarray(0, 7), 'incomplete'],
    ['a compressed message', framed(messageOf(3), 1), 'compressed'],
    ['an unknown flag', framed(messageOf(3), 2), 'bad flag'],
    ['two messages', Buffer.concat([framed(messageOf(3)), framed(messageOf(3))]), 'more than one'],
    ['an octet behind the message', Buffer.concat([framed(messageOf(3)), Buffer.alloc(1)]), 'more than one'],
    ['a message that is too large', framed(messageOf(MAX_BYTES + 1)), 'too large'],
    ['the largest length there is', Buffer.from([0, 255, 255, 255, 255]), 'too large'],
  ];
  for (const [name, bytes, expected] of cases) {
    for (const size of [1, bytes.length || 1]) {
      const { reader } = reading();
      t.equal(
        appendPieces(reader, bytes, () => size) ?? reader.finish(),
        expected,
        `${name}, ${size} at a time`,
      );
    }
  }
});

t.test('a message of exactly the limit is accepted', async t => {
  const { reader } = reading(100);
  t.equal(
    appendPieces(reader, framed(messageOf(100)), () => 30),
    null,
  );
  t.equal((reader.finish() as Uint8Array).length, 100);
});

t.test('an announced length takes no room; what has come does, and never more than the message', async t => {
  const { reader, held } = reading();
  const bytes = framed(messageOf(50_000));
  reader.append(bytes, 0, 5);
  t.equal(held.held, 0);
  reader.append(bytes, 5, 6);
  t.equal(held.held, 1_024);
  reader.append(bytes, 6, 40_000);
  t.ok(held.held >= 39_995 && held.held <= 50_000, `${held.held} for 39 995 octets`);
  reader.append(bytes, 40_000, bytes.length);
  t.equal(held.held, 50_000);
});

t.test('without room the message is refused, and what it had is given back', async t => {
  const { reader, held } = reading(MAX_BYTES, 20_000);
  const fault = appendPieces(reader, framed(messageOf(50_000)), () => 1_000);
  t.equal(fault, 'no room');
  t.ok(held.held > 0 && held.held <= 20_000);
  reader.dispose();
  t.equal(held.held, 0);
  reader.dispose();
  t.equal(held.held, 0, 'giving back twice is harmless');
});

t.test('the message outlives its reader', async t => {
  const { reader } = reading();
  appendPieces(reader, framed(messageOf(2_000)), () => 100);
  const message = reader.finish() as Uint8Array;
  reader.dispose();
  t.strictSame(Buffer.from(message), messageOf(2_000));
});

t.test('exactly one whole message is recognised without a reader', async t => {
  const message = framed(messageOf(7));
  const within = Buffer.concat([Buffer.from([9, 9]), message, Buffer.from([9])]);
  t.ok(wholeMessage(message, 0, message.length));
  t.ok(wholeMessage(within, 2, 2 + message.length));
  t.ok(wholeMessage(framed(Buffer.alloc(0)), 0, 5));
  t.notOk(wholeMessage(message, 0, message.length - 1), 'shorter');
  t.notOk(wholeMessage(within, 2, within.length), 'longer');
  t.notOk(wholeMessage(message, 0, 4), 'less than a prefix');
  t.notOk(wholeMessage(framed(messageOf(7), 1), 0, 12), 'compressed');
  t.notOk(wholeMessage(Buffer.from([0, 255, 255, 255, 255]), 0, 5), 'a length beyond 2^31');
});

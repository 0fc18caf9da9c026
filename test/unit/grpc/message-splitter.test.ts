import { gzipSync } from 'node:zlib';
import t from 'tap';
import { HeldBytes } from '../../../src/grpc/limits.ts';
import { Inflater, type MessageFault } from '../../../src/grpc/message-reader.ts';
import { MessageSplitter } from '../../../src/grpc/message-splitter.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { SeededRandom } from '../../support/seeded-random.ts';
import { grpcMessage } from '../../support/wire-frames.ts';

const MAX_BYTES = 100_000;
const COMPRESSED = 1;

interface Splitting {
  readonly splitter: MessageSplitter;
  readonly held: HeldBytes;
  /** The messages that were passed on. */
  readonly messages: string[];
  /** The work that each counted. */
  readonly work: number[];
  /** Appends content in pieces, each in memory that is overwritten afterwards. */
  append(content: Uint8Array, pieceBytes?: () => number): MessageFault | null;
}

/** @param wanted number of messages after which no more are wanted */
function splitting({
  isGzip = false,
  maxHeld = 1_000_000,
  wanted = Number.POSITIVE_INFINITY,
} = {}): Splitting {
  const terms = { burst: 1_000_000, perSecond: 0, perRequest: 0 };
  const inflater = new Inflater({ maxMessageBytes: MAX_BYTES, terms }, new ManualClock(0));
  const held = new HeldBytes(maxHeld);
  const messages: string[] = [];
  const work: number[] = [];
  const splitter = new MessageSplitter(MAX_BYTES, held, isGzip ? inflater : null, (message, counted) => {
    work.push(counted);
    return messages.push(Buffer.from(message).toString()) < wanted;
  });
  const append = (content: Uint8Array, pieceBytes = () => content.length): MessageFault | null => {
    for (let at = 0; at < content.length; ) {
      const piece = Buffer.from(content.subarray(at, at + pieceBytes()));
      const fault = splitter.append(piece, 0, piece.length);
      if (fault !== null) return fault;
      at += piece.length;
      piece.fill(0xaa);
    }
    return null;
  };
  return { splitter, held, messages, work, append };
}

/** Messages of many lengths: empty ones, and ones that need several pieces. */
function someMessages(count: number): string[] {
  const random = new SeededRandom(3);
  return Array.from({ length: count }, (_, i) =>
    String(i % 10).repeat(random.below(i % 7 === 0 ? 3_000 : 12)),
  );
}

t.test('messages come out whole and in order, however their bytes are cut', async t => {
  const expected = someMessages(300);
  const random = new SeededRandom(5);
  const cuts = [
    () => 1,
    () => 5,
    () => 6,
    () => 1 + random.below(20),
    () => 1 + random.below(5_000),
    () => 1e6,
  ];
  for (const [name, isGzip] of [
    ['plain', false],
    ['compressed', true],
  ] as const) {
    const content = Buffer.concat(
      expected.map((text, i) =>
        isGzip && i % 2 === 0 ? grpcMessage(gzipSync(text), COMPRESSED) : grpcMessage(text),
      ),
    );
    for (const [i, pieceBytes] of cuts.entries()) {
      const { splitter, held, messages, append } = splitting({ isGzip });
      t.equal(append(content, pieceBytes), null);
      t.strictSame(messages, expected, `${name}, cut ${i}`);
      t.notOk(splitter.isIncomplete);
      t.not(splitter.finish(), 'incomplete');
      t.equal(held.held, 0);
    }
  }
});

t.test('what is wrong is told where it is met, after the messages before it', async t => {
  const cases: readonly (readonly [string, Uint8Array, MessageFault])[] = [
    ['compressed without an encoding', grpcMessage(gzipSync('b'), COMPRESSED), 'compressed'],
    ['an unknown flag', grpcMessage('b', 2), 'bad flag'],
    ['too large', grpcMessage(Buffer.alloc(MAX_BYTES + 1)).subarray(0, 5), 'too large'],
  ];
  for (const [name, wrong, expected] of cases) {
    for (const pieceBytes of [1, 1_000]) {
      const { messages, append } = splitting();
      const content = Buffer.concat([grpcMessage('a'), wrong, grpcMessage('c')]);
      t.equal(
        append(content, () => pieceBytes),
        expected,
        `${name}, ${pieceBytes} at a time`,
      );
      t.strictSame(messages, ['a'], name);
    }
  }
  const { append } = splitting({ isGzip: true });
  t.equal(append(grpcMessage('no gzip', COMPRESSED)), 'not gzip');
});

t.test('a message of the limit is accepted', async t => {
  const { messages, append } = splitting();
  t.equal(append(grpcMessage(Buffer.alloc(MAX_BYTES, 'x'))), null);
  t.equal(messages[0].length, MAX_BYTES);
});

t.test('what an incomplete message lacks is known, and only it takes memory', async t => {
  const { splitter, held, append } = splitting();
  append(Buffer.concat([grpcMessage('whole'), grpcMessage(Buffer.alloc(5_000)).subarray(0, 3)]));
  t.ok(splitter.isIncomplete);
  t.strictSame([splitter.missing, splitter.finish(), held.held], [0, 'incomplete', 0], 'not known yet');
  append(grpcMessage(Buffer.alloc(5_000)).subarray(3, 1_005));
  t.equal(splitter.missing, 4_000);
  t.ok(held.held >= 1_000 && held.held <= 5_000, `${held.held} bytes`);
  append(Buffer.alloc(4_000));
  t.strictSame([splitter.isIncomplete, splitter.missing, held.held], [false, 0, 0]);
});

t.test('an incomplete message for which there is no room is refused, and its memory is freed', async t => {
  const { splitter, held, append } = splitting({ maxHeld: 2_000 });
  t.equal(
    append(grpcMessage(Buffer.alloc(50_000)).subarray(0, 40_000), () => 500),
    'no room',
  );
  splitter.dispose();
  t.equal(held.held, 0);
});

t.test('no message is passed on that is not wanted any more', async t => {
  for (const isGzip of [false, true]) {
    const message = isGzip ? grpcMessage(gzipSync('a'), COMPRESSED) : grpcMessage('a');
    const { messages, append } = splitting({ isGzip, wanted: 2 });
    t.equal(append(Buffer.concat([message, message, message])), null);
    t.strictSame(messages, ['a', 'a']);
  }
});

t.test('every message counts as work, more so if it was joined or inflated', async t => {
  const { work, append } = splitting({ isGzip: true });
  append(Buffer.concat([grpcMessage(), grpcMessage('x'.repeat(500)), grpcMessage(gzipSync(''), COMPRESSED)]));
  t.strictSame(work, [64, 64, 256]);
  append(grpcMessage('x'.repeat(500)), () => 300);
  t.equal(work[3], 500);
});

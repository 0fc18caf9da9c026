import t from 'tap';
import { ByteWriter } from '../../../../src/base/bytes.ts';
import { DEFAULT_WINDOW, SendQueue, Window } from '../../../../src/http2/streams/stream.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';

const LARGEST = 0x7fff_ffff;

t.test('every window starts with 65,535 octets (RFC 9113, 6.9.2)', async t => {
  t.equal(DEFAULT_WINDOW, 65_535);
});

t.test('a window goes below zero and comes back (RFC 9113, 6.9.2)', async t => {
  const window = new Window(100);
  window.consume(80);
  t.equal(window.widen(60 - 100), true, 'the initial size became 60');
  t.equal(window.available, -20);
  t.equal(window.widen(21), true);
  t.equal(window.available, 1);
});

t.test('a window takes what brings it to 2^31 - 1, and not one octet more (RFC 9113, 6.9.1)', async t => {
  const window = new Window(65_535);
  t.equal(window.widen(LARGEST - 65_535 + 1), false);
  t.equal(window.available, 65_535, 'as it was');
  t.equal(window.widen(LARGEST - 65_535), true);
  t.equal(window.available, LARGEST);
  t.equal(window.widen(1), false);
});

t.test('a window below zero may be widened by 2^31 - 1 (RFC 9113, 6.9.1)', async t => {
  const window = new Window(0);
  window.consume(5);
  t.equal(window.widen(LARGEST), true);
  t.equal(window.available, LARGEST - 5);
});

t.test('what was appended comes out in order, in parts of any size', async t => {
  const random = new SeededRandom(7);
  const queue = new SendQueue();
  const [given, sent] = [new ByteWriter(), new ByteWriter()];
  for (let turn = 0; turn < 3_000; turn++) {
    const source = Uint8Array.from({ length: random.below(200) }, () => random.below(256));
    const start = random.below(source.length + 1);
    given.copy(source, start, source.length);
    queue.append(source, start, source.length);
    queue.moveTo(sent, random.below(queue.size + 1));
    if (sent.length + queue.size !== given.length) t.fail(`bytes were lost in turn ${turn}`);
  }
  queue.moveTo(sent, queue.size);
  t.equal(queue.size, 0);
  t.ok(Buffer.from(sent.view()).equals(given.view()));
});

t.test('it copies: what was appended may be overwritten', async t => {
  const queue = new SendQueue();
  const source = Buffer.from('abc');
  queue.append(source, 0, 3);
  source.fill(0);
  const to = new ByteWriter();
  queue.moveTo(to, 3);
  t.equal(Buffer.from(to.view()).toString(), 'abc');
});

t.test('the memory of what has left is given back, also while some is left', async t => {
  const queue = new SendQueue();
  queue.append(Buffer.alloc(1_000_000), 0, 1_000_000);
  const to = new ByteWriter();
  while (queue.size > 1) {
    queue.moveTo(to, Math.min(1_000, queue.size - 1));
    if (queue.capacity > Math.max(4 * queue.size, 8_192)) t.fail(`${queue.capacity} bytes for ${queue.size}`);
    to.reset();
  }
  t.ok(queue.capacity <= 8_192, `${queue.capacity} bytes for one`);
});

t.test('nothing is left of it once it is cleared', async t => {
  const queue = new SendQueue();
  queue.append(Buffer.alloc(100_000), 0, 100_000);
  queue.clear();
  t.equal(queue.size, 0);
  queue.append(Buffer.from('new'), 0, 3);
  const to = new ByteWriter();
  queue.moveTo(to, 3);
  t.equal(Buffer.from(to.view()).toString(), 'new');
});

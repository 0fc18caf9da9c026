import { gzipSync } from 'node:zlib';
import t from 'tap';
import { FREE_RATIO, Inflater } from '../../../src/grpc/inflater.ts';
import { ManualClock } from '../../support/manual-clock.ts';

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

import t from 'tap';
import { OverLimitCache } from '../../../src/decision/over-limit-cache.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const key = (text: string): [Uint8Array, number, number] => [Buffer.from(text), 0, Buffer.byteLength(text)];

t.test('a key is known until its window ends', async t => {
  const clock = new ManualClock(1_000);
  const cache = new OverLimitCache(1, clock);
  t.notOk(cache.has(...key('a')));
  cache.add(...key('a'), 10);
  t.ok(cache.has(...key('a')));
  clock.advance(9_999);
  t.ok(cache.has(...key('a')));
  clock.advance(2);
  t.notOk(cache.has(...key('a')));
  t.match(cache, { hits: 2, misses: 2, expired: 1, evicted: 0 });
});

t.test('keys that differ only in bytes beyond ASCII are different keys', async t => {
  const cache = new OverLimitCache(1, new ManualClock(0));
  cache.add(...key('ä'), 10);
  t.notOk(cache.has(...key('ö')));
});

t.test('its size in bytes is a bound: the least recently asked keys go', async t => {
  const cache = new OverLimitCache(524_288, new ManualClock(0));
  cache.add(...key('kept'), 60);
  for (let i = 0; i < 5_000; i++) {
    cache.add(...key(`${'x'.repeat(100)}${i}`), 60);
    if (i % 100 === 0) cache.has(...key('kept'));
  }
  t.ok(cache.size < 524_288 / 200, `${cache.size} entries`);
  t.ok(cache.evicted > 0);
  t.ok(cache.has(...key('kept')));
});

t.test('a key larger than the whole cache is not kept', async t => {
  const cache = new OverLimitCache(1, new ManualClock(0));
  cache.add(...key('x'.repeat(600_000)), 60);
  t.equal(cache.size, 0);
});

t.test(
  'an entry that is pushed out counts as expired once its window has ended, else as evicted',
  async t => {
    const clock = new ManualClock(0);
    const cache = new OverLimitCache(524_288, clock);
    const fill = (name: string): void => {
      for (let i = 0; i < 5_000; i++) cache.add(...key(`${name}${'x'.repeat(100)}${i}`), 60);
    };
    fill('a');
    const { evicted } = cache;
    t.ok(evicted > 0);
    t.equal(cache.expired, 0);
    const held = cache.size;
    clock.advance(60_000);
    fill('b');
    t.equal(cache.expired, held);
    t.equal(cache.evicted, 2 * evicted);
  },
);

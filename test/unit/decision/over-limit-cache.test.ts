import t from 'tap';
import { CounterTable } from '../../../src/counters/embedded/counter-table.ts';
import { EmbeddedCounterStore } from '../../../src/counters/embedded/embedded-store.ts';
import { RefundMarks } from '../../../src/counters/refund-marks.ts';
import type { CounterStore } from '../../../src/counters/store.ts';
import { OverLimitCache } from '../../../src/decision/over-limit-cache.ts';
import type { RateLimitRequest } from '../../../src/messages/client-codec.ts';
import { Decisions, refund, request } from '../../support/decisions.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { until } from '../../support/until.ts';

const key = (text: string): [Uint8Array, number, number] => [Buffer.from(text), 0, Buffer.byteLength(text)];

/** Remembers a key as over its limit; what was known of refunds is from now. */
function add(cache: OverLimitCache, text: string, secondsLeft: number, word = 0): void {
  const [bytes, start, end] = key(text);
  cache.add(bytes, { start, end }, secondsLeft, { word, mark: cache.marks.of(word) });
}

t.test('a key is known until its window ends', async t => {
  const clock = new ManualClock(1_000);
  const cache = new OverLimitCache(1, clock);
  t.notOk(cache.has(...key('a')));
  add(cache, 'a', 10);
  t.ok(cache.has(...key('a')));
  clock.advance(9_999);
  t.ok(cache.has(...key('a')));
  clock.advance(2);
  t.notOk(cache.has(...key('a')));
  t.match(cache, { hits: 2, misses: 2, expired: 1, evicted: 0 });
});

t.test('keys that differ only in bytes beyond ASCII are different keys', async t => {
  const cache = new OverLimitCache(1, new ManualClock(0));
  add(cache, 'ä', 10);
  t.notOk(cache.has(...key('ö')));
});

t.test('its size in bytes is a bound: the least recently asked keys go', async t => {
  const cache = new OverLimitCache(524_288, new ManualClock(0));
  add(cache, 'kept', 60);
  for (let i = 0; i < 5_000; i++) {
    add(cache, `${'x'.repeat(100)}${i}`, 60);
    if (i % 100 === 0) cache.has(...key('kept'));
  }
  t.ok(cache.size < 524_288 / 200, `${cache.size} entries`);
  t.ok(cache.evicted > 0);
  t.ok(cache.has(...key('kept')));
});

t.test('a key larger than the whole cache is not kept', async t => {
  const cache = new OverLimitCache(1, new ManualClock(0));
  add(cache, 'x'.repeat(600_000), 60);
  t.equal(cache.size, 0);
});

t.test(
  'an entry that is pushed out counts as expired once its window has ended, else as evicted',
  async t => {
    const clock = new ManualClock(0);
    const cache = new OverLimitCache(524_288, clock);
    const fill = (name: string): void => {
      for (let i = 0; i < 5_000; i++) add(cache, `${name}${'x'.repeat(100)}${i}`, 60);
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

t.test('a refund makes what is known of its key worthless, in every cache that shares the marks', async t => {
  const clock = new ManualClock(0);
  const mine = new OverLimitCache(1, clock);
  const theirs = new OverLimitCache(1, clock, new RefundMarks(mine.marks.buffer));
  for (const cache of [mine, theirs]) {
    add(cache, 'a', 10, 7);
    add(cache, 'b', 10, 8);
  }
  mine.marks.refunded(7);
  for (const cache of [mine, theirs]) {
    t.notOk(cache.has(...key('a')));
    t.ok(cache.has(...key('b')), 'a key of another bucket');
    add(cache, 'a', 10, 7);
    t.ok(cache.has(...key('a')), 'over its limit after the refund as well');
  }
});

t.test('a count from before a refund that arrives after it is not remembered', async t => {
  const cache = new OverLimitCache(1, new ManualClock(0));
  const mark = cache.marks.of(7);
  cache.marks.refunded(7);
  const [bytes, start, end] = key('a');
  cache.add(bytes, { start, end }, 10, { word: 7, mark });
  t.notOk(cache.has(bytes, start, end));
});

t.test('a key found over its limit while its refund is on the way is asked for again after it', async t => {
  const waiting: (() => void)[] = [];
  const memory = new EmbeddedCounterStore(CounterTable.create(1_024));
  const store: CounterStore = {
    name: 'slow',
    increment: batch =>
      new Promise(resolve => {
        waiting.push(() => resolve(memory.increment(batch)));
      }),
    incrementHoldingBack: batch => memory.incrementHoldingBack(batch),
    start: () => memory.start(),
    stop: () => memory.stop(),
  };
  const rules = 'domain: d\ndescriptors: [{ key: k, rate_limit: { unit: hour, requests_per_unit: 10 } }]';
  const decisions = new Decisions({ store, rules, localCacheBytes: 1 });
  const asked = async (ask: RateLimitRequest) => {
    const calls = waiting.length;
    const answer = decisions.ask(ask);
    await until(() => waiting.length > calls);
    return { count: waiting[calls], answer };
  };
  const full = await asked({ ...request('d', 'k=v'), hitsAddend: 10 });
  full.count();
  await full.answer;
  const refunding = await asked(refund('d', 4, 'k=v'));
  const over = await asked(request('d', 'k=v'));
  over.count();
  t.match(await over.answer, { overallCode: 2 });
  refunding.count();
  t.match(await refunding.answer, { statuses: [{ limitRemaining: 3 }] });
  const after = await asked(request('d', 'k=v'));
  after.count();
  t.match(await after.answer, { overallCode: 1, statuses: [{ limitRemaining: 2 }] });
});

t.test(
  'while refunds of other processes are missed the cache is not used, and old entries are worthless afterwards',
  async t => {
    const cache = new OverLimitCache(1, new ManualClock(0));
    add(cache, 'a', 10);
    cache.marks.feedDown();
    t.notOk(cache.has(...key('a')));
    add(cache, 'b', 10);
    cache.marks.feedUp();
    t.notOk(cache.has(...key('a')));
    t.notOk(cache.has(...key('b')));
    add(cache, 'a', 10);
    t.ok(cache.has(...key('a')));
  },
);

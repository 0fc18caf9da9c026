import t from 'tap';
import { RefundMarks } from '../../../src/counters/refund-marks.ts';
import type { CounterStore } from '../../../src/counters/store.ts';
import { OverLimitCache } from '../../../src/decision/over-limit-cache.ts';
import type { RateLimitRequest } from '../../../src/messages/client-codec.ts';
import { Decisions, refund, request } from '../../support/decisions.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { embeddedStore } from '../../support/stores.ts';
import { until } from '../../support/until.ts';

const key = (text: string) => [Buffer.from(text), { start: 0, end: Buffer.byteLength(text) }] as const;

const LIMIT = { requests: 5, most: 5 };

/** A cache with a clock of its own. */
class Cache {
  readonly clock = new ManualClock(1_000);
  readonly cache: OverLimitCache;

  constructor(sizeBytes: number, marks = new RefundMarks()) {
    this.cache = new OverLimitCache(sizeBytes, this.clock, marks);
  }

  /** Until when a key is known to be over a limit; 0 if it is not. */
  until(text: string, nowMs = this.clock.nowMs(), limit = LIMIT): number {
    return this.cache.find(...key(text), limit, nowMs)?.endMs ?? 0;
  }

  /** Whether a key is known to be over its limit. */
  has(text: string, limit = LIMIT): boolean {
    return this.until(text, this.clock.nowMs(), limit) > 0;
  }

  /** Remembers a key as over its limit; what is known of refunds is from now unless given. */
  add(text: string, secondsLeft: number, { word = 0, mark = this.cache.marks.of(word) } = {}): void {
    const sinceMs = this.clock.nowMs();
    const endMs = sinceMs + secondsLeft * 1_000;
    this.cache.add(...key(text), { sinceMs, endMs, fitsMs: endMs, word, mark, ...LIMIT });
  }
}

t.test('a key is known until a moment, which does not belong to it', async t => {
  const known = new Cache(1);
  t.notOk(known.has('a'));
  known.add('a', 10);
  t.ok(known.has('a'));
  known.clock.advance(9_999);
  t.ok(known.has('a'));
  t.equal(known.until('a'), 11_000);
  known.clock.advance(1);
  t.notOk(known.has('a'));
  known.clock.advance(1);
  t.notOk(known.has('a'));
  t.match(known.cache, { hits: 3, misses: 3, expired: 1, evicted: 0 });
});

t.test('a key is known neither after its moment nor before it was found, whatever the clock', async t => {
  const known = new Cache(1);
  known.clock.advance(60_000);
  known.add('a', 10);
  t.notOk(known.until('a', 60_999), 'the clock was set back');
  t.ok(known.until('a', 61_000));
  t.notOk(known.until('a', 71_000));
  t.ok(known.has('a'));
});

t.test('a key that stopped to be over its limit while the store was asked is not remembered', async t => {
  const known = new Cache(1);
  known.cache.add(...key('a'), {
    sinceMs: 0,
    endMs: 1_000,
    fitsMs: 1_000,
    word: 0,
    mark: known.cache.marks.of(0),
    ...LIMIT,
  });
  t.equal(known.cache.size, 0);
});

t.test('what is known belongs to the limit that the key exceeds', async t => {
  const known = new Cache(1);
  known.add('a', 10);
  t.notOk(known.has('a', { requests: 6, most: 5 }), 'another rate');
  t.notOk(known.has('a', { requests: 5, most: 6 }), 'another burst');
  t.ok(known.has('a'), 'the limit that was changed back');
});

t.test('keys that differ only in bytes beyond ASCII are different keys', async t => {
  const known = new Cache(1);
  known.add('ä', 10);
  t.notOk(known.has('ö'));
});

t.test('its size in bytes is a bound: the least recently asked keys go', async t => {
  const known = new Cache(524_288);
  known.add('kept', 60);
  for (let i = 0; i < 5_000; i++) {
    known.add(`${'x'.repeat(100)}${i}`, 60);
    if (i % 100 === 0) known.has('kept');
  }
  t.ok(known.cache.size < 524_288 / 200, `${known.cache.size} entries`);
  t.ok(known.cache.evicted > 0);
  t.ok(known.has('kept'));
});

t.test('a key larger than the whole cache is not kept', async t => {
  const known = new Cache(1);
  known.add('x'.repeat(600_000), 60);
  t.equal(known.cache.size, 0);
});

t.test('an entry that is pushed out is expired once its window has ended, else evicted', async t => {
  const known = new Cache(524_288);
  const fill = (name: string): void => {
    for (let i = 0; i < 5_000; i++) known.add(`${name}${'x'.repeat(100)}${i}`, 60);
  };
  fill('a');
  const { evicted } = known.cache;
  t.ok(evicted > 0);
  t.equal(known.cache.expired, 0);
  const held = known.cache.size;
  known.clock.advance(60_000);
  fill('b');
  t.equal(known.cache.expired, held);
  t.equal(known.cache.evicted, 2 * evicted);
});

t.test('a refund makes what is known of its key worthless, in every cache that shares the marks', async t => {
  const mine = new Cache(1);
  const theirs = new Cache(1, new RefundMarks(mine.cache.marks.buffer));
  for (const known of [mine, theirs]) {
    known.add('a', 10, { word: 7 });
    known.add('b', 10, { word: 8 });
  }
  mine.cache.marks.refunded(7);
  for (const known of [mine, theirs]) {
    t.notOk(known.has('a'));
    t.ok(known.has('b'), 'a key of another bucket');
    known.add('a', 10, { word: 7 });
    t.ok(known.has('a'), 'over its limit after the refund as well');
  }
});

t.test('a count from before a refund that arrives after it is not remembered', async t => {
  const known = new Cache(1);
  const mark = known.cache.marks.of(7);
  known.cache.marks.refunded(7);
  known.add('a', 10, { word: 7, mark });
  t.notOk(known.has('a'));
});

t.test('a key found over its limit while its refund is on the way is asked for again after it', async t => {
  const waiting: (() => void)[] = [];
  const memory = embeddedStore();
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

t.test('while refunds of others are missed, the cache is not used, and its entries are lost', async t => {
  const known = new Cache(1);
  known.add('a', 10);
  known.cache.marks.feedDown();
  t.notOk(known.has('a'));
  known.add('b', 10);
  known.cache.marks.feedUp();
  t.notOk(known.has('a'));
  t.notOk(known.has('b'));
  known.add('a', 10);
  t.ok(known.has('a'));
});

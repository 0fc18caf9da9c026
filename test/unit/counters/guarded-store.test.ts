import t from 'tap';
import { Outage, OutageLog } from '../../../src/base/outage-log.ts';
import { GuardedStore } from '../../../src/counters/guarded-store.ts';
import type { CounterStore } from '../../../src/counters/store.ts';
import { StatsRegistry } from '../../../src/stats/registry.ts';
import { counterStoreExam } from '../../exam/counter-store.ts';
import { admit, atMs, slidingWindow, tokenBucket } from '../../support/admission.ts';
import { aftersOf, batchOf, count, countHoldingBack, fill, NOON } from '../../support/counting.ts';
import { FailingStore } from '../../support/failing-store.ts';
import { KeepingLogger } from '../../support/keeping-logger.ts';
import { callsFor, reserving } from '../../support/leases.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { SeededRandom } from '../../support/seeded-random.ts';
import { embeddedStore, TEST_FINGERPRINT_KEY } from '../../support/stores.ts';

const memory = () => embeddedStore(16_384);

const TEXTS = {
  level: 'warning',
  began: 'it is unavailable',
  over: 'it is available again',
  fields: {},
} as const;

/** A guarded store over one that can be made to fail; `local` counts meanwhile. */
function guard({ local = memory() as CounterStore | null } = {}) {
  const store = new FailingStore(memory());
  const stats = new StatsRegistry();
  const clock = new ManualClock(NOON.nowS * 1_000);
  const logger = new KeepingLogger();
  const guarded = new GuardedStore({
    store,
    local,
    outage: new Outage(TEXTS, new OutageLog({ clock, logger }), clock),
    fingerprintKey: TEST_FINGERPRINT_KEY,
    keyPrefix: 'prefix_',
    counters: { storeError: stats.counter('errors'), outages: stats.counter('outages') },
    clock,
    logger,
  });
  const total = (name: string) => new Map(stats.counters()).get(name);
  return { store, guarded, clock, logger, total };
}

/** Lets the probe that is due ask, and its answer arrive. */
async function probed(clock: ManualClock): Promise<void> {
  clock.advance(1_000);
  await new Promise(resolve => setImmediate(resolve));
}

const ONE = [{ key: 'a', hits: 1 }];

t.test('while its store counts, it is that store', t => {
  counterStoreExam(t, async () => guard().guarded);
  t.end();
});

t.test('while its store fails, it is the local one', t => {
  const open = async () => {
    const { store, guarded } = guard();
    store.failure = 'away';
    await count(guarded, [{ key: 'the first to fail', hits: 1 }]);
    return guarded;
  };
  counterStoreExam(t, open, { leases: 'replicas that count on their own would multiply the limit' });
  t.end();
});

t.test('keys that its store cannot count are counted in the local one', async t => {
  const { store, guarded } = guard();
  for (const key of ['k1', 'k4', 'k7']) store.uncountable.add(key);
  const random = new SeededRandom(5);
  const counts = new Map<string, number>();
  for (let round = 0; round < 100; round++) {
    const ops = Array.from({ length: random.below(20) }, () => ({
      key: `k${random.below(10)}`,
      hits: random.below(5),
      isRefund: random.below(3) === 0,
    }));
    const expected = ops.map(({ key, hits, isRefund }) => {
      counts.set(key, Math.max((counts.get(key) ?? 0) + (isRefund ? -hits : hits), 0));
      return counts.get(key);
    });
    t.same(await count(guarded, ops), expected, `round ${round}`);
  }
  t.equal(guarded.reason, null, 'the store itself has not failed');
  store.uncountable.add('k2');
  const held = await countHoldingBack(guarded, [{ ops: [{ key: 'k2', hits: 2, limit: 3 }] }]);
  t.same(held, { afters: [2], held: [false] });
});

t.test('a batch says which of its keys were counted in the local store', async t => {
  const { store, guarded } = guard();
  const batch = batchOf([]);
  const elsewhere = async () => {
    fill(batch, [{ ops: [...ONE, { key: 'b', hits: 1 }] }, { ops: [{ key: 'b', hits: 1 }, ...ONE] }]);
    await guarded.increment(batch);
    return [0, 1, 2, 3].map(op => batch.isCountedElsewhere(op));
  };
  t.same(await elsewhere(), [false, false, false, false]);
  store.uncountable.add('a');
  t.same(await elsewhere(), [true, false, false, true]);
  store.uncountable.clear();
  store.uncountable.add('b');
  t.same(await elsewhere(), [false, true, true, false], 'not those of an earlier batch');
  store.failure = 'away';
  t.same(await elsewhere(), [true, true, true, true], 'all, while the whole store fails');
});

t.test('a store that failed on refunds alone is probed with a key of its own', async t => {
  const { store, guarded, clock } = guard();
  store.failure = 'away';
  await count(guarded, [{ key: 'a', hits: 1, isRefund: true }]);
  await probed(clock);
  t.same(store.asked, [['a'], ['prefix_sluice_store_probe']]);
});

t.test('counts begin at 0 with the failure, and go on as before when the store is back', async t => {
  const { store, guarded, clock } = guard();
  t.same(await count(guarded, [{ key: 'a', hits: 5 }]), [5]);
  store.failure = 'away';
  t.same(await count(guarded, [{ key: 'a', hits: 2 }]), [2], 'the batch that fails is counted locally');
  t.same(await count(guarded, ONE), [3]);
  store.failure = null;
  t.same(await count(guarded, ONE), [4], 'until it is known to be back');
  await probed(clock);
  t.same(await count(guarded, ONE), [6], 'what was counted locally is not added to the store');
  store.failure = 'away again';
  t.same(await count(guarded, ONE), [5], 'a second failure in one window goes on with the local counts');
});

t.test('a store that fails is only probed: with 0 hits for a few keys of the batch that failed', async t => {
  const { store, guarded, clock } = guard();
  store.failure = 'away';
  await count(
    guarded,
    Array.from({ length: 20 }, (_, i) => ({ key: `k${i}`, hits: 1 })),
  );
  for (let i = 0; i < 50; i++) await count(guarded, ONE);
  t.equal(store.asked.length, 1, 'no batch asks again');
  for (let i = 0; i < 3; i++) await probed(clock);
  t.same(
    store.asked.slice(1),
    Array.from({ length: 3 }, () => Array.from({ length: 8 }, (_, i) => `k${i}`)),
  );
  store.failure = null;
  await probed(clock);
  t.same(await count(guarded, [{ key: 'k0', hits: 0 }]), [0], 'asking has counted nothing');
  t.equal(clock.pending, 0, 'nothing is asked any more');
});

t.test('it comes back when any of those keys can be counted', async t => {
  const { store, guarded, clock } = guard();
  store.failure = 'away';
  await count(guarded, [{ key: 'bad', hits: 1 }, ...ONE]);
  store.failure = null;
  store.uncountable.add('bad').add('a');
  await probed(clock);
  t.equal(guarded.reason, 'away');
  store.uncountable.delete('a');
  await probed(clock);
  t.equal(guarded.reason, null);
});

t.test('each change is reported once, and every call that the store did not decide is counted', async t => {
  const { store, guarded, clock, logger, total } = guard();
  await count(guarded, ONE);
  store.failure = 'Redis at r:6379 is not connected';
  const batch = () => batchOf([{ ops: ONE }, { ops: [] }, { ops: [...ONE, { key: 'b', hits: 1 }] }]);
  await Promise.all([guarded.increment(batch()), guarded.increment(batch())]);
  await guarded.increment(batch());
  t.equal(total('errors'), 6, 'two calls of each batch have something to count');
  t.equal(total('outages'), 1);
  store.failure = null;
  clock.advance(9_000);
  await new Promise(resolve => setImmediate(resolve));
  t.match(logger.lines, [
    {
      level: 'warning',
      message: 'it is unavailable',
      fields: { reason: 'Redis at r:6379 is not connected' },
    },
    { level: 'warning', message: 'it is available again', fields: { seconds: 9, failedCalls: 6 } },
  ]);
  store.uncountable.add('b');
  await guarded.increment(batch());
  t.equal(total('errors'), 7, 'of a batch that fails in part, the calls with such a key');
});

t.test('without a local store the keys are left without a count, with the reason', async t => {
  const { store, guarded, clock } = guard({ local: null });
  store.failure = 'away';
  for (const counting of ['increment', 'incrementHoldingBack'] as const) {
    const batch = batchOf([{ ops: [...ONE, { key: 'b', hits: 2 }] }]);
    await guarded[counting](batch);
    t.same(aftersOf(batch), [Number.NaN, Number.NaN]);
    t.equal(batch.failureText, 'away');
  }
  store.failure = null;
  await probed(clock);
  store.uncountable.add('b');
  const batch = batchOf([{ ops: [...ONE, { key: 'b', hits: 2 }] }]);
  await guarded.increment(batch);
  t.same(aftersOf(batch), [1, Number.NaN]);
});

t.test('requests hold each other back in the local store too', async t => {
  const { store, guarded } = guard();
  store.failure = 'away';
  const group = {
    ops: [
      { key: 'a', hits: 1, limit: 1 },
      { key: 'b', hits: 1, limit: 9 },
    ],
  };
  t.same(await countHoldingBack(guarded, [group, group]), {
    afters: [1, 1, 2, 1],
    held: [false, false, false, true],
  });
});

t.test('counts are read where they are counted', async t => {
  const { store, guarded, clock } = guard();
  const read = async (from = guarded) => {
    const batch = batchOf([{ ops: [{ key: 'a', hits: 0 }] }]);
    await from.read(batch);
    return batch.counts[0];
  };
  await count(guarded, [{ key: 'a', hits: 5 }]);
  t.equal(await read(), 5);
  store.failure = 'away';
  await count(guarded, ONE);
  t.equal(await read(), 1);
  store.failure = null;
  await probed(clock);
  t.equal(await read(), 5);

  const lone = guard({ local: null });
  lone.store.failure = 'away';
  await lone.guarded.increment(batchOf([{ ops: ONE }]));
  t.same(await read(lone.guarded), Number.NaN);
});

t.test('leases of a store that fails can be neither listed nor previewed', async t => {
  const { store, guarded } = guard();
  const batch = batchOf([{ ops: [callsFor('tokens', reserving(9))('a').op(1)] }]);
  store.leases = async () => [{ count: 0, listed: [] }];
  t.same(await guarded.leases(batch, 1), [{ count: 0, listed: [] }]);
  await t.rejects(guarded.preview(batch), { message: 'the failing store cannot be previewed' });
  store.failure = 'away';
  await count(guarded, ONE);
  await t.rejects(guarded.leases(batch, 1), { code: 'store_failed', message: 'away' });
  await t.rejects(guarded.preview(batch), { code: 'store_failed', message: 'away' });
});

t.test('a failure that is no failure of the store is passed on', async t => {
  const { guarded, store } = guard();
  store.increment = () => Promise.reject(new TypeError('a defect'));
  await t.rejects(count(guarded, ONE), { message: 'a defect' });
  t.equal(guarded.reason, null);
});

t.test('a start waits five seconds for the store, and begins without it then', async t => {
  const { store, guarded, clock, logger } = guard();
  const starting = Promise.withResolvers<void>();
  store.starting = starting.promise;
  store.failure = 'not connected yet';
  const started = guarded.start();
  clock.advance(5_000);
  await started;
  t.match(logger.messages('warning'), ['it is unavailable']);
  t.same(await count(guarded, ONE), [1]);
  starting.resolve();
  store.failure = null;
  await probed(clock);
  t.same(store.asked, [['prefix_sluice_store_probe']], 'asked with a key that nobody counts');
  t.equal(guarded.reason, null);
});

t.test('a store that gives up within that time fails the start; later it is started again', async t => {
  const early = guard();
  early.store.starting = Promise.reject(new Error('no such host'));
  await t.rejects(early.guarded.start(), { message: 'no such host' });
  t.equal(early.clock.pending, 0);

  const late = guard();
  const first = Promise.withResolvers<void>();
  late.store.starting = first.promise;
  late.store.failure = 'not connected';
  const started = late.guarded.start();
  late.clock.advance(5_000);
  await started;
  first.reject(new Error('gave up'));
  await new Promise(resolve => setImmediate(resolve));
  t.match(late.logger.lines.at(-1), { level: 'debug', fields: { reason: 'gave up' } });
  late.store.starting = Promise.resolve();
  late.clock.advance(5_000);
  t.equal(late.store.starts, 2);
});

t.test('after a stop nothing is asked any more', async t => {
  const { store, guarded, clock } = guard();
  store.failure = 'away';
  await count(guarded, ONE);
  await guarded.stop();
  clock.advance(60_000);
  t.equal(store.asked.length, 1);
  t.equal(clock.pending, 0);
});

t.test('while its store fails and nobody counts in its place, no count can be read', async t => {
  const { store, guarded } = guard({ local: null });
  await count(guarded, ONE);
  const batch = batchOf([{ ops: ONE }]);
  await guarded.read(batch);
  t.same(batch.counts[0], 1);
  store.failure = 'away';
  await count(guarded, ONE);
  await guarded.read(batch);
  t.same(batch.counts[0], Number.NaN);
});

const BUCKET = tokenBucket(10, 10);
const WINDOW = slidingWindow(10, 10);
const both = (hits: number) => [
  { key: 'b', hits, terms: BUCKET },
  { key: 'w', hits, terms: WINDOW },
];

t.test('windows and buckets that its store cannot count are counted in the local one', async t => {
  const { store, guarded } = guard();
  store.uncountable.add('b').add('w');
  await admit(guarded, both(8), atMs(0));
  const batch = batchOf([{ ops: [...ONE, ...both(9)] }], atMs(15_000));
  await guarded.increment(batch);
  t.same(aftersOf(batch), [1, 9_000, 4]);
  t.same([...batch.opRefused.subarray(0, 3)], [0, 0, 1]);
  const slot = batch.opSlots[2];
  t.same([batch.admissions.floors[slot], batch.admissions.previous[slot]], [4, 8]);
});

t.test('a store that failed on windows and buckets is asked for them, and nothing is taken', async t => {
  const { store, guarded, clock } = guard();
  await admit(guarded, both(10), atMs(0));
  store.failure = 'away';
  t.match(
    await admit(guarded, both(10), atMs(0)),
    { refused: [false, false] },
    'the local counts are unused',
  );
  store.failure = null;
  await probed(clock);
  t.same(store.asked.at(-1), ['b', 'w']);
  t.equal(guarded.reason, null);
  t.match(await admit(guarded, both(0), atMs(0)), { afters: [10_000, 10], refused: [true, true] });
});

t.test('without a local store, requests without a level are not refused', async t => {
  const { store, guarded } = guard({ local: null });
  store.failure = 'away';
  t.same(await admit(guarded, both(11), atMs(0)), {
    afters: [Number.NaN, Number.NaN],
    refused: [false, false],
    held: [false, false],
  });
});

t.test('leases are not counted locally, nor is anything else of their requests', async t => {
  const tokens = callsFor('tokens', reserving(10));
  const groups = [
    { ops: [tokens('a').op(3), { key: 'beside', hits: 1 }] },
    { ops: [{ key: 'alone', hits: 1 }] },
  ];
  const decide = async (guarded: CounterStore) => {
    const batch = batchOf(groups);
    await guarded.incrementHoldingBack(batch);
    return { afters: aftersOf(batch), failure: batch.failureText };
  };
  t.test('while the whole store fails', async t => {
    const { store, guarded, total } = guard();
    store.failure = 'away';
    for (const times of [1, 2]) {
      t.same(await decide(guarded), { afters: [Number.NaN, Number.NaN, times], failure: 'away' });
    }
    t.equal(total('errors'), 4, 'requests');
  });
  t.test('while a part of it fails', async t => {
    const { store, guarded, total } = guard();
    for (const key of ['tokens', 'beside', 'alone']) store.uncountable.add(key);
    t.same(await decide(guarded), { afters: [Number.NaN, Number.NaN, 1], failure: 'uncountable' });
    t.equal(total('errors'), 2, 'requests');
    store.uncountable.delete('tokens');
    t.same((await decide(guarded)).afters, [3, 1, 2], 'the lease is counted, and what is beside it locally');
  });
  t.test('and a level that only the store knows is unknown', async t => {
    const { store, guarded } = guard();
    store.failure = 'away';
    await decide(guarded);
    const batch = batchOf(groups);
    await guarded.read(batch);
    t.same([...batch.counts.subarray(0, 3)], [Number.NaN, 0, 1]);
  });
});

t.test('a store that has failed with leases only is probed with another key', async t => {
  const { store, guarded, clock } = guard();
  store.failure = 'away';
  await guarded.incrementHoldingBack(batchOf([{ ops: [callsFor('tokens', reserving(10))('a').op(3)] }]));
  store.failure = null;
  await probed(clock);
  t.same(store.asked.at(-1), ['prefix_sluice_store_probe']);
  t.equal(guarded.reason, null);
});

import type { Test } from 'tap';
import { NEVER_FULL } from '../../src/counters/batch.ts';
import type { CounterStore } from '../../src/counters/store.ts';
import { admit, admitHoldingBack, atMs, slidingWindow, tokenBucket } from '../support/admission.ts';
import { batchOf, type TestOp } from '../support/counting.ts';
import type { SeededRandom } from '../support/seeded-random.ts';
import { equalsTheModel } from './counter-as-model.ts';

type Open = (t: Test) => Promise<CounterStore>;

/** How every counter store that can admit requests does so. `open` gives a started, empty store. */
export function admissionExam(t: Test, open: Open): void {
  admitsWhatFits(t, open);
  takesRefunds(t, open);
  movesWithTime(t, open);
  holdsBack(t, open);
  readsLevels(t, open);
  equalsTheModel(t, open, { seed: 21, rounds: 200, stepMs: 400, timeAt: atMs, randomOps });
}

/** Ten hits in ten seconds. A hit of the bucket takes 1000 units, of which one flows in each millisecond. */
const WINDOW = slidingWindow(10, 10);
const BUCKET = tokenBucket(10, 10);
const HIT = 1_000;

const inWindow = (hits: number, isRefund = false): TestOp => ({ key: 'w', hits, isRefund, terms: WINDOW });
const inBucket = (hits: number, isRefund = false): TestOp => ({ key: 'b', hits, isRefund, terms: BUCKET });

function admitsWhatFits(t: Test, open: Open): void {
  for (const [name, op, unit] of [
    ['window', inWindow, 1],
    ['bucket', inBucket, HIT],
  ] as const) {
    const units = (levels: number[]) => levels.map(level => level * unit);

    t.test(`hits that do not fit into a ${name} change nothing`, async t => {
      const store = await open(t);
      t.match(await admit(store, [op(7)]), { afters: units([7]), refused: [false] });
      t.match(await admit(store, [op(4)]), { afters: units([7]), refused: [true] });
      t.match(await admit(store, [op(3)]), { afters: units([10]), refused: [false] });
      t.match(await admit(store, [op(1)]), { afters: units([10]), refused: [true] });
    });

    t.test(`requests of a batch to a ${name} are admitted one after the other`, async t => {
      const store = await open(t);
      const equal = await admit(
        store,
        [3, 3, 3, 3].map(hits => op(hits)),
      );
      t.match(equal, { afters: units([3, 6, 9, 9]), refused: [false, false, false, true] });
      const mixed = await admit(
        store,
        [2, 1, 1, 0].map(hits => op(hits)),
      );
      t.match(mixed, { afters: units([9, 10, 10, 10]), refused: [true, false, true, true] });
    });

    t.test(`0 hits ask whether a hit would fit into a ${name}, and take nothing`, async t => {
      const store = await open(t);
      t.match(await admit(store, [op(0), op(9), op(0), op(1), op(0)]), {
        afters: units([0, 9, 9, 10, 10]),
        refused: [false, false, false, false, true],
      });
      t.match(await admit(store, [op(0)]), { afters: units([10]), refused: [true] });
    });

    t.test(`more hits than a ${name} ever admits are refused, also when it is unused`, async t => {
      const store = await open(t);
      t.match(await admit(store, [op(11), op(4_294_967_295), op(10)]), {
        afters: units([0, 0, 10]),
        refused: [true, true, false],
      });
    });
  }

  t.test('a limit of 0 refuses everything', async t => {
    const store = await open(t);
    for (const terms of [slidingWindow(0, 60), tokenBucket(0, 60)]) {
      const op = (hits: number, isRefund = false) => ({ key: `z${terms.admission}`, hits, isRefund, terms });
      t.match(await admit(store, [op(1), op(0), op(5, true), op(1)]), {
        afters: [0, 0, 0, 0],
        refused: [true, true, false, true],
      });
    }
  });

  t.test('windows, buckets and counts are in one batch, and each has a key of its own', async t => {
    const store = await open(t);
    const ops = [inWindow(6), inBucket(6), { key: 'c', hits: 6 }, inBucket(6), inWindow(6)];
    const twice = [...ops, { key: 'c', hits: 6 }];
    t.match(await admit(store, twice), {
      afters: [6, 6 * HIT, 6, 6 * HIT, 6, 12],
      refused: [false, false, false, true, true, false],
    });
  });

  t.test('large limits are exact', async t => {
    const store = await open(t);
    const most = 4_294_967_295;
    for (const terms of [slidingWindow(most, 3_600), tokenBucket(most, 1, 9_007_199)]) {
      const op = (hits: number) => ({ key: `m${terms.admission}`, hits, terms });
      const hits = terms.capacity / terms.scale;
      t.match(await admit(store, [op(hits - 1), op(2), op(1), op(1)]), {
        afters: [terms.capacity - terms.scale, terms.capacity - terms.scale, terms.capacity, terms.capacity],
        refused: [false, true, false, true],
      });
    }
  });

  t.test('batches in flight together admit no more than the limit', async t => {
    const store = await open(t);
    const batches = Array.from({ length: 20 }, () => batchOf([{ ops: [inWindow(1), inBucket(1)] }], atMs(0)));
    await Promise.all(batches.map(batch => store.increment(batch)));
    for (const op of [0, 1]) t.equal(batches.filter(batch => batch.opRefused[op] === 0).length, 10);
  });
}

function takesRefunds(t: Test, open: Open): void {
  t.test('a refund takes hits off a level, down to 0', async t => {
    const store = await open(t);
    await admit(store, [inWindow(8), inBucket(8)]);
    t.same((await admit(store, [inWindow(3, true), inBucket(3, true)])).afters, [5, 5 * HIT]);
    t.same((await admit(store, [inWindow(9, true), inBucket(9, true)])).afters, [0, 0]);
    t.same((await admit(store, [inWindow(1), inBucket(1)])).afters, [1, HIT], 'the excess is not owed');
  });

  t.test('a refund makes room for the requests after it', async t => {
    const store = await open(t);
    const ops = [inBucket(10), inBucket(1), inBucket(2, true), inBucket(2), inBucket(1)];
    t.match(await admit(store, ops), {
      afters: [10, 10, 8, 10, 10].map(hits => hits * HIT),
      refused: [false, true, false, false, true],
    });
  });

  t.test('a refund of a key that is not there leaves nothing to the hits that follow', async t => {
    const store = await open(t);
    t.same((await admit(store, [inWindow(3, true), inBucket(3, true)])).afters, [0, 0]);
    t.same((await admit(store, [inWindow(10), inBucket(10)])).afters, [10, 10 * HIT]);
  });

  t.test('the hits of the previous window cannot be given back', async t => {
    const store = await open(t);
    await admit(store, [inWindow(10)]);
    t.same((await admit(store, [inWindow(4), inWindow(9, true)], atMs(15_000))).afters, [9, 5]);
    t.same((await admit(store, [inWindow(9, true)], atMs(16_000))).afters, [4]);
  });
}

function movesWithTime(t: Test, open: Open): void {
  t.test('a sliding window weighs the previous window by the part that still counts', async t => {
    const store = await open(t);
    await admit(store, [inWindow(10)], atMs(9_999));
    t.match(await admit(store, [inWindow(1)], atMs(10_000)), { afters: [10], refused: [true] });
    t.match(await admit(store, [inWindow(1)], atMs(10_999)), { afters: [10], refused: [true] });
    t.match(await admit(store, [inWindow(1), inWindow(1)], atMs(11_000)), { afters: [10, 10] });
    t.match(await admit(store, [inWindow(4), inWindow(1)], atMs(15_001)), {
      afters: [10, 10],
      refused: [false, true],
    });
    t.match(await admit(store, [inWindow(0)], atMs(20_000)), { afters: [5], refused: [false] });
    t.match(await admit(store, [inWindow(10)], atMs(30_000)), { afters: [10], refused: [false] });
    t.match(await admit(store, [inWindow(10)], atMs(50_000)), { afters: [10], refused: [false] });
  });

  t.test('a token is there at the millisecond in which it is whole', async t => {
    const store = await open(t);
    const terms = tokenBucket(7, 60);
    const op = { key: 'seven', hits: 1, terms };
    await admit(store, [{ ...op, hits: 7 }]);
    // A token takes 8571 3/7 milliseconds.
    for (const [ms, refused] of [
      [8_571, true],
      [8_572, false],
      [17_142, true],
      [17_143, false],
      [25_714, true],
      [25_715, false],
    ] as const) {
      t.match(await admit(store, [op], atMs(ms)), { refused: [refused] }, `after ${ms} ms`);
    }
  });

  t.test('a bucket holds no more tokens than its burst', async t => {
    const store = await open(t);
    const op = { key: 'burst', hits: 1, terms: tokenBucket(1_000, 1, 3) };
    const four = [op, op, op, op];
    for (const ms of [0, 3, 40_000]) {
      t.match(await admit(store, four, atMs(ms)), { refused: [false, false, false, true] });
    }
    t.match(await admit(store, four, atMs(40_001)), { refused: [false, true, true, true] });
  });

  t.test('a process whose clock is behind adds to the window that another one has begun', async t => {
    const store = await open(t);
    await admit(store, [inWindow(4)], atMs(5_000));
    await admit(store, [inWindow(4)], atMs(10_001));
    t.match(await admit(store, [inWindow(2), inWindow(1)], atMs(9_999)), {
      afters: [10, 10],
      refused: [false, true],
    });
    t.same((await admit(store, [inWindow(0)], atMs(10_001))).afters, [10]);
    t.same((await admit(store, [inWindow(0)], atMs(20_000))).afters, [6]);
  });
}

function holdsBack(t: Test, open: Open): void {
  t.test('when one limit of a request is full, nothing is added to the others', async t => {
    const store = await open(t);
    await admit(store, [inWindow(9), inBucket(1), { key: 'c', hits: 9 }]);
    const count = (limit: number) => ({ key: 'c', hits: 2, limit });
    t.same(await admitHoldingBack(store, [{ ops: [inWindow(2), inBucket(2), count(20)] }]), {
      afters: [9, HIT, 9],
      refused: [true, false, false],
      held: [false, true, true],
    });
    t.same(await admitHoldingBack(store, [{ ops: [inWindow(1), inBucket(2), count(10)] }]), {
      afters: [9, HIT, 11],
      refused: [false, false, false],
      held: [true, true, false],
    });
    t.same(await admitHoldingBack(store, [{ ops: [inWindow(1), inBucket(2), count(20)] }]), {
      afters: [10, 3 * HIT, 13],
      refused: [false, false, false],
      held: [false, false, false],
    });
  });

  t.test('limits that hold nothing back are counted or refused on their own', async t => {
    const store = await open(t);
    const quietly = (op: TestOp): TestOp => ({ ...op, limit: NEVER_FULL });
    const count = quietly({ key: 'c', hits: 1 });
    await admit(store, [inWindow(10), { key: 'c', hits: 10 }]);
    t.same(await admitHoldingBack(store, [{ ops: [quietly(inWindow(1)), inBucket(9), count] }]), {
      afters: [10, 9 * HIT, 11],
      refused: [true, false, false],
      held: [false, false, false],
    });
    t.same(await admitHoldingBack(store, [{ ops: [quietly(inWindow(1)), inBucket(2), count] }]), {
      afters: [10, 9 * HIT, 11],
      refused: [false, true, false],
      held: [true, false, true],
    });
    t.same(await admitHoldingBack(store, [{ ops: [count, { key: 'd', hits: 1 }] }]), {
      afters: [12, 1],
      refused: [false, false],
      held: [false, false],
    });
  });

  t.test('a request that is known to be over its limit takes nothing', async t => {
    const store = await open(t);
    t.same(await admitHoldingBack(store, [{ held: true, ops: [inWindow(2), inBucket(11)] }]), {
      afters: [0, 0],
      refused: [false, false],
      held: [true, true],
    });
  });

  t.test('requests see what those before them took, and refunds come before hits', async t => {
    const store = await open(t);
    const groups = [
      { ops: [inBucket(8), inWindow(8)] },
      { ops: [inBucket(3), inWindow(2)] },
      { ops: [inBucket(3), inBucket(1, true), inWindow(2)] },
      { held: true, ops: [inBucket(1), inWindow(4, true)] },
    ];
    t.same(await admitHoldingBack(store, groups), {
      afters: [8 * HIT, 8, 8 * HIT, 8, 10 * HIT, 7 * HIT, 10, 10 * HIT, 6],
      refused: [false, false, true, false, false, false, false, false, false],
      held: [false, false, false, true, false, false, false, true, false],
    });
  });

  t.test('the same key twice in one request is admitted as often as it fits', async t => {
    const store = await open(t);
    t.same(await admitHoldingBack(store, [{ ops: [inBucket(6), inBucket(6), inWindow(1)] }]), {
      afters: [6 * HIT, 6 * HIT, 1],
      refused: [false, true, false],
      held: [false, false, false],
    });
  });
}

function readsLevels(t: Test, open: Open): void {
  t.test('levels can be read, and are as they were', async t => {
    const store = await open(t);
    await admit(store, [inWindow(8)]);
    await admit(store, [inWindow(3), inBucket(9)], atMs(15_000));
    const none = { ...inBucket(1), key: 'none' };
    const batch = batchOf([{ ops: [inWindow(1), inBucket(1), none] }], atMs(16_000));
    for (let time = 1; time <= 2; time++) {
      await store.read?.(batch);
      t.same(Array.from(batch.counts.subarray(0, 3)), [4 + 3, 8 * HIT, 0], `time ${time}`);
      t.same(Array.from(batch.admissions.floors.subarray(0, 3)), [4, 0, 0]);
      t.equal(batch.admissions.previous[0], 8);
    }
  });

  t.test('a batch that takes hits gets the hits of the previous window as well', async t => {
    const store = await open(t);
    await admit(store, [inWindow(8)]);
    const batch = batchOf([{ ops: [inWindow(1), inWindow(20)] }], atMs(15_000));
    await store.increment(batch);
    t.match([batch.admissions.previous[0], batch.admissions.floors[0]], [8, 4]);
  });
}

/** Limits of both kinds and counts. The periods are odd, so that nothing is a multiple of anything. */
const LIMITS = [
  slidingWindow(20, 7),
  slidingWindow(3, 1),
  tokenBucket(20, 7),
  tokenBucket(3, 13, 9),
  tokenBucket(50, 1, 4),
  undefined,
] as const;

function randomOps(random: SeededRandom, most: number): TestOp[] {
  return Array.from({ length: random.below(most) }, () => {
    const number = random.below(LIMITS.length);
    const terms = LIMITS[number];
    const hits = random.below(3) === 0 ? random.below(9) : 1;
    const isRefund = random.below(4) === 0;
    return { key: `r${number}`, hits, isRefund, limit: 60, ...(terms === undefined ? null : { terms }) };
  });
}

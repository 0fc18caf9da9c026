import type { Test } from 'tap';
import { REFUSED } from '../../src/counters/admission/admission.ts';
import { NEVER_FULL } from '../../src/counters/batch.ts';
import { MOST_HITS } from '../../src/counters/slot-changes.ts';
import type { CounterStore } from '../../src/counters/store.ts';
import { GREATEST_SLIDING_LIMIT } from '../../src/rules/rule-set.ts';
import {
  admit,
  admitHoldingBack,
  atMs,
  fixedWindow,
  slidingWindow,
  tokenBucket,
} from '../support/admission.ts';
import { AdmissionModel } from '../support/admission-model.ts';
import { batchOf, count, countHoldingBack, NOON, type TestGroup, type TestOp } from '../support/counting.ts';
import { SeededRandom } from '../support/seeded-random.ts';
import type { Exemptions } from './exemptions.ts';

/** Gives a started, empty store. */
type Open = (t: Test) => Promise<CounterStore>;

const refund = (key: string, hits: number): TestOp => ({ key, hits, isRefund: true });

/** How every counter store counts beyond 32 bits, up to 2^53 - 1. `open` gives a started, empty store. */
export function largeCountsExam(t: Test, open: Open, { lastCounts }: Exemptions): void {
  const most = lastCounts === undefined ? MOST_HITS : MOST_HITS - 48;

  t.test('counts are exact up to 2^53 - 1', async t => {
    const store = await open(t);
    t.same(await count(store, [{ key: 'a', hits: most - 7 }]), [most - 7]);
    t.same(await count(store, [{ key: 'a', hits: 6 }]), [most - 1]);
    t.same(await count(store, [refund('a', 5)]), [most - 6]);
    t.same(await count(store, [refund('a', most - 8), { key: 'a', hits: 3 }]), [2, 5]);
    t.same(await count(store, [{ key: 'a', hits: most - 5 }]), [most]);
    t.same(await count(store, [refund('a', most)]), [0]);
  });

  t.test('a count beyond 2^53 - 1 is over every limit, and stays so', async t => {
    const store = await open(t);
    const op = { key: 'a', hits: MOST_HITS };
    const [first, second, third] = await count(store, [op, op, op]);
    t.ok(first >= MOST_HITS && second > MOST_HITS && third > MOST_HITS);
    for (let round = 0; round < 30; round++) await count(store, [op, op]);
    const other = { key: 'b', hits: 1 };
    const [before, refunded, after, one] = await count(store, [op, refund('a', 5), op, other]);
    t.ok(before > MOST_HITS && refunded >= MOST_HITS - 5 && after > MOST_HITS);
    t.equal(one, 1, 'the key beside it is counted');
    const ops = [op, other].map(each => ({ ...each, limit: MOST_HITS }));
    const { afters, held } = await countHoldingBack(store, [{ ops }]);
    t.ok(afters[0] > MOST_HITS);
    t.same([afters[1], held], [1, [false, true]]);
  });

  t.test('the greatest limit is full when its last hit is counted', async t => {
    const store = await open(t);
    const group = (hits: number, other: number): TestGroup => ({
      ops: [
        { key: 'a', hits, limit: most },
        { key: 'b', hits: other, limit: 100 },
      ],
    });
    t.same(await countHoldingBack(store, [group(most - 1, 1), group(1, 1)]), {
      afters: [most - 1, 1, most, 2],
      held: [false, false, false, false],
    });
    const { afters, held } = await countHoldingBack(store, [group(1, 1)]);
    t.ok(afters[0] > most, 'over its limit, and not only full');
    t.same([afters[1], held], [2, [false, true]]);
    const apart = await countHoldingBack(store, [{ ops: [{ key: 'c', hits: most, limit: most }] }]);
    t.same(apart.afters, [most]);
  });

  t.test('a limit that holds nothing back does not, whatever is counted', async t => {
    const store = await open(t);
    const group = {
      ops: [
        { key: 'a', hits: MOST_HITS, limit: NEVER_FULL },
        { key: 'b', hits: 1, limit: 100 },
      ],
    };
    for (const expected of [1, 2, 3]) {
      const { afters, held } = await countHoldingBack(store, [group]);
      t.same([afters[1], held], [expected, [false, false]]);
    }
  });

  t.test('large counts can be read', async t => {
    const store = await open(t);
    await count(store, [{ key: 'a', hits: MOST_HITS - 2 }]);
    const batch = batchOf([{ ops: [{ key: 'a', hits: 1 }] }]);
    await store.read?.(batch);
    t.equal(batch.counts[0], MOST_HITS - 2);
  });

  t.test('random hits and refunds give what counting one after the other gives', async t => {
    const store = await open(t);
    const random = new SeededRandom(61);
    const model = new AdmissionModel();
    for (let round = 0; round < 60; round++) {
      const ops = Array.from({ length: random.below(12) }, () => ({
        key: `c${random.below(3)}`,
        hits: random.below(2 ** (1 + random.below(43))) + random.below(3),
        isRefund: random.below(3) === 0,
        limit: 2 ** 46,
      }));
      const isHeldBack = random.below(2) === 0;
      const found = isHeldBack ? (await countHoldingBack(store, [{ ops }])).afters : await count(store, ops);
      const expected = isHeldBack ? model.admitHoldingBack({ ops }, 0) : model.admit(ops, 0);
      t.strictSame(found, expected.afters, `round ${round}`);
    }
  });
}

/** The greatest limits of each kind. */
const GREATEST = [
  slidingWindow(GREATEST_SLIDING_LIMIT, 86_400),
  slidingWindow(GREATEST_SLIDING_LIMIT, 1),
  slidingWindow(6_000_000_007, 3_600),
  // As many tokens in a millisecond as can be.
  tokenBucket(9_007_199_254_740_000, 1),
  tokenBucket(5_000_000_000, 86_400, 18_000_000_000_000),
  tokenBucket(5_000_000_029, 60, 150_119_987_579),
] as const;

/** How every counter store that can admit requests does so beyond 32 bits. */
export function largeAdmissionExam(t: Test, open: Open): void {
  t.test('the greatest limits admit exactly their hits', async t => {
    const store = await open(t);
    for (const [i, terms] of GREATEST.entries()) {
      const op = (hits: number, isRefund = false) => ({ key: `g${i}`, hits, isRefund, terms });
      const { scale, capacity } = terms;
      const most = capacity / scale;
      t.match(await admit(store, [op(MOST_HITS), op(most - 1), op(2), op(1), op(1)]), {
        afters: [most === MOST_HITS ? capacity : 0, capacity - scale, capacity - scale, capacity, capacity],
        refused: [true, false, true, false, true],
      });
      t.same((await admit(store, [op(most - 3, true), op(MOST_HITS, true)])).afters, [3 * scale, 0]);
    }
  });

  t.test('a fixed window whose keys are penalized admits up to 2^53 - 1 hits', async t => {
    const store = await open(t);
    const penalty = { after: 1, forS: 60, factor: 1, maxS: 60, windowS: 3_600 };
    const terms = fixedWindow(MOST_HITS, 3_600, penalty);
    const op = (hits: number, isRefund = false) => ({ key: 'f', hits, isRefund, terms });
    const batch = batchOf([{ ops: [op(MOST_HITS - 1), op(1), op(4, true), op(3), op(2)] }], atMs(0));
    await store.increment(batch);
    t.same(Array.from(batch.opAfters.subarray(0, 5)), [
      MOST_HITS - 1,
      MOST_HITS,
      MOST_HITS - 4,
      MOST_HITS - 1,
      MOST_HITS - 1,
    ]);
    t.equal(batch.opRefused[4], REFUSED.penalized);
    t.equal(batch.admissions.penalties.untils[0], NOON.nowS + 60);
  });

  for (const isHeldBack of [false, true]) {
    const how = isHeldBack ? 'that hold back ' : '';
    t.test(`random requests ${how}give what deciding one after the other gives`, async t => {
      const store = await open(t);
      const random = new SeededRandom(isHeldBack ? 63 : 62);
      const model = new AdmissionModel();
      for (let round = 0, ms = 0; round < 100; round++, ms += random.below(10 ** (2 + random.below(7)))) {
        const ops = Array.from({ length: random.below(8) }, () => randomOp(random));
        const nowMs = NOON.nowS * 1_000 + ms;
        const expected = isHeldBack ? model.admitHoldingBack({ ops }, nowMs) : model.admit(ops, nowMs);
        const found = isHeldBack
          ? await admitHoldingBack(store, [{ ops }], atMs(ms))
          : await admit(store, ops, atMs(ms));
        t.strictSame(found, expected, `round ${round}`);
      }
    });
  }
}

function randomOp(random: SeededRandom): TestOp {
  const number = random.below(GREATEST.length);
  const terms = GREATEST[number];
  const most = Math.floor(terms.capacity / terms.scale);
  const hits = [0, 1, random.below(most), random.below(most) % 1_000_000_007, most, MOST_HITS][
    random.below(6)
  ];
  return { key: `r${number}`, hits, isRefund: random.below(4) === 0, terms };
}

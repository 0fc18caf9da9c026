import type { Test } from 'tap';
import type { AdmissionTerms } from '../../src/counters/admission/admission.ts';
import { NEVER_FULL } from '../../src/counters/batch.ts';
import type { CounterStore } from '../../src/counters/store.ts';
import {
  admit,
  admitHoldingBack,
  atMs,
  fixedWindow,
  slidingWindow,
  tokenBucket,
} from '../support/admission.ts';
import { batchOf, type CountingTime, NOON, type TestOp } from '../support/counting.ts';
import type { SeededRandom } from '../support/seeded-random.ts';
import { equalsTheModel } from './counter-as-model.ts';

type Open = (t: Test) => Promise<CounterStore>;

/** How every counter store that can admit requests counts several classes under one key. `open` gives a started, empty store. */
export function classExam(t: Test, open: Open): void {
  for (const [name, terms] of Object.entries(KINDS)) {
    t.test(`classes of a ${name}`, async t => {
      admitsByClass(t, open, terms);
      holdsBackByClass(t, open, terms);
    });
  }
  isExact(t, open);
  endsWithItsWindow(t, open);
  readsAndResets(t, open);
  equalsTheModel(t, open, { seed: 41, rounds: 300, stepMs: 500, timeAt, randomOps });
}

/** Ten hits in ten seconds. A hit of the bucket takes 1000 units. */
const KINDS = {
  'fixed window': fixedWindow(10, 10),
  'sliding window': slidingWindow(10, 10),
  'token bucket': tokenBucket(10, 10),
};

/** Requests of classes that may use all hits, 8 of 10, and 5 of 10. */
function classesOf(terms: AdmissionTerms) {
  const ofClass =
    (kept: number) =>
    (hits: number, isRefund = false): TestOp => ({
      key: `c${terms.admission}`,
      hits,
      isRefund,
      terms: { ...terms, reserve: kept * terms.scale },
    });
  return { critical: ofClass(0), standard: ofClass(2), sheddable: ofClass(5) };
}

function admitsByClass(t: Test, open: Open, terms: AdmissionTerms): void {
  const { critical, standard, sheddable } = classesOf(terms);
  const units = (levels: number[]) => levels.map(level => level * terms.scale);

  t.test('hits fit up to the threshold of their class', async t => {
    const store = await open(t);
    for (const [op, after, refused] of [
      [sheddable(4), 4, false],
      [sheddable(2), 4, true],
      [sheddable(1), 5, false],
      [sheddable(1), 5, true],
      [standard(3), 8, false],
      [standard(1), 8, true],
      [sheddable(0), 8, true],
      [standard(0), 8, true],
      [critical(0), 8, false],
      [critical(2), 10, false],
      [critical(1), 10, true],
    ] as const) {
      t.match(await admit(store, [op]), { afters: units([after]), refused: [refused] });
    }
  });

  t.test('requests of a batch are admitted one after the other, each by its class', async t => {
    const store = await open(t);
    const ops = [
      ...[sheddable(3), sheddable(3), sheddable(3), critical(3), critical(1)],
      ...[standard(1), standard(1), sheddable(0), critical(2), critical(1)],
    ];
    t.match(await admit(store, ops), {
      afters: units([3, 3, 3, 6, 7, 8, 8, 8, 10, 10]),
      refused: [false, true, true, false, false, false, true, true, false, true],
    });
  });

  t.test('a class that keeps nothing for others and one that may use nothing', async t => {
    const store = await open(t);
    const nothing = (hits: number): TestOp => ({
      ...critical(hits),
      terms: { ...terms, reserve: terms.capacity },
    });
    t.match(await admit(store, [nothing(1), critical(10), nothing(0)]), {
      afters: units([0, 10, 10]),
      refused: [true, false, true],
    });
    t.match(await admit(store, [nothing(1)]), { afters: units([10]), refused: [true] });
  });

  t.test('refunds of any class make room for all', async t => {
    const store = await open(t);
    await admit(store, [critical(10)]);
    t.match(
      await admit(store, [sheddable(3, true), standard(1), critical(1), sheddable(4, true), sheddable(1)]),
      {
        afters: units([7, 8, 9, 5, 5]),
        refused: [false, false, false, false, true],
      },
    );
  });

  t.test('many keys of several classes are in one batch', async t => {
    const store = await open(t);
    const own = (op: TestOp, i: number): TestOp => ({ ...op, key: `${op.key}${i}` });
    const ops = Array.from({ length: 30 }, (_, i) => own([critical(6), standard(6), sheddable(6)][i % 3], i));
    for (const [times, refusals] of [
      [1, [false, false, true]],
      [2, [true, true, true]],
    ] as const) {
      const { refused } = await admit(store, ops);
      t.strictSame(
        refused,
        ops.map((_, i) => refusals[i % 3]),
        `time ${times}`,
      );
    }
  });

  t.test('batches in flight together admit no more than the threshold', async t => {
    const store = await open(t);
    const batches = Array.from({ length: 20 }, () => batchOf([{ ops: [sheddable(1)] }], atMs(0)));
    await Promise.all(batches.map(batch => store.increment(batch)));
    t.equal(batches.filter(batch => batch.opRefused[0] === 0).length, 5);
  });
}

function holdsBackByClass(t: Test, open: Open, terms: AdmissionTerms): void {
  const { critical, standard, sheddable } = classesOf(terms);
  const units = (levels: number[]) => levels.map(level => level * terms.scale);
  const other: TestOp = { key: 'other', hits: 1 };

  t.test('a limit that is full for the class of the request holds back the others', async t => {
    const store = await open(t);
    const ask = async (op: TestOp) => admitHoldingBack(store, [{ ops: [op, other] }]);
    t.same(await ask(sheddable(5)), {
      afters: [...units([5]), 1],
      refused: [false, false],
      held: [false, false],
    });
    t.same(await ask(sheddable(1)), {
      afters: [...units([5]), 1],
      refused: [true, false],
      held: [false, true],
    });
    t.same(await ask(standard(3)), {
      afters: [...units([8]), 2],
      refused: [false, false],
      held: [false, false],
    });
    const quiet = { ...sheddable(1), limit: NEVER_FULL };
    t.same(await ask(quiet), { afters: [...units([8]), 3], refused: [true, false], held: [false, false] });
    const groups = [
      { ops: [critical(2), other] },
      { ops: [other, critical(1)] },
      { ops: [sheddable(1, true), other] },
    ];
    t.same(await admitHoldingBack(store, groups), {
      afters: [...units([10]), 4, 4, ...units([10, 9]), 5],
      refused: [false, false, false, true, false, false],
      held: [false, false, true, false, false, false],
    });
  });
}

function isExact(t: Test, open: Open): void {
  t.test('large limits are exact for each class', async t => {
    const store = await open(t);
    for (const terms of [fixedWindow(Number.MAX_SAFE_INTEGER, 10), slidingWindow(2 ** 40, 3_600)]) {
      const kept = Math.floor(terms.capacity / 3) + 1;
      const most = terms.capacity - kept;
      const { capacity } = terms;
      const op = (hits: number, reserve: number): TestOp => {
        return { key: `large${terms.admission}`, hits, terms: { ...terms, reserve } };
      };
      const ops = [op(most - 1, kept), op(2, kept), op(1, kept), op(1, kept), op(kept, 0), op(1, 0)];
      t.match(await admit(store, ops), {
        afters: [most - 1, most - 1, most, most, capacity, capacity],
        refused: [false, true, false, true, false, true],
      });
      t.match(await admit(store, [op(0, 0)]), { afters: [capacity], refused: [true] });
    }
  });
}

/** A time some milliseconds after {@link NOON}, in a fixed window of ten seconds. */
function timeAt(ms: number): CountingTime {
  const { nowS, ...time } = atMs(ms);
  return { ...time, nowS, expiryS: nowS - (nowS % 10) + 10 };
}

function endsWithItsWindow(t: Test, open: Open): void {
  t.test('a fixed window starts again under the same key', async t => {
    const store = await open(t);
    const { critical, sheddable } = classesOf(KINDS['fixed window']);
    t.match(await admit(store, [critical(9), sheddable(1)], timeAt(9_999)), {
      afters: [9, 9],
      refused: [false, true],
    });
    t.match(await admit(store, [sheddable(5), sheddable(1)], timeAt(10_000)), { afters: [5, 5] });
    t.match(await admit(store, [critical(1)], timeAt(35_000)), { afters: [1], refused: [false] });
  });
}

function readsAndResets(t: Test, open: Open): void {
  t.test('levels of fixed windows can be read and reset', async t => {
    const store = await open(t);
    const { critical, sheddable } = classesOf(KINDS['fixed window']);
    await admit(store, [critical(7)], timeAt(0));
    const batch = batchOf([{ ops: [sheddable(1)] }], timeAt(1_000));
    await store.read?.(batch);
    t.equal(batch.counts[0], 7);
    const later = batchOf([{ ops: [sheddable(1)] }], timeAt(10_000));
    await store.read?.(later);
    t.equal(later.counts[0], 0, 'of the next window');
    await store.reset?.(batch);
    t.match(await admit(store, [sheddable(5)], timeAt(1_000)), { afters: [5], refused: [false] });
  });
}

const LIMITS = [fixedWindow(20, 10), slidingWindow(20, 7), tokenBucket(20, 7), tokenBucket(3, 13, 9)];

function randomOps(random: SeededRandom, most: number): TestOp[] {
  return Array.from({ length: random.below(most) }, () => {
    const number = random.below(LIMITS.length);
    const terms = LIMITS[number];
    const hits = random.below(3) === 0 ? random.below(6) : 1;
    const reserve = Math.floor([0, 0.25, 0.6, 1][random.below(4)] * terms.capacity);
    return { key: `r${number}`, hits, isRefund: random.below(6) === 0, terms: { ...terms, reserve } };
  });
}

import type { Test } from 'tap';
import type { AdmissionTerms } from '../../src/counters/admission/admission.ts';
import { REFUSED } from '../../src/counters/admission/admission.ts';
import type { CounterBatch } from '../../src/counters/batch.ts';
import type { CounterStore } from '../../src/counters/store.ts';
import { fixedWindow, slidingWindow, tokenBucket } from '../support/admission.ts';
import {
  answered,
  batchOf,
  type CountingTime,
  NOON,
  type TestGroup,
  type TestOp,
} from '../support/counting.ts';
import { type ModelAnswer, PenaltyModel } from '../support/penalty-model.ts';
import { SeededRandom } from '../support/seeded-random.ts';

type Open = (t: Test) => Promise<CounterStore>;

/** How every counter store that can admit requests penalizes keys. `open` gives a started, empty store. */
export function penaltyExam(t: Test, open: Open): void {
  penalizesFixedWindows(t, open);
  penalizesPeriods(t, open);
  countsNothingMeanwhile(t, open);
  holdsBack(t, open);
  readsAndResets(t, open);
  equalsTheModel(t, open);
}

const WINDOW_S = 10;

/** 20 s after two violated windows, then 60 s, then at most 100 s. */
const PENALTY = { after: 2, forS: 20, factor: 3, maxS: 100, windowS: WINDOW_S };
const FIXED = fixedWindow(3, WINDOW_S, PENALTY);

const OK = { refused: REFUSED.no };
const FULL = { refused: REFUSED.full };
const until = (seconds: number) => ({ refused: REFUSED.penalized, untilS: NOON.nowS + seconds });

const hits = (number: number, terms: AdmissionTerms = FIXED, isRefund = false): TestOp => ({
  key: `p${terms.admission}`,
  hits: number,
  isRefund,
  terms,
});

function penalizesFixedWindows(t: Test, open: Open): void {
  t.test('a key is penalized after some windows with rejections', async t => {
    const store = await open(t);
    const at = (ms: number, ...ops: TestOp[]) => decide(store, ops, ms);
    t.match(await at(1_000, hits(3), hits(1), hits(1)), [OK, FULL, FULL], 'one violation');
    t.match(await at(9_999, hits(1)), [FULL], 'the same window is no further violation');
    t.match(await at(10_000, hits(3)), [OK], 'the next window');
    t.match(await at(12_001, hits(1), hits(1)), [until(33), until(33)], 'the second violation');
    t.match(await at(32_999, hits(1)), [until(33)], 'until its end');
    t.match(await at(33_000, hits(3)), [OK]);
  });

  t.test('each further penalty is longer, up to the maximum', async t => {
    const store = await open(t);
    const violate = (ms: number) => decide(store, [hits(4)], ms);
    await violate(0);
    t.match(await violate(10_000), [until(30)]);
    await violate(30_000);
    t.match(await violate(40_000), [until(100)]);
    await violate(100_000);
    t.match(await violate(110_000), [until(210)]);
    await violate(210_000);
    t.match(await violate(220_000), [until(320)], 'it does not grow further');
  });

  t.test('violations and penalties are forgotten after a quiet time', async t => {
    const store = await open(t);
    const violate = (ms: number) => decide(store, [hits(4)], ms);
    await violate(0);
    t.match(await violate(109_999), [until(130)], 'the first violation still counts');
    await violate(229_000);
    t.match(await violate(230_000), [until(290)], 'the first penalty still counts');
    await violate(390_000);
    t.match(await violate(400_000), [until(420)], 'everything before is forgotten');
  });

  t.test('windows between two violations do not matter', async t => {
    const store = await open(t);
    await decide(store, [hits(4)], 0);
    for (let ms = 10_000; ms < 90_000; ms += 10_000) t.match(await decide(store, [hits(3)], ms), [OK]);
    t.match(await decide(store, [hits(4)], 90_000), [until(110)]);
  });
}

function penalizesPeriods(t: Test, open: Open): void {
  for (const [name, terms] of [
    ['sliding window', { ...slidingWindow(3, WINDOW_S), penalty: PENALTY }],
    ['token bucket', { ...tokenBucket(3, WINDOW_S), penalty: PENALTY }],
  ] as const) {
    t.test(`a violation of a ${name} is a period that begins with a rejection`, async t => {
      const store = await open(t);
      const at = (ms: number, ...numbers: number[]) =>
        decide(
          store,
          numbers.map(number => hits(number, terms)),
          ms,
        );
      t.match(await at(4_500, 3, 1), [OK, FULL]);
      t.match(await at(14_999, 9), [FULL], 'the period of the first rejection, which ends at a whole second');
      t.match(await at(15_000, 9, 1), [until(35), until(35)]);
      t.match(await at(34_999, 1), [until(35)]);
      t.match(await at(35_000, 1), [OK]);
    });
  }
}

function countsNothingMeanwhile(t: Test, open: Open): void {
  for (const terms of [
    FIXED,
    { ...slidingWindow(3, WINDOW_S), penalty: PENALTY },
    { ...tokenBucket(3, WINDOW_S), penalty: PENALTY },
  ]) {
    t.test(`no hit counts during a penalty, and refunds do (${terms.admission})`, async t => {
      const store = await open(t);
      const once = { ...terms, penalty: { ...PENALTY, after: 1, forS: 2 } };
      const op = (number: number, isRefund = false) => hits(number, once, isRefund);
      const answers = await decide(store, [op(2), op(2), op(1), op(2, true), op(1), op(0)], 1_000);
      t.match(answers, [OK, until(3), until(3), OK, until(3), until(3)]);
      t.same(
        answers.map(answer => answer.after / terms.scale),
        [2, 2, 2, 0, 0, 0],
      );
      t.match(await decide(store, [op(3)], 3_000), [OK], 'the refund does not end the penalty');
    });

    t.test(`a request without hits is no violation (${terms.admission})`, async t => {
      const store = await open(t);
      const once = { ...terms, penalty: { ...PENALTY, after: 1 } };
      const answers = await decide(store, [hits(3, once), hits(0, once), hits(0, once), hits(1, once)], 0);
      t.match(answers, [OK, FULL, FULL, until(20)]);
    });
  }

  t.test('a shorter maximum ends a longer penalty', async t => {
    const store = await open(t);
    const long = fixedWindow(3, WINDOW_S, { ...PENALTY, after: 1, forS: 80 });
    const short = fixedWindow(3, WINDOW_S, { ...PENALTY, after: 1, forS: 5, maxS: 5 });
    t.match(await decide(store, [hits(4, long)], 0), [until(80)]);
    t.match(await decide(store, [hits(1, short)], 10_500), [until(16)]);
    t.match(await decide(store, [hits(1, short)], 15_999), [until(16)], 'the end does not move');
    t.match(await decide(store, [hits(1, short)], 16_000), [OK]);
  });

  t.test('a clock that was set back neither prolongs a penalty nor hides violations', async t => {
    const store = await open(t);
    const once = fixedWindow(3, WINDOW_S, { ...PENALTY, after: 1 });
    const later = 3_600_000;
    t.match(await decide(store, [hits(4, once)], later), [until(3_620)]);
    t.match(await decide(store, [hits(1, once)], 500), [until(101)], 'at most the longest penalty');
    t.match(await decide(store, [hits(3, once), hits(1, once)], 101_000), [OK, until(161)]);
  });

  t.test('batches in flight together make one violation', async t => {
    const store = await open(t);
    const batches = Array.from({ length: 20 }, () => batchOf([{ ops: [hits(1)] }], timeAt(0)));
    await Promise.all(batches.map(batch => store.increment(batch)));
    const refused = (number: number) => batches.filter(batch => batch.opRefused[0] === number).length;
    t.same([refused(REFUSED.no), refused(REFUSED.full)], [3, 17]);
    t.match(await decide(store, [hits(4)], 10_000), [until(30)]);
  });
}

function holdsBack(t: Test, open: Open): void {
  const other: TestOp = { key: 'other', hits: 1, limit: 100 };

  t.test('a penalized key holds back the other hits of its request', async t => {
    const store = await open(t);
    const once = fixedWindow(3, WINDOW_S, { ...PENALTY, after: 1, forS: 5 });
    const found = await decideHoldingBack(
      store,
      [{ ops: [hits(4, once), other] }, { ops: [hits(1, once), other] }],
      0,
    );
    t.match(found, [until(5), { held: true, after: 0 }, until(5), { held: true, after: 0 }]);
    t.match(await decideHoldingBack(store, [{ ops: [hits(1, once), other] }], 5_000), [OK, { held: false }]);
  });

  t.test('hits that are held back are no violation', async t => {
    const store = await open(t);
    const once = fixedWindow(3, WINDOW_S, { ...PENALTY, after: 1, forS: 5 });
    const full = { ...other, hits: 101 };
    const found = await decideHoldingBack(
      store,
      [{ ops: [hits(3, once), full] }, { ops: [hits(3, once)] }],
      0,
    );
    t.match(found, [{ ...OK, held: true }, { held: false }, OK]);
  });
}

function readsAndResets(t: Test, open: Open): void {
  t.test('a penalty can be read, and a reset removes it with the count', async t => {
    const store = await open(t);
    const terms = [FIXED, { ...slidingWindow(3, WINDOW_S), penalty: PENALTY }];
    const ops = terms.map(each => hits(4, each));
    await decide(store, ops, 0);
    const look = async (ms: number) => {
      const batch = batchOf([{ ops }], timeAt(ms));
      await store.read!(batch);
      const { violations, penalties, closes, untils } = batch.admissions.penalties;
      return [0, 1].map(slot => [violations, penalties, closes, untils].map(column => column[slot]));
    };
    t.same(await look(5_000), Array(2).fill([1, 0, NOON.nowS + 10, 0]));
    await decide(store, ops, 10_000);
    t.same(await look(15_000), Array(2).fill([0, 1, NOON.nowS + 20, NOON.nowS + 30]));
    t.same(await look(130_000), Array(2).fill([0, 0, 0, 0]), 'forgotten');
    await store.reset!(batchOf([{ ops }], timeAt(15_000)));
    t.same(await look(15_000), Array(2).fill([0, 0, 0, 0]));
    t.match(
      await decide(
        store,
        terms.map(each => hits(3, each)),
        15_000,
      ),
      [OK, OK],
    );
  });
}

/** Limits of all kinds, with different penalties. Fixed windows have the same length, because a batch has one window. */
const LIMITS: readonly AdmissionTerms[] = [
  FIXED,
  fixedWindow(5, WINDOW_S, { after: 1, forS: 3, factor: 1, maxS: 3, windowS: WINDOW_S }),
  { ...slidingWindow(5, 7), penalty: { after: 3, forS: 10, factor: 2, maxS: 45, windowS: 7 } },
  { ...tokenBucket(6, 13, 4), penalty: { after: 2, forS: 5, factor: 10, maxS: 31, windowS: 13 } },
];

function randomOps(random: SeededRandom, most: number): TestOp[] {
  return Array.from({ length: random.below(most) }, () => {
    const number = random.below(LIMITS.length);
    const op = hits(random.below(3) === 0 ? random.below(6) : 1, LIMITS[number], random.below(6) === 0);
    return { ...op, key: `r${number}`, limit: 60 };
  });
}

/** Mostly within a window; sometimes so long that everything is forgotten. */
function pause(random: SeededRandom): number {
  return random.below(40) === 0 ? random.below(200_000) : random.below(6_000);
}

function equalsTheModel(t: Test, open: Open): void {
  t.test('random batches give what deciding one after the other gives', async t => {
    const store = await open(t);
    const random = new SeededRandom(31);
    const model = new PenaltyModel();
    let penalized = 0;
    for (let round = 0, ms = 0; round < 400; round++, ms += pause(random)) {
      const ops = randomOps(random, 12);
      const expected = model.admit(ops, NOON.nowS * 1_000 + ms);
      t.strictSame(await decide(store, ops, ms), expected, `round ${round}`);
      penalized += expected.filter(({ refused }) => refused === REFUSED.penalized).length;
    }
    t.ok(penalized > 300, `${penalized} requests were penalized`);
  });

  t.test('random batches that hold back give what deciding one after the other gives', async t => {
    const store = await open(t);
    const random = new SeededRandom(32);
    const model = new PenaltyModel();
    for (let round = 0, ms = 0; round < 400; round++, ms += pause(random)) {
      const groups = Array.from(
        { length: random.below(6) },
        (): TestGroup => ({ ops: randomOps(random, 4), held: random.below(10) === 0 }),
      );
      const expected = groups.flatMap(group => model.admitHoldingBack(group, NOON.nowS * 1_000 + ms));
      t.strictSame(await decideHoldingBack(store, groups, ms), expected, `round ${round}`);
    }
  });
}

/** A time some milliseconds after {@link NOON}, in a window of ten seconds. */
function timeAt(ms: number): CountingTime {
  const nowMs = NOON.nowS * 1_000 + ms;
  const nowS = Math.floor(nowMs / 1_000);
  return { nowS, nowMs, ttlS: 60, expiryS: nowS - (nowS % WINDOW_S) + WINDOW_S };
}

function decide(store: CounterStore, ops: readonly TestOp[], ms: number): Promise<ModelAnswer[]> {
  return answered([{ ops }], timeAt(ms), batch => store.increment(batch), answersOf);
}

function decideHoldingBack(
  store: CounterStore,
  groups: readonly TestGroup[],
  ms: number,
): Promise<ModelAnswer[]> {
  return answered(groups, timeAt(ms), batch => store.incrementHoldingBack(batch), answersOf);
}

function answersOf(batch: CounterBatch): ModelAnswer[] {
  return Array.from({ length: batch.opCount }, (_, op) => {
    const isPenalized = batch.opRefused[op] === REFUSED.penalized;
    return {
      after: batch.opAfters[op],
      refused: batch.opRefused[op],
      held: batch.opHeld[op] === 1,
      untilS: isPenalized ? batch.admissions.penalties.untils[batch.opSlots[op]] : 0,
    };
  });
}

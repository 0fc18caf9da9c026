import type { Test } from 'tap';
import type { CounterStore } from '../../src/counters/store.ts';
import {
  aftersOf,
  batchOf,
  count,
  countHoldingBack,
  NOON,
  type TestGroup,
  type TestOp,
} from '../support/counting.ts';
import { SeededRandom } from '../support/seeded-random.ts';
import { admissionExam } from './counter-admission.ts';
import { classExam } from './counter-classes.ts';
import { largeAdmissionExam, largeCountsExam } from './counter-large.ts';
import { leaseExam } from './counter-leases/exam.ts';
import { penaltyExam } from './counter-penalty.ts';
import { refundExam } from './counter-refunds.ts';
import { resetExam } from './counter-resets.ts';
import type { Exemptions } from './exemptions.ts';

type Open = (t: Test) => Promise<CounterStore>;

/** What every counter store must do. `open` gives a started, empty store. */
export function counterStoreExam(t: Test, open: Open, exempt: Exemptions = {}): void {
  countsHits(t, open);
  keepsKeysApart(t, open, exempt);
  countsConcurrently(t, open, exempt);
  refundExam(t, open);
  holdsBack(t, open);
  readsWithoutCounting(t, open);
  resetExam(t, open, exempt);
  equalsTheModel(t, open);
  t.test('large counts', async t => largeCountsExam(t, open, exempt));
  t.test('large limits', { skip: exempt.admission ?? false }, async t => largeAdmissionExam(t, open));
  t.test('sliding windows and token buckets', { skip: exempt.admission ?? false }, async t =>
    admissionExam(t, open),
  );
  t.test('classes', { skip: exempt.admission ?? false }, async t => classExam(t, open));
  t.test('penalties', { skip: exempt.admission ?? false }, async t => penaltyExam(t, open));
  const noLeases = exempt.leases ?? exempt.admission ?? false;
  t.test('leases', { skip: noLeases }, async t => leaseExam(t, open, exempt));
}

function countsHits(t: Test, open: Open): void {
  t.test('a count starts at 0 and grows by the hits', async t => {
    const store = await open(t);
    t.same(await count(store, [{ key: 'a', hits: 1 }]), [1]);
    t.same(await count(store, [{ key: 'a', hits: 7 }]), [8]);
  });

  t.test('0 hits give the present count', async t => {
    const store = await open(t);
    t.same(await count(store, [{ key: 'a', hits: 0 }]), [0]);
    await count(store, [{ key: 'a', hits: 3 }]);
    t.same(await count(store, [{ key: 'a', hits: 0 }]), [3]);
  });

  t.test('ops of one key in a batch are counted one after the other', async t => {
    const store = await open(t);
    await count(store, [{ key: 'a', hits: 10 }]);
    const ops = [1, 0, 5, 2].map(hits => ({ key: 'a', hits }));
    t.same(await count(store, [...ops, { key: 'b', hits: 4 }]), [11, 11, 16, 18, 4]);
  });

  t.test('counts beyond 32 bits are exact', async t => {
    const store = await open(t);
    await count(store, [{ key: 'a', hits: 4_294_967_295 }]);
    t.same(await count(store, [{ key: 'a', hits: 4_294_967_295 }]), [8_589_934_590]);
    t.same(await count(store, [{ key: 'a', hits: 1 }]), [8_589_934_591]);
  });

  t.test('the largest number of hits stays a count that is over every limit', async t => {
    const store = await open(t);
    const hits = Number.MAX_SAFE_INTEGER;
    const [first] = await count(store, [{ key: 'a', hits }]);
    const [second] = await count(store, [
      { key: 'a', hits },
      { key: 'b', hits: 1 },
    ]);
    t.ok(first >= hits);
    t.ok(second >= hits);
  });

  t.test('a batch may be empty', async t => {
    const store = await open(t);
    t.same(await count(store, []), []);
  });

  t.test('a batch object is used again and again', async t => {
    const store = await open(t);
    const batch = batchOf([{ ops: [{ key: 'a', hits: 1 }] }]);
    await store.increment(batch);
    t.same(aftersOf(batch), [1]);
    batch.reset(NOON.nowS * 1_000);
    const bytes = Buffer.from('b');
    batch.addOp(
      bytes,
      { start: 0, end: 1 },
      { hits: 2, isRefund: false, limit: 5, unit: 2, ttlS: 60, expiryS: NOON.expiryS },
    );
    batch.endGroup(false);
    await store.increment(batch);
    t.same(aftersOf(batch), [2], 'nothing of the first use is left');
  });
}

function keepsKeysApart(t: Test, open: Open, { anyKey }: Exemptions): void {
  t.test(
    'keys that differ in a single byte, in length or in order have counts of their own',
    { skip: anyKey ?? false },
    async t => {
      const store = await open(t);
      const keys = [
        '',
        'a',
        'b',
        'aa',
        'ab',
        'ba',
        'a_b_1',
        'a_b_2',
        'a_b__1',
        'ä',
        'a\nb',
        'a b',
        'x'.repeat(5_000),
        `${'x'.repeat(4_999)}y`,
      ];
      const ops = keys.map((key, i) => ({ key: `k${key}`, hits: i + 1 }));
      const expected = keys.map((_key, i) => i + 1);
      t.same(await count(store, ops), expected);
      t.same(
        await count(
          store,
          ops.map(op => ({ ...op, hits: 0 })),
        ),
        expected,
      );
    },
  );

  t.test('thousands of keys fit into one batch', async t => {
    const store = await open(t);
    const ops = Array.from({ length: 3_000 }, (_, i) => ({ key: `key-${i}`, hits: (i % 7) + 1 }));
    await count(store, ops);
    t.same(
      await count(store, ops),
      ops.map(op => op.hits * 2),
    );
  });
}

function countsConcurrently(t: Test, open: Open, { concurrently }: Exemptions): void {
  t.test(
    'batches in flight together lose no hit and count none twice',
    { skip: concurrently ?? false },
    async t => {
      const store = await open(t);
      const batches = Array.from({ length: 50 }, () =>
        batchOf([{ ops: Array.from({ length: 40 }, (_, i) => ({ key: `k${i % 4}`, hits: 1 })) }]),
      );
      await Promise.all(batches.map(batch => store.increment(batch)));
      const afters = batches.flatMap(batch => aftersOf(batch)).sort((a, b) => a - b);
      const expected = Array.from({ length: 500 }, (_, i) => [i + 1, i + 1, i + 1, i + 1]).flat();
      t.same(afters, expected, 'each of the four keys gave every count from 1 to 500 once');
    },
  );
}

function holdsBack(t: Test, open: Open): void {
  t.test('when one counter of a request would exceed its limit, only that one is added to', async t => {
    const store = await open(t);
    await count(store, [
      { key: 'a', hits: 13 },
      { key: 'b', hits: 13 },
    ]);
    const group = {
      ops: [
        { key: 'a', hits: 2, limit: 15 },
        { key: 'b', hits: 2, limit: 14 },
      ],
    };
    t.same(await countHoldingBack(store, [group]), { afters: [13, 15], held: [true, false] });
    t.same(
      await count(store, [
        { key: 'a', hits: 0 },
        { key: 'b', hits: 0 },
      ]),
      [13, 15],
    );
  });

  t.test('when none would exceed its limit, all are added to', async t => {
    const store = await open(t);
    const group = {
      ops: [
        { key: 'a', hits: 2, limit: 2 },
        { key: 'b', hits: 2, limit: 3 },
      ],
    };
    t.same(await countHoldingBack(store, [group]), { afters: [2, 2], held: [false, false] });
  });

  t.test('a request that is known to be over its limit adds nothing', async t => {
    const store = await open(t);
    const group = {
      held: true,
      ops: [
        { key: 'a', hits: 2, limit: 1 },
        { key: 'b', hits: 1, limit: 9 },
      ],
    };
    t.same(await countHoldingBack(store, [group]), { afters: [0, 0], held: [true, true] });
  });

  t.test('requests of a batch see what those before them added', async t => {
    const store = await open(t);
    const group = (a: number, b: number): TestGroup => ({
      ops: [
        { key: 'a', hits: a, limit: 3 },
        { key: 'b', hits: b, limit: 100 },
      ],
    });
    const { afters, held } = await countHoldingBack(store, [
      group(2, 1),
      group(1, 1),
      group(1, 1),
      group(0, 5),
    ]);
    t.same(afters, [2, 1, 3, 2, 4, 2, 4, 2]);
    t.same(held, [false, false, false, false, false, true, false, true]);
  });

  t.test('a request without ops and the same key twice in one request are no trouble', async t => {
    const store = await open(t);
    const twice = {
      ops: [
        { key: 'a', hits: 2, limit: 3 },
        { key: 'a', hits: 2, limit: 3 },
      ],
    };
    t.same(await countHoldingBack(store, [{ ops: [] }, twice, { ops: [] }]), {
      afters: [2, 4],
      held: [false, false],
    });
  });
}

function readsWithoutCounting(t: Test, open: Open): void {
  t.test('counts can be read, as often as one likes, and are as they were', async t => {
    const store = await open(t);
    await count(store, [
      { key: 'a', hits: 3 },
      { key: 'b', hits: 5_000_000_000 },
    ]);
    const batch = batchOf([{ ops: ['a', 'none', 'b', 'a'].map(key => ({ key, hits: 7 })) }]);
    for (let time = 1; time <= 2; time++) {
      await store.read?.(batch);
      t.same(Array.from(batch.counts.subarray(0, batch.slotCount)), [3, 0, 5_000_000_000], `time ${time}`);
    }
    const after = await count(store, [
      { key: 'a', hits: 0 },
      { key: 'none', hits: 0 },
    ]);
    t.same(after, [3, 0]);
  });

  t.test('there may be nothing to read', async t => {
    const store = await open(t);
    await store.read?.(batchOf([]));
    t.pass('no count was asked for');
  });
}

/** Sequential truth: a map of counts, refunds that stop at 0, and the rule for holding back. */
class Model {
  readonly #counts = new Map<string, number>();

  run({ key, hits, isRefund }: TestOp): number {
    const count = this.#counts.get(key) ?? 0;
    const after = isRefund === true ? Math.max(count - hits, 0) : count + hits;
    this.#counts.set(key, after);
    return after;
  }

  addHoldingBack(group: TestGroup): { afters: number[]; held: boolean[] } {
    const refunded = group.ops.map(op => (op.isRefund === true ? this.run(op) : null));
    const full = group.ops.map(
      op => !op.isRefund && !group.held && (this.#counts.get(op.key) ?? 0) + op.hits > (op.limit ?? 100),
    );
    const any = group.held === true || full.includes(true);
    const held = group.ops.map((op, i) => any && !full[i] && !op.isRefund);
    const afters = group.ops.map((op, i) => refunded[i] ?? this.run(held[i] ? { ...op, hits: 0 } : op));
    return { held, afters };
  }
}

function equalsTheModel(t: Test, open: Open): void {
  t.test('random batches give what counting one after the other gives', async t => {
    const store = await open(t);
    const random = new SeededRandom(11);
    const model = new Model();
    for (let round = 0; round < 200; round++) {
      const ops = Array.from({ length: random.below(20) }, () => ({
        key: `k${random.below(12)}`,
        hits: random.below(51),
        isRefund: random.below(3) === 0,
      }));
      const expected = ops.map(op => model.run(op));
      t.strictSame(await count(store, ops), expected, `round ${round}`);
    }
  });

  t.test('random batches that hold back give what deciding one after the other gives', async t => {
    const store = await open(t);
    const random = new SeededRandom(12);
    const model = new Model();
    for (let round = 0; round < 200; round++) {
      const groups = Array.from({ length: random.below(6) }, () => randomGroup(random));
      const expected = groups.map(group => model.addHoldingBack(group));
      const found = await countHoldingBack(store, groups);
      t.strictSame(
        found.afters,
        expected.flatMap(each => each.afters),
        `counts of round ${round}`,
      );
      t.strictSame(
        found.held,
        expected.flatMap(each => each.held),
        `held of round ${round}`,
      );
    }
  });
}

function randomGroup(random: SeededRandom): TestGroup {
  const ops = Array.from({ length: random.below(4) }, () => {
    const key = random.below(30);
    return { key: `k${key}`, hits: random.below(4), limit: 10 + key * 3, isRefund: random.below(4) === 0 };
  });
  return { ops, held: random.below(10) === 0 };
}

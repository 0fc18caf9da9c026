import type { Test } from 'tap';
import type { CounterStore } from '../../src/counters/store.ts';
import { admit, admitHoldingBack } from '../support/admission.ts';
import { AdmissionModel } from '../support/admission-model.ts';
import { type CountingTime, NOON, type TestGroup, type TestOp } from '../support/counting.ts';
import { SeededRandom } from '../support/seeded-random.ts';

/** Random batches, one after the other. */
interface RandomBatches {
  readonly seed: number;
  readonly rounds: number;
  /** The time between two batches is below this. */
  readonly stepMs: number;
  /** The time of a batch, some milliseconds after {@link NOON}. */
  readonly timeAt: (ms: number) => CountingTime;
  /** Fewer than `most` requests. */
  readonly randomOps: (random: SeededRandom, most: number) => TestOp[];
}

/** A counter store gives for random batches what the model gives, which decides one request after the other. */
export function equalsTheModel(
  t: Test,
  open: (t: Test) => Promise<CounterStore>,
  { seed, rounds, stepMs, timeAt, randomOps }: RandomBatches,
): void {
  t.test('random batches give what deciding one after the other gives', async t => {
    const store = await open(t);
    const random = new SeededRandom(seed);
    const model = new AdmissionModel();
    let refusals = 0;
    for (let round = 0, ms = 0; round < rounds; round++, ms += random.below(stepMs)) {
      const ops = randomOps(random, 20);
      const expected = model.admit(ops, NOON.nowS * 1_000 + ms);
      t.strictSame(await admit(store, ops, timeAt(ms)), expected, `round ${round}`);
      refusals += expected.refused.filter(Boolean).length;
    }
    t.ok(refusals > rounds, `${refusals} requests were refused`);
  });

  t.test('random batches that hold back give what deciding one after the other gives', async t => {
    const store = await open(t);
    const random = new SeededRandom(seed + 1);
    const model = new AdmissionModel();
    let held = 0;
    for (let round = 0, ms = 0; round < rounds; round++, ms += random.below(stepMs)) {
      const groups = Array.from(
        { length: random.below(6) },
        (): TestGroup => ({ ops: randomOps(random, 5), held: random.below(10) === 0 }),
      );
      const each = groups.map(group => model.admitHoldingBack(group, NOON.nowS * 1_000 + ms));
      const expected = {
        afters: each.flatMap(({ afters }) => afters),
        refused: each.flatMap(({ refused }) => refused),
        held: each.flatMap(({ held }) => held),
      };
      t.strictSame(await admitHoldingBack(store, groups, timeAt(ms)), expected, `round ${round}`);
      held += expected.held.filter(Boolean).length;
    }
    t.ok(held > rounds / 2, `${held} requests were held back`);
  });
}

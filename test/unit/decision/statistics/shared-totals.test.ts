import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import t from 'tap';
import {
  addTotal,
  ownTotals,
  sharedTotals,
  takeTotal,
  totalOf,
} from '../../../../src/decision/statistics/shared-totals.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';
import type { AddingJob } from './adding-thread.ts';

const CARRY = 2 ** 24;

t.test('a slot holds the sum of what was added, also far beyond 32 bits', async t => {
  const random = new SeededRandom(7);
  const totals = ownTotals(3);
  let sum = 0;
  for (let i = 0; i < 10_000; i++) {
    const hits = random.pick([0, 1, 50, CARRY - 1, CARRY, CARRY + 1, 2 ** 32 - 1, 2 ** 32, 2 ** 38 + 12_345]);
    addTotal(totals, 1, hits);
    sum += hits;
    if (totalOf(totals, 1) !== sum) t.equal(totalOf(totals, 1), sum, `after ${hits}`);
  }
  t.equal(totalOf(totals, 1), sum);
  t.same([totalOf(totals, 0), totalOf(totals, 2)], [0, 0], 'and its neighbours nothing of it');
});

t.test('what is taken out is gone, and what is added later is there', async t => {
  const totals = ownTotals(1);
  let kept = 0;
  for (const hits of [5, CARRY - 5, CARRY * 3 + 9, 0, 2 ** 40]) {
    addTotal(totals, 0, hits);
    kept += takeTotal(totals, 0);
    t.equal(totalOf(totals, 0), 0);
  }
  t.equal(kept, 4 * CARRY + 9 + 2 ** 40);
});

t.test('a sum beyond all numbers stays a large one', async t => {
  const totals = ownTotals(1);
  for (let i = 0; i < 100; i++) addTotal(totals, 0, Number.MAX_SAFE_INTEGER);
  t.ok(totalOf(totals, 0) >= Number.MAX_SAFE_INTEGER);
});

t.test('threads that add at the same time lose nothing, and a reader never sees a total shrink', async t => {
  const totals = sharedTotals(3);
  const hits = [1, CARRY - 1, 3, 2 ** 32 + 7, CARRY / 2, CARRY / 2 + 1];
  const job: AddingJob = { totals, rounds: 20_000, hits };
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const threads = Array.from(
    { length: 3 },
    () => new Worker(new URL(`./adding-thread.${extension}`, import.meta.url), { workerData: job }),
  );
  const done = Promise.all(threads.map(thread => once(thread, 'message')));
  let running = true;
  const reading = (async () => {
    let taken = 0;
    let last = 0;
    let shrunk = 0;
    for (let look = 0; running; look++) {
      const seen = taken + totalOf(totals, 1);
      if (seen < last) shrunk++;
      last = seen;
      if (look % 16 === 0) taken += takeTotal(totals, 1);
      if (look % 64 === 0) await new Promise(resolve => setImmediate(resolve));
    }
    return { taken, shrunk };
  })();
  await done;
  running = false;
  const { taken, shrunk } = await reading;
  const perRound = hits.reduce((sum, each) => sum + each, 0);
  t.equal(taken + totalOf(totals, 1), 3 * job.rounds * perRound);
  t.equal(shrunk, 0);
  t.same([totalOf(totals, 0), totalOf(totals, 2)], [0, 0]);
});

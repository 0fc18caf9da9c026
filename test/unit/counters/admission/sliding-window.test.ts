import t from 'tap';
import { restForWeight, SlidingWindow, weightOf } from '../../../../src/counters/admission/sliding-window.ts';
import { GREATEST_SLIDING_LIMIT } from '../../../../src/rules/rule-set.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';

const SECOND_MS = 1_000;
const TEN_YEARS_MS = 3_650 * 86_400_000;

/** Windows of whole seconds, from one second to ten years. */
function randomWindowMs(random: SeededRandom): number {
  return Math.min((random.below(10 ** (1 + random.below(9))) + 1) * SECOND_MS, TEN_YEARS_MS);
}

function randomHits(random: SeededRandom): number {
  const hits = random.below(2 ** (1 + random.below(53))) + random.below(8);
  return Math.min(hits, Number.MAX_SAFE_INTEGER);
}

/** In whole numbers of any size, rounded up. */
function exactWeight(hits: number, restMs: number, windowMs: number): bigint {
  const window = BigInt(windowMs);
  return (BigInt(hits) * BigInt(restMs) + window - 1n) / window;
}

t.test('hits of the previous window weigh exactly what is left of them', async t => {
  const random = new SeededRandom(51);
  let long = 0;
  for (let round = 0; round < 20_000; round++) {
    const windowMs = randomWindowMs(random);
    const hits = randomHits(random);
    const restMs = Math.min(random.below(windowMs + 1), windowMs);
    if (hits * restMs > Number.MAX_SAFE_INTEGER) long++;
    const found = weightOf(hits, restMs, windowMs);
    if (BigInt(found) !== exactWeight(hits, restMs, windowMs)) t.fail(`${hits} × ${restMs} / ${windowMs}`);
  }
  t.ok(long > 5_000, `${long} products beyond 2^53`);
  t.equal(weightOf(Number.MAX_SAFE_INTEGER, TEN_YEARS_MS, TEN_YEARS_MS), Number.MAX_SAFE_INTEGER);
  t.equal(weightOf(Number.MAX_SAFE_INTEGER, 0, TEN_YEARS_MS), 0);
  t.equal(weightOf(Number.MAX_SAFE_INTEGER, 1, TEN_YEARS_MS), Math.ceil(2 ** 53 / TEN_YEARS_MS));
});

t.test('the rest for a weight is the longest one', async t => {
  const random = new SeededRandom(52);
  for (let round = 0; round < 20_000; round++) {
    const windowMs = randomWindowMs(random);
    const hits = randomHits(random) + 1;
    const most = Math.min(random.below(hits), hits - 1);
    const restMs = restForWeight(hits, most, windowMs);
    const name = `${most} of ${hits} in ${windowMs}`;
    if (exactWeight(hits, restMs, windowMs) > most) t.fail(`${name}: ${restMs} is too long`);
    if (exactWeight(hits, restMs + 1, windowMs) <= most) t.fail(`${name}: ${restMs} is too short`);
  }
});

t.test('a window with the greatest limit weighs what an even use would leave', async t => {
  const window = new SlidingWindow();
  const startS = 86_400;
  window.set(startS, 0, GREATEST_SLIDING_LIMIT);
  t.equal(window.moveTo((startS + 86_400) * SECOND_MS, 86_400), GREATEST_SLIDING_LIMIT);
  t.equal(window.moveTo((startS + 86_400) * SECOND_MS + 43_200_000, 86_400), 2 ** 50);
});

import t from 'tap';
import { passesAfterLimit } from '../../../../src/decision/limits/after-limit.ts';
import { WHOLE } from '../../../../src/rules/shares.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';

/** How many of some equal requests pass that begin at a count beyond the limit. */
function passed(first: number, requests: number, hits: number, share: number): number {
  let count = 0;
  for (let i = 1; i <= requests; i++) {
    if (passesAfterLimit({ hits, after: first + i * hits }, 0, share)) count++;
  }
  return count;
}

t.test('the number of hits that have passed is the share of all hits, rounded down', async t => {
  for (const share of [1, 50, 333, 1_000, 2_500, 6_667, 9_999]) {
    for (const requests of [1, 9, 99, 1_234, 20_000]) {
      t.equal(
        passed(0, requests, 1, share),
        Math.floor((requests * share) / WHOLE),
        `${share} of ${requests}`,
      );
    }
  }
});

t.test('of equal requests with several hits, the share passes to within one request', async t => {
  for (const hits of [2, 10, 97, 100]) {
    for (const first of [0, 3, 1_001]) {
      const expected = (5_000 * 1_250) / WHOLE;
      const found = passed(first, 5_000, hits, 1_250);
      t.ok(Math.abs(found - expected) <= 1, `${found} of ${hits} hits from ${first}`);
    }
  }
});

t.test('counts and hits up to 2^53 are exact', async t => {
  const random = new SeededRandom(71);
  const most = Number.MAX_SAFE_INTEGER;
  for (let round = 0; round < 2_000; round++) {
    const hits = Math.max(1, Math.floor(2 ** random.below(53)));
    const after = Math.min(
      most,
      hits + Math.floor((most / 2 ** random.below(53)) * (random.below(1_000) / 1_000)),
    );
    const share = 1 + random.below(WHOLE - 1);
    const at = (n: bigint) => (n * BigInt(share)) / (BigInt(WHOLE) * BigInt(hits));
    const expected = at(BigInt(after)) > at(BigInt(after - hits));
    t.equal(passesAfterLimit({ hits, after }, 0, share), expected, `${hits} ${after} ${share}`);
  }
});

t.test('no request passes at counts that are not exact any more', async t => {
  t.equal(passesAfterLimit({ hits: 1, after: Number.MAX_SAFE_INTEGER }, 1, 9_999), true);
  for (const after of [2 ** 53, 2 ** 53 + 2, 2 ** 63])
    t.equal(passesAfterLimit({ hits: 1, after }, 1, 9_999), false);
});

t.test('a request passes neither without hits nor if it begins below the limit', async t => {
  t.equal(passesAfterLimit({ hits: 0, after: 20 }, 10, 9_999), false);
  t.equal(passesAfterLimit({ hits: 2, after: 11 }, 10, 9_999), false);
});

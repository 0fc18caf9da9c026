import t from 'tap';
import { CountingTerms } from '../../../../src/decision/limits/counting-terms.ts';
import { LimitWindow } from '../../../../src/decision/limits/limit-window.ts';
import type { Algorithm } from '../../../../src/rules/rule-set.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';

const SECOND_UNIT = 1;

/** Terms of a window of some seconds. */
function termsOf(algorithm: Algorithm, lengthS: number, requests: number, burst = 0): CountingTerms {
  const rule = {
    algorithm,
    multiplier: lengthS,
    burst,
    calendar: null,
    penalty: null,
    window: '',
    tag: Buffer.from('tag'),
  };
  return new CountingTerms(new LimitWindow(rule, SECOND_UNIT), requests);
}

/** The level of a sliding window after some milliseconds without hits. */
function slidLevel(lengthS: number, counts: { previous: number; current: number }, atMs: number): number {
  const lengthMs = lengthS * 1_000;
  const left = (count: number, ms: number): number =>
    Math.ceil((count * Math.max(lengthMs - ms, 0)) / lengthMs);
  if (atMs < lengthMs) return left(counts.previous, atMs) + counts.current;
  return left(counts.current, atMs - lengthMs);
}

t.test(
  'a sliding window without a hit left admits one at the reset, and none a millisecond before',
  async t => {
    const random = new SeededRandom(31);
    for (let i = 0; i < 2_000; i++) {
      const lengthS = 1 + random.below(1_000);
      const requests = 1 + random.below(50);
      const terms = termsOf('sliding_window', lengthS, requests);
      const atMs = random.below(lengthS * 1_000);
      const counts = { previous: random.below(2 * requests), current: random.below(2 * requests) };
      const level = slidLevel(lengthS, counts, atMs);
      if (level + 1 <= requests) continue;
      const nowMs = lengthS * 1_000 * 77 + atMs;
      const resetMs = terms.resetMs(nowMs, level, level - counts.current, counts.previous);
      const shown = JSON.stringify({ lengthS, requests, atMs, counts, resetMs });
      if (slidLevel(lengthS, counts, atMs + resetMs) + 1 > requests) t.fail(`too early: ${shown}`);
      if (slidLevel(lengthS, counts, atMs + resetMs - 1) + 1 <= requests) t.fail(`too late: ${shown}`);
    }
  },
);

t.test('a token bucket has one more whole token at the reset, and not a millisecond before', async t => {
  const random = new SeededRandom(32);
  for (let i = 0; i < 2_000; i++) {
    const burst = 1 + random.below(1_000);
    const terms = termsOf('token_bucket', 1 + random.below(100_000), 1 + random.below(1_000_000), burst);
    const { capacity, drain } = terms.admission!;
    const level = random.below(1_000_000) % (capacity + 1);
    const resetMs = terms.resetMs(0, level, 0, 0);
    const leftAfter = (ms: number): number => terms.leftAt(Math.max(level - ms * drain, 0));
    if (level === 0) t.equal(resetMs, 0);
    else if (leftAfter(resetMs) <= terms.leftAt(level)) t.fail(`too early: ${i}`);
    else if (leftAfter(resetMs - 1) > terms.leftAt(level)) t.fail(`too late: ${i}`);
  }
});

t.test('units of a bucket: a token and a millisecond are both whole numbers of them', async t => {
  for (const [lengthS, requests, burst] of [
    [60, 100, 20],
    [1, 3, 7],
    [31_536_000, 4_294_967_295, 1],
    [60, 0, 0],
  ]) {
    const { admission } = termsOf('token_bucket', lengthS, requests, burst);
    const { scale, drain, capacity } = admission!;
    t.ok([scale, drain, capacity].every(Number.isSafeInteger));
    t.equal(capacity, requests === 0 ? 0 : burst * scale);
    if (requests > 0) t.equal(BigInt(scale) * BigInt(requests), BigInt(drain) * BigInt(lengthS * 1_000));
  }
});

t.test('counts live as long as they matter, at most as long as a store can keep them', async t => {
  const ttlS = (terms: CountingTerms, jitterS = 0): number => {
    terms.window.moveTo(1_700_000_000);
    return terms.ttlS(jitterS);
  };
  t.equal(ttlS(termsOf('fixed_window', 90, 5), 7), 97);
  t.equal(ttlS(termsOf('sliding_window', 90, 5), 7), 187);
  t.equal(ttlS(termsOf('token_bucket', 60, 100, 20), 7), 12 + 1 + 7);
  t.equal(ttlS(termsOf('token_bucket', 31_536_000, 1, 4_000_000)), 2 ** 31 - 1);
  t.equal(termsOf('token_bucket', 60, 100, 20).expiryS(1_700_000_000), 1_700_000_013);
});

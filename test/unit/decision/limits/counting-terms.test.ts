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
    classes: null,
    afterLimit: 0,
    lease: null,
    scale: 1,
    window: '',
    tag: Buffer.from('tag'),
  };
  return new CountingTerms(new LimitWindow(rule, SECOND_UNIT), requests);
}

/** The state of limits without leases. */
const UNLEASED = { held: 0, leaseEndsMs: 0 };

/** The level of a sliding window after some milliseconds without hits. */
function slidLevel(lengthS: number, counts: { previous: number; current: number }, atMs: number): number {
  const lengthMs = lengthS * 1_000;
  const left = (count: number, ms: number): number =>
    Math.ceil((count * Math.max(lengthMs - ms, 0)) / lengthMs);
  if (atMs < lengthMs) return left(counts.previous, atMs) + counts.current;
  return left(counts.current, atMs - lengthMs);
}

t.test('a sliding window admits hits at the end of their wait, and not a millisecond before', async t => {
  const random = new SeededRandom(31);
  for (let i = 0; i < 2_000; i++) {
    const lengthS = 1 + random.below(1_000);
    const requests = 1 + random.below(50);
    const terms = termsOf('sliding_window', lengthS, requests);
    const atMs = random.below(lengthS * 1_000);
    const counts = { previous: random.below(2 * requests), current: random.below(2 * requests) };
    const hits = 1 + random.below(requests);
    const level = slidLevel(lengthS, counts, atMs);
    if (level + hits <= requests) continue;
    const { previous } = counts;
    const nowMs = lengthS * 1_000 * 77 + atMs;
    const state = { nowMs, fixedLeftMs: 0, level, floor: level - counts.current, previous, ...UNLEASED };
    const waitMs = terms.waitMs(state, hits);
    if (level + 1 > requests) t.equal(terms.resetMs(state), terms.waitMs(state, 1));
    const shown = JSON.stringify({ lengthS, requests, atMs, counts, hits, waitMs });
    if (slidLevel(lengthS, counts, atMs + waitMs) + hits > requests) t.fail(`too early: ${shown}`);
    if (slidLevel(lengthS, counts, atMs + waitMs - 1) + hits <= requests) t.fail(`too late: ${shown}`);
  }
});

t.test('a process whose clock is behind waits for the window that has not begun for it', async t => {
  const terms = termsOf('sliding_window', 10, 10);
  const state = { nowMs: 9_999, fixedLeftMs: 0, level: 10, floor: 10, previous: 10, ...UNLEASED };
  t.equal(terms.waitMs(state, 1), 1_001);
});

t.test('a token bucket has the tokens at the end of a wait, and not a millisecond before', async t => {
  const random = new SeededRandom(32);
  for (let i = 0; i < 2_000; i++) {
    const burst = 1 + random.below(1_000);
    const terms = termsOf('token_bucket', 1 + random.below(100_000), 1 + random.below(1_000_000), burst);
    const { capacity, drain } = terms.admission!;
    const level = random.below(1_000_000) % (capacity + 1);
    const state = { nowMs: 0, fixedLeftMs: 0, level, floor: 0, previous: 0, ...UNLEASED };
    const left = terms.leftAt(level);
    if (level === 0) t.equal(terms.resetMs(state), 0);
    else t.equal(terms.resetMs(state), terms.waitMs(state, left + 1), 'the next token');
    if (left === burst) continue;
    const hits = left + 1 + random.below(burst - left);
    const waitMs = terms.waitMs(state, hits);
    const leftAfter = (ms: number): number => terms.leftAt(Math.max(level - ms * drain, 0));
    if (leftAfter(waitMs) < hits) t.fail(`too early: ${i}`);
    if (leftAfter(waitMs - 1) >= hits) t.fail(`too late: ${i}`);
  }
});

t.test('a request that never fits is told the length of the window', async t => {
  const state = { nowMs: 30_500, fixedLeftMs: 0, level: 0, floor: 0, previous: 0, ...UNLEASED };
  t.equal(termsOf('token_bucket', 60, 100, 3).waitMs(state, 4), 60_000);
  t.equal(termsOf('sliding_window', 60, 3).waitMs(state, 4), 60_000);
  t.equal(
    termsOf('sliding_window', 60, 0).waitMs(state, 0),
    60_000,
    'one that has no hits, and a limit of 0',
  );
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
    return terms.ttlS(1_700_000_000, jitterS);
  };
  t.equal(ttlS(termsOf('fixed_window', 90, 5), 7), 97);
  t.equal(ttlS(termsOf('sliding_window', 90, 5), 7), 187);
  t.equal(ttlS(termsOf('token_bucket', 60, 100, 20), 7), 12 + 1 + 7);
  t.equal(ttlS(termsOf('token_bucket', 31_536_000, 1, 4_000_000)), 2 ** 31 - 1);
  t.equal(termsOf('token_bucket', 60, 100, 20).expiryS(1_700_000_000), 1_700_000_013);
});

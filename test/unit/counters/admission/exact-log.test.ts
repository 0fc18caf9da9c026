import t from 'tap';
import type { AdmissionTerms } from '../../../../src/counters/admission/admission.ts';
import { admit, atMs, slidingWindow, tokenBucket } from '../../../support/admission.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';
import { embeddedStore } from '../../../support/stores.ts';

const store = () => embeddedStore();

/** Hits that were admitted at a time and not given back. */
interface Entry {
  readonly ms: number;
  hits: number;
}

/**
 * A log of admissions. A refund takes back the latest hits, as far as they were admitted at `fromMs` or later.
 */
class Log {
  readonly entries: Entry[] = [];

  giveBack(hits: number, fromMs: number): void {
    let rest = hits;
    for (let i = this.entries.length - 1; i >= 0 && rest > 0 && this.entries[i].ms >= fromMs; i--) {
      const taken = Math.min(rest, this.entries[i].hits);
      this.entries[i].hits -= taken;
      rest -= taken;
    }
  }

  /** Hits from `fromMs` to before `toMs`. */
  between(fromMs: number, toMs: number): number {
    let hits = 0;
    for (const entry of this.entries) if (entry.ms >= fromMs && entry.ms < toMs) hits += entry.hits;
    return hits;
  }
}

/** Arrivals with pauses and crowds: the milliseconds until the next one. */
function pauseMs(random: SeededRandom, windowMs: number): number {
  const kind = random.below(20);
  if (kind === 0) return random.below(3 * windowMs);
  if (kind < 4) return random.below(Math.ceil(windowMs / 4));
  return random.below(Math.ceil(windowMs / 50) + 1);
}

for (const [requests, windowS, burst] of [
  [7, 60, 7],
  [100, 60, 20],
  [3, 1, 50],
  [1_000, 1, 1_000],
  [1, 86_400, 4],
  [999_983, 3_600, 13],
] as const) {
  t.test(`a bucket of ${burst} with ${requests} in ${windowS} s admits exactly what fits`, async t => {
    const counters = store();
    const random = new SeededRandom(31);
    const terms = tokenBucket(requests, windowS, burst);
    // The hits in the bucket as a fraction: tokens flow in at `requests / windowMs` a millisecond.
    const windowMs = BigInt(windowS) * 1_000n;
    let level = 0n;
    let lastMs = 0;
    let ms = 0;
    let admitted = 0;
    for (let i = 0; i < 3_000; i++) {
      ms += pauseMs(random, (burst / requests) * windowS * 1_000);
      level -= BigInt(ms - lastMs) * BigInt(requests);
      if (level < 0n) level = 0n;
      lastMs = ms;
      const hits = random.below(4) === 0 ? random.below(burst + 2) : 1;
      const isRefund = random.below(8) === 0;
      const units = BigInt(hits) * windowMs;
      const fits = level + BigInt(Math.max(hits, 1)) * windowMs <= BigInt(burst) * windowMs;
      if (isRefund) level = level > units ? level - units : 0n;
      else if (fits) level += units;
      const found = await admit(counters, [{ key: 'a', hits, isRefund, terms }], atMs(ms));
      if (found.refused[0] !== (!fits && !isRefund)) t.fail(`request ${i} at ${ms}`);
      const scale = BigInt(terms.scale);
      if (BigInt(found.afters[0]) * windowMs !== level * scale) t.fail(`level of request ${i} at ${ms}`);
      if (fits && !isRefund) admitted++;
    }
    t.ok(admitted > 500 && admitted < 2_500, `${admitted} were admitted`);
  });
}

for (const [requests, windowS] of [
  [10, 7],
  [100, 60],
  [1, 1],
  [250, 2],
] as const) {
  t.test(`a sliding window of ${requests} in ${windowS} s stays within its bound`, async t => {
    const counters = store();
    const random = new SeededRandom(32);
    const terms = slidingWindow(requests, windowS);
    const windowMs = windowS * 1_000;
    const log = new Log();
    const originMs = atMs(0).nowS * 1_000;
    const startOf = (ms: number) => ms - ((originMs + ms) % windowMs);
    let ms = 0;
    for (let i = 0; i < 3_000; i++) {
      ms += pauseMs(random, windowMs);
      const hits = random.below(3) === 0 ? random.below(requests + 2) : 1;
      const isRefund = random.below(8) === 0;
      const found = await admit(counters, [{ key: 'a', hits, isRefund, terms }], atMs(ms));
      if (isRefund) log.giveBack(hits, startOf(ms));
      else if (!found.refused[0]) log.entries.push({ ms, hits });
    }
    let highest = 0;
    for (const { ms: end } of log.entries) {
      const startMs = startOf(end);
      const window = log.between(startMs, startMs + windowMs);
      if (window > requests) t.fail(`${window} in the window from ${startMs}`);
      const elapsedMs = end - startMs;
      const previous = log.between(startMs - windowMs, startMs);
      // Hits of the previous window that came later than an even spread would have put them.
      const late = log.between(end - windowMs + 1, startMs) - (previous * (windowMs - elapsedMs)) / windowMs;
      const inAnySpan = log.between(end - windowMs + 1, end + 1);
      const bound = requests + Math.max(0, Math.min(late, (previous * elapsedMs) / windowMs));
      if (inAnySpan > bound) t.fail(`${inAnySpan} until ${end}, more than ${bound}`);
      highest = Math.max(highest, inAnySpan);
    }
    t.ok(highest >= requests, 'the limit is used up');
    t.ok(highest < 2 * requests || requests === 1, `at most ${highest} in any span`);
  });
}

/** Hits that are admitted when as many as possible arrive right before the border of two windows and right after it. */
async function atBorder(terms: AdmissionTerms | null): Promise<number> {
  const counters = store();
  const ops = Array.from({ length: 300 }, () => ({ hits: 1, ...(terms === null ? null : { terms }) }));
  let admitted = 0;
  // A fixed window has another key after the border.
  for (const [ms, key] of [
    [9_999, 'before'],
    [10_001, 'after'],
  ] as const) {
    const keyed = ops.map(op => ({ ...op, key: terms === null ? key : 'a' }));
    const { afters, refused } = await admit(counters, keyed, atMs(ms));
    admitted +=
      terms === null ? afters.filter(after => after <= 100).length : refused.filter(no => !no).length;
  }
  return admitted;
}

t.test('at the border of two windows, only fixed windows admit the limit twice', async t => {
  t.equal(await atBorder(null), 200);
  t.equal(await atBorder(slidingWindow(100, 10)), 100);
  t.equal(await atBorder(tokenBucket(100, 10)), 100);
  t.equal(await atBorder(tokenBucket(100, 10, 20)), 20);
});

t.test('threads that have read the clock at different times do not get the same tokens twice', async t => {
  const counters = store();
  const random = new SeededRandom(35);
  const op = { key: 'a', hits: 1, terms: tokenBucket(100_000, 10, 50) };
  let admitted = 0;
  for (let i = 0; i < 5_000; i++) {
    const { refused } = await admit(counters, [op], atMs(10 + random.below(5)));
    if (!refused[0]) admitted++;
  }
  t.ok(admitted <= 50 + 4 * 10, `${admitted} were admitted`);
});

for (const terms of [slidingWindow(10, 10), tokenBucket(10, 10)]) {
  const name = terms.drain === 0 ? 'sliding window' : 'token bucket';
  t.test(`a ${name} admits again after a window, however the clock was set`, async t => {
    const op = { key: 'a', hits: 1, terms };
    for (const stepMs of [-3_600_000, -25_000, -15_000, -5_000, -1, 0, 1, 5_000, 3_600_000]) {
      const counters = store();
      await admit(counters, [{ ...op, hits: 10 }], atMs(7_000));
      const { refused } = await admit(counters, [op], atMs(7_000 + stepMs));
      if (stepMs <= 1) t.same(refused, [true], `a step of ${stepMs} ms does not make room`);
      // A window that is newer by one is kept, and counts from its own start.
      const later = await admit(counters, [op], atMs(7_000 + stepMs + 40_000));
      t.same(later.refused, [false], `a step of ${stepMs} ms`);
    }
  });

  t.test(`a ${name} that was used up stays so when the clock goes back and forth`, async t => {
    const counters = store();
    const random = new SeededRandom(33);
    const op = { key: 'a', hits: 1, terms };
    let admitted = 0;
    for (let i = 0; i < 500; i++) {
      const { refused } = await admit(counters, [op], atMs(9_990 + random.below(20)));
      if (!refused[0]) admitted++;
    }
    t.equal(admitted, 10);
  });
}

t.test('a bucket is exact when the clock is set back and forth', async t => {
  const counters = store();
  const random = new SeededRandom(34);
  const terms = tokenBucket(7, 60, 9);
  const [scale, capacity, drain] = [BigInt(terms.scale), BigInt(terms.capacity), BigInt(terms.drain)];
  /** The moment when the bucket is full again, in units that flow in since the epoch. */
  let full = 0n;
  let ms = 0;
  let refusals = 0;
  for (let i = 0; i < 5_000; i++) {
    const isStep = random.below(50) === 0;
    ms += isStep ? random.below(400_000) - 200_000 : random.below(12_000);
    const now = BigInt(atMs(0).nowS * 1_000 + ms) * drain;
    const hits = random.below(4) === 0 ? random.below(5) : 1;
    const isRefund = random.below(8) === 0;
    const taken = full > now ? full - now : 0n;
    // Set back by more than the bucket takes to fill: it is empty, from now on if it was not just another thread.
    const level = taken > capacity ? capacity : taken;
    const isSetBack = taken > capacity + 1_000n * drain;
    const fits = level + BigInt(Math.max(hits, 1)) * scale <= capacity;
    const units = BigInt(hits) * scale;
    let after = level;
    if (isRefund) after = level > units ? level - units : 0n;
    else if (fits) after = level + units;
    if (after !== level || isSetBack) full = after === 0n ? 0n : now + after;
    const found = await admit(counters, [{ key: 'a', hits, isRefund, terms }], atMs(ms));
    if (BigInt(found.afters[0]) !== after) t.fail(`request ${i} at ${ms}`);
    if (found.refused[0] !== (!fits && !isRefund)) t.fail(`refusal of request ${i} at ${ms}`);
    if (found.refused[0]) refusals++;
  }
  t.ok(refusals > 500 && refusals < 4_500, `${refusals} of 5000 were refused`);
});

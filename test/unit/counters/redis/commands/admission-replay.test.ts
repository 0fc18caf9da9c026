import t from 'tap';
import type { AdmissionTerms } from '../../../../../src/counters/admission/admission.ts';
import { SlidingWindow } from '../../../../../src/counters/admission/sliding-window.ts';
import { TokenBucket } from '../../../../../src/counters/admission/token-bucket.ts';
import { GREATEST_SLIDING_LIMIT } from '../../../../../src/rules/rule-set.ts';
import { atMs, slidingWindow, tokenBucket } from '../../../../support/admission.ts';
import { aftersOf, batchOf, NOON, type TestOp } from '../../../../support/counting.ts';
import { startRedis } from '../../../../support/redis-server.ts';
import { SeededRandom } from '../../../../support/seeded-random.ts';
import { redisStore } from '../../../../support/stores.ts';

// The scripts calculate in Lua what `counters/admission` calculates here. Both must give the same numbers, because the
// answers of the single requests are computed from the level that Redis returns.

const redis = await startRedis();
const store = redisStore({ socketType: 'tcp', url: redis.address, auth: '' });
t.teardown(async () => {
  await store.stop();
  await redis.stop();
});
await store.start();

const ROUNDS = 150;
const KEYS = 24;

/** A limit in a state that may be in Redis, and its level at a time. */
interface Case {
  readonly terms: AdmissionTerms;
  /** Undefined if Redis has no state. */
  readonly state: string | undefined;
  readonly level: number;
  readonly floor: number;
  /** The floor once the state is that of the present window. */
  readonly floorThen: number;
}

/** From small to the largest of a rule. */
function magnitude(random: SeededRandom, most: number): number {
  return random.below(Math.min(most, 10 ** (1 + random.below(16)))) + 1;
}

function randomWindow(random: SeededRandom, nowMs: number): Case {
  const windowS = magnitude(random, 2_000_000);
  const requests = magnitude(random, GREATEST_SLIDING_LIMIT);
  const terms = slidingWindow(requests, windowS);
  const window = new SlidingWindow();
  if (random.below(5) === 0) return { terms, state: undefined, level: 0, floor: 0, floorThen: 0 };
  const nowS = Math.floor(nowMs / 1_000);
  const ahead = [0, 0, 0, -1, -1, -2, 1, Math.ceil(100 / windowS) + 1][random.below(8)];
  const startS = nowS - (nowS % windowS) + ahead * windowS;
  const [previous, current] = [random.below(requests + 1), random.below(requests + 1)];
  window.set(startS, previous, current);
  const level = window.moveTo(nowMs, windowS);
  const { floor } = window;
  window.moveTo(nowMs, windowS);
  return { terms, state: `${startS} ${previous} ${current}`, level, floor, floorThen: window.floor };
}

function randomBucket(random: SeededRandom, nowMs: number): Case {
  const windowS = magnitude(random, 2_000_000);
  const requests = magnitude(random, 4_294_967_295);
  const unlimited = tokenBucket(requests, windowS, 1);
  const burst = magnitude(random, Math.min(Math.floor(2 ** 52 / unlimited.scale), 4_294_967_295));
  const terms = tokenBucket(requests, windowS, burst);
  const bucket = new TokenBucket();
  if (random.below(5) === 0) return { terms, state: undefined, level: 0, floor: 0, floorThen: 0 };
  const fillMs = Math.floor(terms.capacity / terms.drain);
  const aheadMs = random.below(8) === 0 ? fillMs + 3_600_000 : random.below(fillMs + 1) - random.below(2_000);
  const rest = aheadMs < fillMs ? random.below(terms.drain) : 0;
  bucket.set(nowMs + aheadMs, rest);
  const state = rest === 0 && random.below(2) === 0 ? `${nowMs + aheadMs}` : `${nowMs + aheadMs} ${rest}`;
  const level = bucket.levelAt(nowMs, terms.drain, terms.capacity);
  return { terms, state, level, floor: 0, floorThen: 0 };
}

/** Requests to a limit: mostly some that fit, in runs of equal ones. */
function randomOps(random: SeededRandom, key: string, { terms, level }: Case): TestOp[] {
  const room = Math.max(Math.floor((terms.capacity - level) / terms.scale), 0);
  return Array.from({ length: random.below(4) + 1 }, () => {
    const hits = [1, 0, random.below(room + 2), random.below(3) * room, 4_294_967_295][random.below(5)];
    const op = { key, hits, isRefund: random.below(4) === 0, terms };
    return Array.from({ length: random.below(6) + 1 }, () => op);
  }).flat();
}

async function put(cases: readonly Case[]): Promise<void> {
  await redis.command('FLUSHALL');
  const words = cases.flatMap(({ state }, i) => (state === undefined ? [] : [`k${i}`, state]));
  if (words.length > 0) await redis.command('MSET', ...words);
}

t.test('levels, floors and states are those of the calculation here', async t => {
  const random = new SeededRandom(31);
  for (let round = 0; round < ROUNDS; round++) {
    const time = atMs(random.below(10_000_000));
    const nowMs = time.nowMs ?? NOON.nowS * 1_000;
    const cases = Array.from({ length: KEYS }, () =>
      random.below(2) === 0 ? randomWindow(random, nowMs) : randomBucket(random, nowMs),
    );
    await put(cases);
    const batch = batchOf([{ ops: cases.flatMap((each, i) => randomOps(random, `k${i}`, each)) }], time);
    const { admissions } = batch;
    await store.increment(batch);
    const afters = cases.map(({ level, floor }, slot) => {
      admissions.floors[slot] = floor;
      return admissions.levelAfter(slot, level);
    });
    const found = Array.from(batch.counts.subarray(0, KEYS));
    await store.read(batch);
    t.strictSame(found, afters, `levels after the requests, round ${round}`);
    t.strictSame(
      Array.from(batch.counts.subarray(0, KEYS)),
      afters.map((after, i) => after - cases[i].floor + cases[i].floorThen),
      `states, round ${round}`,
    );
    t.strictSame(
      Array.from(admissions.floors.subarray(0, KEYS)),
      cases.map(each => each.floorThen),
      `floors, round ${round}`,
    );
  }
});

t.test('holding back with nothing to hold back gives the same', async t => {
  const random = new SeededRandom(32);
  for (let round = 0; round < ROUNDS; round++) {
    const time = atMs(random.below(10_000_000));
    const nowMs = time.nowMs ?? NOON.nowS * 1_000;
    const cases = Array.from({ length: KEYS }, () =>
      random.below(2) === 0 ? randomWindow(random, nowMs) : randomBucket(random, nowMs),
    );
    const groups = cases.flatMap((each, i) => randomOps(random, `k${i}`, each)).map(op => ({ ops: [op] }));
    const batches = [batchOf(groups, time), batchOf(groups, time)];
    const states: unknown[] = [];
    for (const [i, batch] of batches.entries()) {
      await put(cases);
      await (i === 0 ? store.increment(batch) : store.incrementHoldingBack(batch));
      states.push(await redis.command('MGET', ...cases.map((_, key) => `k${key}`)));
    }
    t.strictSame(aftersOf(batches[1]), aftersOf(batches[0]), `levels, round ${round}`);
    t.strictSame(batches[1].opRefused, batches[0].opRefused, `refused, round ${round}`);
    t.strictSame(states[1], states[0], `states, round ${round}`);
  }
});

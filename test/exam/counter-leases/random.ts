import type { Test } from 'tap';
import type { AdmissionTerms } from '../../../src/counters/admission/admission.ts';
import { NEVER_FULL } from '../../../src/counters/batch.ts';
import { ACTION } from '../../../src/counters/leases/lease.ts';
import { fixedWindow, slidingWindow, tokenBucket } from '../../support/admission.ts';
import type { TestGroup, TestOp } from '../../support/counting.ts';
import { LeaseAudit } from '../../support/lease-audit.ts';
import { LeaseModel } from '../../support/lease-model.ts';
import { concurrent, type Decided, decideLeases, once, reserving } from '../../support/leases.ts';
import { SeededRandom } from '../../support/seeded-random.ts';
import type { LeaseScene, LeaseTopic } from './scene.ts';

const ROUNDS = 400;
/** The window of limits while the clock moves, in seconds. */
const WINDOW_S = 20;

/** Terms by keys; undefined for a plain count. */
type Limits = Readonly<Record<string, AdmissionTerms | undefined>>;

/** Limits of all kinds, by their keys. Leases last `forS` times 1, 2 or 8. */
function limitsOf(forS: number, windowS: number): Limits {
  const [short, long] = [{ forS }, { forS: 8 * forS }];
  const limits = {
    tokens: reserving(25, short),
    budget: reserving(25, { ...long, allowsOverdraft: true }),
    estimates: reserving(20, { forS: 2 * forS, estimate: 6 }),
    zero: reserving(20, { ...short, estimate: 5, zeroSettles: true }),
    unnamed: reserving(20, { ...short, hasHolders: false, estimate: 7 }),
    calls: once(25, short),
    slots: concurrent(3, short),
    beside: concurrent(2, { ...long, settles: true }),
    count: undefined,
    fixed: fixedWindow(40, windowS),
    sliding: slidingWindow(40, 7),
    bucket: tokenBucket(40, 9),
  };
  return Object.fromEntries(
    Object.entries(limits).map(([key, terms]) => [
      key,
      terms?.lease === undefined || terms.windowS === 0 ? terms : { ...terms, windowS },
    ]),
  );
}

/** Random requests, one batch after the other, compared with the ledger at each step. */
export const random: LeaseTopic = test => {
  test('random requests give what a ledger says', async (scene, t) => {
    const limits = limitsOf(600, 3_600);
    const source = new SeededRandom(51);
    const model = new LeaseModel();
    const audit = new LeaseAudit(t);
    for (let round = 0; round < (scene.isOneByOne ? 4 : 1) * ROUNDS; round++) {
      // Nothing ends, so limits that are full are left behind.
      const generation = Math.floor(round / (scene.isOneByOne ? 50 : 16));
      const most = scene.isOneByOne ? 1 : undefined;
      const groups = randomGroups(source, limits, key => `${key} ${generation}`).slice(0, most);
      const decided = await decideLeases(scene.store, groups, scene.time);
      const expected = expectedOf(model, groups, scene);
      if (!t.strictSame(decided.answers, expected.answers, `round ${round}`)) break;
      if (!t.strictSame(heldOf(decided), heldOf(expected), `held after round ${round}`)) break;
      if (!audit.check(groups, decided)) break;
    }
    isVaried(t, audit, 'expired');
  });
};

/** The same while the clock moves, for stores that take the time of the batch. */
export const randomTimes: LeaseTopic = test => {
  for (const seed of [61, 62, 63]) {
    test(`random requests give what a ledger says while leases and windows end (${seed})`, (scene, t) =>
      equalsTheLedger(t, scene, { seed }));
  }

  test('whatever the clock does, answers agree with each other', async (scene, t) => {
    const limits = limitsOf(5, WINDOW_S);
    const source = new SeededRandom(71);
    const audit = new LeaseAudit(t);
    for (let round = 0; round < ROUNDS; round++) {
      scene.wait(source.below(3) === 0 ? -pause(source) : pause(source));
      scene.windowEndS = (Math.floor(scene.nowMs / 1_000 / WINDOW_S) + 1) * WINDOW_S;
      const groups = randomGroups(source, limits, keyIn(scene));
      if (!audit.check(groups, await decideLeases(scene.store, groups, scene.time))) break;
    }
    isVaried(t, audit);
  });
};

/** Compares a store with a ledger while leases and windows end. */
export async function equalsTheLedger(
  t: Test,
  scene: LeaseScene,
  { seed, without = [], before }: RandomRun,
): Promise<void> {
  const all = Object.entries(limitsOf(5, WINDOW_S));
  const limits = Object.fromEntries(all.filter(([key]) => !without.includes(key)));
  const source = new SeededRandom(seed);
  const model = new LeaseModel();
  const audit = new LeaseAudit(t);
  for (let round = 0; round < ROUNDS; round++) {
    scene.wait(pause(source));
    scene.windowEndS = (Math.floor(scene.nowMs / 1_000 / WINDOW_S) + 1) * WINDOW_S;
    await before?.(round);
    const groups = randomGroups(source, limits, keyIn(scene));
    const decided = await decideLeases(scene.store, groups, scene.time);
    if (!t.strictSame(decided, expectedOf(model, groups, scene), `round ${round}`)) break;
    if (!audit.check(groups, decided)) break;
  }
  isVaried(t, audit);
}

interface RandomRun {
  readonly seed: number;
  /** Keys of limits that are left out. */
  readonly without?: readonly string[];
  /** Is called before the requests of each round. */
  readonly before?: (round: number) => Promise<void>;
}

function expectedOf(model: LeaseModel, groups: readonly TestGroup[], { time }: LeaseScene): Decided {
  const answers = model.decide(groups, time);
  const ops = groups.flatMap(group => group.ops);
  return { answers, levels: ops.map(op => model.level(op, time)) };
}

function heldOf({ levels }: Decided): (number | null)[] {
  return levels.map(level => level?.held ?? null);
}

/** A random test shows nothing if little happens in it. */
function isVaried(t: Test, { outcomes }: LeaseAudit, ...exceptions: string[]): void {
  for (const [outcome, times] of Object.entries(outcomes)) {
    if (!exceptions.includes(outcome)) t.ok(times > ROUNDS / 2, `${times} times ${outcome}`);
  }
}

/** Mostly less than a short lease; sometimes so long that everything is forgotten. */
function pause(random: SeededRandom): number {
  if (random.below(3) === 0) return 0;
  return random.below(40) === 0 ? random.below(100_000) : random.below(2_500);
}

/** Plain counts are those of a window, which their keys name. */
function keyIn({ windowEndS }: LeaseScene): (key: string) => string {
  return key => (key === 'count' ? `${key} ${windowEndS}` : key);
}

function randomGroups(random: SeededRandom, limits: Limits, keyOf: (key: string) => string): TestGroup[] {
  return Array.from({ length: random.below(9) }, () => ({
    ops: Array.from({ length: random.below(5) }, () => randomOp(random, limits, keyOf)),
    held: random.below(12) === 0,
  }));
}

function randomOp(random: SeededRandom, limits: Limits, keyOf: (key: string) => string): TestOp {
  const name = random.pick(Object.keys(limits));
  const terms = limits[name];
  const isQuiet = random.below(12) === 0;
  const op = {
    key: keyOf(name),
    hits: random.below(4) === 0 ? 0 : 1 + random.below(name === 'slots' ? 2 : 12),
    isRefund: random.below(6) === 0,
    limit: isQuiet ? NEVER_FULL : 40,
  };
  if (terms === undefined) return op;
  if (terms.lease == null) return { ...op, terms, limit: 40 };
  const holder = random.below(12) === 0 ? '' : random.pick(['a', 'b', 'c', 'd', 'e', 'f']);
  const action = random.below(5) === 0 ? random.pick(Object.values(ACTION)) : ACTION.any;
  const { isRefund } = op;
  const named = terms.lease.hasHolders ? holder : '';
  return { ...op, isRefund, terms, lease: { holder: named, action } };
}

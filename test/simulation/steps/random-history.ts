import { SeededRandom } from '../../support/seeded-random.ts';
import { randomAsk, randomSchedule } from './random-asks.ts';
import { newPerson } from './random-people.ts';
import { randomTenants } from './random-tenants.ts';
import { randomTrouble } from './random-troubles.ts';
import type { History, Step } from './step.ts';

const STORES = ['sqlite', 'sqlite', 'model', 'model', 'both'] as const;
const BEGIN_MS = 2_500;

/** When a history begins: shortly before clocks are changed, or at any time. */
const STARTS = [
  '2026-03-29T00:59:20Z',
  '2026-10-25T00:29:40Z',
  '2026-10-25T01:29:40Z',
  '2026-11-01T05:29:40Z',
  '2026-04-04T14:29:30Z',
  '2026-10-25T00:59:20Z',
  '2026-10-25T01:59:00Z',
  '2026-11-01T05:59:10Z',
  '2026-10-03T15:29:20Z',
  '2026-03-01T12:00:00Z',
  '2026-06-30T23:59:30Z',
];

/** So many histories are short for one that is long. */
const LONG_ONE_IN = 25;
const LONG_MS = 12 * 60_000;

/** Twelve minutes with little work in them, in which clocks are changed more often than not. */
function longHistory(random: SeededRandom, seed: number): History {
  const { tenants, steps } = randomTenants(random);
  for (let i = 0; i < 4; i++)
    steps.push(...randomSchedule(random, random.pick(tenants), BEGIN_MS + random.below(2_000)));
  for (let i = 0; i < 10; i++) {
    const at = BEGIN_MS + random.below(LONG_MS);
    steps.push(
      ...(random.below(3) === 0
        ? randomTrouble(random, { tenants, processes: 1 }, at)
        : randomAsk(random, random.pick(tenants), at)),
    );
  }
  steps.push({ at: LONG_MS, do: 'wait' });
  // Nobody polls all the time, which would be most of what happens.
  const quiet = steps.filter(step => step.do !== 'pull');
  return {
    seed,
    store: random.pick(STORES),
    start: random.pick(STARTS),
    processes: 1,
    slots: 16,
    delayMs: 0,
    steps: sorted(quiet),
  };
}

/** A history that follows from its seed alone. */
export function randomHistory(seed: number): History {
  const random = new SeededRandom(seed);
  if (random.below(LONG_ONE_IN) === 0) return longHistory(random, seed);
  const { tenants, steps } = randomTenants(random);
  for (const tenant of tenants) if (random.below(2) === 0) steps.push(...newPerson(random, tenant, 1_500));
  const processes = 1 + random.below(3);
  const lastsMs = 10_000 + random.below(40_000);
  const asks = 5 + random.below(60);
  for (let i = 0; i < asks; i++) {
    // Callers come in bursts as well.
    const at = BEGIN_MS + random.below(random.below(3) === 0 ? 2_000 : lastsMs);
    steps.push(...randomAsk(random, random.pick(tenants), at));
  }
  // One in four histories is without troubles: nothing in it may be late, or happen twice.
  const troubles = random.below(4) === 0 ? 0 : 1 + random.below(8);
  for (let i = 0; i < troubles; i++) {
    steps.push(...randomTrouble(random, { tenants, processes }, BEGIN_MS + random.below(lastsMs)));
  }
  return {
    seed,
    store: random.pick(STORES),
    start: random.pick(STARTS),
    processes,
    slots: random.pick([2, 4, 16, 32]),
    delayMs: random.pick([0, 2, 5, 30]),
    steps: sorted(steps),
  };
}

function sorted(steps: readonly Step[]): Step[] {
  return steps.toSorted((a, b) => a.at - b.at);
}

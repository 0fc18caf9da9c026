import type { CounterStore } from '../../../src/counters/store.ts';
import { RuleGeneration } from '../../../src/decision/statistics/rule-statistics.ts';
import { compiled } from '../../unit/rules/parse/rule-text.ts';
import { batchOf } from '../counting.ts';
import { SeededRandom } from '../seeded-random.ts';
import type { ProxyKind } from './model-proxy.ts';
import { type SimulatedProxy, Simulation } from './simulation.ts';

export const KINDS: readonly ProxyKind[] = ['envoy', 'old envoy', 'stepwise'];

/** The bucket of all proxies. */
export const ENTRIES = [
  ['plan', 'free'],
  ['user', 'alice'],
] as const;

/** Rules with a limit for {@link ENTRIES}, and with other fields beside it. */
export function rulesOf(limit: string): RuleGeneration {
  const rules = `{ domain: api, descriptors: [{ key: plan, descriptors: [{ key: user, ${limit} }] }] }`;
  return new RuleGeneration(compiled(rules));
}

/**
 * Messages and the store take less than half of the time that is reckoned with: together, they take less than all of it.
 */
const DELAY_MS = 450;

/** Steps after which it is checked that what was admitted is paid. */
const LOOK_STEPS = 10;

/** What has happened in a random simulation. */
export interface RandomRun {
  readonly what: string;
  readonly limit: number;
  /** The most requests that were admitted in a window. */
  readonly worst: number;
  /** The most of them that were not paid at any moment. */
  readonly unpaid: number;
  /** Lines that were logged. */
  readonly logged: number;
}

/** A limit in windows of at least 10 s, with all that can happen to instances, proxies, connections and the store. */
export async function randomRun(seed: number, proxyCount?: number): Promise<RandomRun> {
  const random = new SeededRandom(seed);
  const windowS = proxyCount === undefined ? random.pick([10, 20, 60, 60]) : 10;
  const limit = random.pick([50, 1_000, 20_000]) * (proxyCount === undefined ? 1 : 10);
  const count = proxyCount ?? 1 + random.below(8);
  const proxies: SimulatedProxy[] = Array.from({ length: count }, () => ({
    kind: random.pick(KINDS),
    fallback: 'deny',
    reportMs: random.pick([200, 1_000, 5_000]),
    rate: (random.next() * random.pick([0.2, 3]) * limit * Math.min(1, 8 / count)) / windowS,
    isBursty: random.next() < 0.5,
  }));
  const desks = 1 + random.below(3);
  const storeMs = random.pick([0, 0, DELAY_MS]);
  const forS = random.pick([2, 10, 10, 60]);
  const windows = `unit: second, unit_multiplier: ${windowS}`;
  const generation = rulesOf(
    `quota: { for: ${forS}s }, rate_limit: { ${windows}, requests_per_unit: ${limit} }`,
  );
  const simulation = new Simulation({
    seed,
    generation,
    entries: ENTRIES,
    desks,
    proxies,
    delayMs: DELAY_MS,
    storeMs,
    failing: random.pick([0, 0.02]),
    breaking: random.pick([0, 0, 0.02]),
  });
  let unpaid = 0;
  let step = 0;
  const passed = await simulation.run(windowS * 2_500, windowS * 1_000, windows => {
    const { startMs, admitted } = windows.at(-1)!;
    if (step++ % LOOK_STEPS === 0)
      unpaid = Math.max(unpaid, admitted - paidIn(simulation.store, generation, startMs / 1_000));
    if (random.below(1_000) === 0) simulation.kill(random.below(desks));
    const proxy = random.pick(simulation.proxies);
    if (random.below(500) === 0) proxy.disconnect(random.next() < 0.5);
    if (random.below(2_000) === 0) proxy.die();
  });
  return {
    what: `seed ${seed}, ${count} proxies, ${desks} instances, ${windowS} s`,
    limit,
    worst: Math.max(...passed.map(({ admitted }) => admitted)),
    unpaid,
    logged: simulation.logger.lines.length,
  };
}

/** Hits that are counted in the window that began at a second. */
function paidIn(store: CounterStore, { terms }: RuleGeneration, startS: number): number {
  const window = terms.of(0)?.window;
  const end = window === undefined ? '' : `~${Buffer.from(window.terms.tag)}`;
  const batch = batchOf([{ ops: [{ key: `api_plan_free_user_alice_${startS}${end}`, hits: 0 }] }]);
  batch.nowS = startS;
  void store.read?.(batch);
  return batch.counts[0];
}

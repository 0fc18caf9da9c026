import t from 'tap';
import type { RuleGeneration } from '../../../src/decision/statistics/rule-statistics.ts';
import type { ProxyKind } from '../../support/quota/model-proxy.ts';
import { ENTRIES, KINDS, randomRun, rulesOf } from '../../support/quota/random-simulation.ts';
import { type SimulatedProxy, Simulation } from '../../support/quota/simulation.ts';

function perUnit(requests: number, unit: string): RuleGeneration {
  return rulesOf(`rate_limit: { unit: ${unit}, requests_per_unit: ${requests} }`);
}

function proxiesOf(kind: ProxyKind, rates: readonly number[], reportMs = 1_000): SimulatedProxy[] {
  return rates.map(rate => ({ kind, fallback: 'deny', reportMs, rate }));
}

for (const kind of KINDS)
  for (const desks of [1, 2])
    t.test(
      `proxies of the kind ${kind} with ${desks} instances: a minute is nearly used, and never exceeded`,
      async t => {
        const generation = perUnit(6_000, 'minute');
        const proxies = proxiesOf(kind, [300, 50, 10]);
        const simulation = new Simulation({
          seed: 1,
          generation,
          entries: ENTRIES,
          desks,
          proxies,
          delayMs: 300,
        });
        const windows = await simulation.run(240_000, 60_000);
        t.same(simulation.logger.lines, []);
        for (const { admitted } of windows) t.ok(admitted <= 6_000, `${admitted} of 6,000`);
        for (const { admitted } of windows.slice(1, -1)) t.ok(admitted > 5_400, `${admitted} of 6,000`);
      },
    );

t.test('with clocks that differ, a window holds but for the difference at its borders', async t => {
  const aheadMs = [-200, 0, 200];
  for (const seed of [1, 2, 3]) {
    const simulation = new Simulation({
      seed,
      generation: perUnit(3_000, 'minute'),
      entries: ENTRIES,
      desks: aheadMs.length,
      aheadMs,
      proxies: KINDS.flatMap(kind => proxiesOf(kind, [100, 20], 2_000)),
      delayMs: 300,
    });
    let atBegin = 0;
    let atEnd = 0;
    let worst = 0;
    await simulation.run(200_000, 60_000, windows => {
      const { startMs, admitted } = windows.at(-1)!;
      const sinceMs = simulation.clock.nowMs() - startMs;
      // Here all instances are in the same window.
      if (sinceMs <= 200) atBegin = admitted;
      if (sinceMs <= 60_000 - 200) atEnd = admitted;
      worst = Math.max(worst, atEnd - atBegin);
    });
    t.ok(worst <= 3_000 && worst > 2_500, `${worst} of 3,000`);
  }
});

t.test('a limit of a second is divided in equal parts among proxies that want more of it', async t => {
  for (const desks of [1, 2]) {
    const generation = perUnit(500, 'second');
    const proxies = proxiesOf('envoy', [1_200, 600, 200]);
    const simulation = new Simulation({
      seed: 2,
      generation,
      entries: ENTRIES,
      desks,
      proxies,
      delayMs: 100,
    });
    const windows = await simulation.run(40_000, 1_000);
    const later = windows.slice(10, -1);
    for (let proxy = 0; proxy < proxies.length; proxy++) {
      const part = later.reduce((sum, { byProxy }) => sum + byProxy[proxy], 0) / later.length;
      t.ok(part > 155 && part <= 167, `${part} of 500`);
    }
  }
});

t.test('a proxy that wants little gets it, and the others share the rest', async t => {
  const generation = perUnit(500, 'second');
  const proxies = proxiesOf('envoy', [2_000, 2_000, 40]);
  const simulation = new Simulation({
    seed: 3,
    generation,
    entries: ENTRIES,
    desks: 2,
    proxies,
    delayMs: 100,
  });
  const windows = await simulation.run(40_000, 1_000);
  for (const { byProxy } of windows.slice(12, -1)) {
    t.ok(byProxy[2] > 25, `${byProxy}`);
    t.ok(Math.abs(byProxy[0] - byProxy[1]) < 60, `${byProxy}`);
    t.ok(byProxy[0] + byProxy[1] > 380, `${byProxy}`);
  }
});

t.test('requests flow within the limit while no instance answers, for as long as grants last', async t => {
  const generation = perUnit(6_000, 'minute');
  const simulation = new Simulation({
    seed: 4,
    generation,
    entries: ENTRIES,
    desks: 1,
    proxies: proxiesOf('envoy', [40, 30]),
    delayMs: 100,
  });
  await simulation.run(20_000, 60_000);
  for (const proxy of simulation.proxies) proxy.isDeaf = true;
  const [alone] = await simulation.run(8_000, 60_000);
  t.ok(alone.admitted > 0.9 * alone.asked, `${alone.admitted} of ${alone.asked}`);
  const [later] = await simulation.run(8_000, 60_000);
  t.ok(later.admitted < 0.5 * later.asked, `${later.admitted} of ${later.asked}`);
});

t.test('the limit holds whatever happens to instances, proxies, connections and the store', async t => {
  for (let seed = 10; seed < 24; seed++) {
    const { what, worst, limit, unpaid, logged } = await randomRun(seed);
    t.ok(worst <= limit && unpaid <= 0 && logged === 0, `${what}: ${worst} of ${limit}, ${unpaid} not paid`);
  }
});

t.test('the limit holds with a hundred proxies', async t => {
  const { what, worst, limit, unpaid, logged } = await randomRun(1, 100);
  t.ok(worst <= limit && unpaid <= 0 && logged === 0, `${what}: ${worst} of ${limit}, ${unpaid} not paid`);
});

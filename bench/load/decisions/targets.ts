import { median } from '../../support/statistics.ts';
import { formatNumber } from '../../support/table.ts';
import { ratioToJson } from './checks.ts';
import { CONTESTANTS, STORES, type Store, serviceOn } from './contestants.ts';
import type { EverydayResult } from './everyday.ts';
import { type Figures, medianFigures, type Round, ratioOf, type ScenarioResult } from './figures.ts';
import type { HalfPeakResult } from './half-peak.ts';
import { PATTERNS } from './patterns.ts';
import type { ReloadResult } from './reload.ts';
import { type ConnectionsName, type ScenarioPattern, titleOfScenario } from './scenario.ts';

/** What the service has to reach on two cores that it shares with its store and the generator. */
export interface Target {
  readonly title: string;
  readonly wanted: string;
  readonly measured: string;
  /** Null when it was not measured. */
  readonly isMet: boolean | null;
}

export interface Results {
  readonly scenarios: readonly ScenarioResult[];
  readonly limits: readonly ScenarioResult[];
  readonly engines: readonly ScenarioResult[];
  readonly checks: readonly ScenarioResult[];
  readonly halfPeak: readonly HalfPeakResult[];
  readonly everyday: readonly EverydayResult[];
  readonly reloads: readonly ReloadResult[];
}

/** Times the baseline's rate, which is always measured on Redis. */
const RATIOS = { redis: { keys: 6, hot: 12 }, embedded: { keys: 12, hot: 12 } } as const;
const CPU_MICROS = { keys: 6, hot: 4 } as const;
const HALF_PEAK_P99_MS = 3;
const EVERYDAY_CPU_MICROS = 45;
const MANY_RULES_SHARE = 0.85;
const LIMITS_SHARE = 0.9;
const CHECK_CPU = 1.25;
const RELOAD_LIFT_MS = 10;

/** Every target, in the order of the parts. */
export function targetsOf(results: Results): Target[] {
  return [
    ...STORES.flatMap(store =>
      (['keys', 'hot'] as const).map(pattern => rateTarget(results, store, pattern)),
    ),
    ...STORES.flatMap(store => (['keys', 'hot'] as const).map(pattern => cpuTarget(results, store, pattern))),
    ...STORES.map(store => latencyTarget(results, store)),
    ...STORES.map(store => rulesTarget(results, store)),
    ...limitTargets(results),
    ...checkTargets(results),
    ...STORES.flatMap(store => halfPeakTargets(results, store)),
    everydayTarget(results),
    ...STORES.map(store => reloadTarget(results, store)),
  ];
}

function rateTarget(results: Results, store: Store, pattern: 'keys' | 'hot'): Target {
  const rounds = roundsOf(results, pattern, '8x32');
  const ratio = ratioOf(rounds, 'requestsPerSecond', { over: serviceOn(store, 'few'), under: 'baseline' });
  return target({
    title: `${titleOf(store)}, ${PATTERNS[pattern].title}, 8 × 32: requests/s to the baseline's`,
    value: ratio,
    bound: RATIOS[store][pattern],
    is: 'at least',
    show: value => `${formatNumber(value, 1)}×`,
  });
}

function cpuTarget(results: Results, store: Store, pattern: 'keys' | 'hot'): Target {
  return target({
    title: `${titleOf(store)}, ${PATTERNS[pattern].title}, 8 × 32: CPU for a decision`,
    value: medianFigures(roundsOf(results, pattern, '8x32'), serviceOn(store, 'few')).cpuMicros,
    bound: CPU_MICROS[pattern],
    is: 'at most',
    show: value => `${formatNumber(value, 2)} µs`,
  });
}

function latencyTarget(results: Results, store: Store): Target {
  const rounds = roundsOf(results, 'hot', '1x1');
  return target({
    title: `${titleOf(store)}, one hot key, 1 × 1: mean latency to the baseline's`,
    value: ratioOf(rounds, 'meanMs', { over: serviceOn(store, 'few'), under: 'baseline' }),
    bound: 1,
    is: 'at most',
    show: value => `${formatNumber(value, 2)}×`,
  });
}

function rulesTarget(results: Results, store: Store): Target {
  const rounds = roundsOf(results, 'rules', '8x32');
  return target({
    title: `${titleOf(store)}: requests/s with 100 000 rules to those with ten`,
    value: ratioOf(rounds, 'requestsPerSecond', {
      over: serviceOn(store, 'many'),
      under: serviceOn(store, 'few'),
    }),
    bound: MANY_RULES_SHARE,
    is: 'at least',
    show: value => `${formatNumber(value * 100)} %`,
  });
}

/** One for each scenario of the part, by its slowest kind of limits. */
function limitTargets({ limits }: Results): Target[] {
  return limits.flatMap(({ scenario, rounds }) => {
    const [plain, ...others] = scenario.contestants;
    if (others.length === 0) return [];
    const ratios = others.map(kind => ratioOf(rounds, 'requestsPerSecond', { over: kind, under: plain }));
    const least = Math.min(...ratios);
    const slowest = CONTESTANTS[others[ratios.indexOf(least)]].title;
    return target({
      title: `${titleOfScenario(scenario)}: requests/s of the slowest kind of limits (${slowest}) to plain ones`,
      value: least,
      bound: LIMITS_SHARE,
      is: 'at least',
      show: value => `${formatNumber(value * 100)} %`,
    });
  });
}

/** By CPU, because the generator limits the rates. */
function checkTargets({ checks }: Results): Target[] {
  return checks
    .filter(({ scenario }) => scenario.front === 'check')
    .flatMap(check =>
      check.scenario.contestants.map(contestant =>
        target({
          title: `${titleOfScenario(check.scenario)}, ${CONTESTANTS[contestant].title}: CPU for a request to that of /json`,
          value: ratioToJson(checks, check, contestant, 'cpuMicros'),
          bound: CHECK_CPU,
          is: 'at most',
          show: value => `${formatNumber(value, 2)}×`,
        }),
      ),
    );
}

function halfPeakTargets({ halfPeak }: Results, store: Store): Target[] {
  return (['keys', 'hot'] as const).map(pattern => {
    const found = halfPeak.find(result => result.store === store && result.pattern === pattern);
    return target({
      title: `${titleOf(store)}, ${PATTERNS[pattern].title}: p99 at half of the peak rate`,
      value: median((found?.rounds ?? []).map(({ p99Ms }: Figures) => p99Ms)),
      bound: HALF_PEAK_P99_MS,
      is: 'at most',
      show: value => `${formatNumber(value, 2)} ms`,
    });
  });
}

function everydayTarget({ everyday }: Results): Target {
  const found = everyday.find(
    ({ contestant, arrivals }) => contestant === 'redis' && arrivals === 'one by one',
  );
  return target({
    title: `${titleOf('redis')}, 10 000 a second one by one: CPU for a decision`,
    value: median((found?.rounds ?? []).map(({ cpuMicros }: Figures) => cpuMicros)),
    bound: EVERYDAY_CPU_MICROS,
    is: 'at most',
    show: value => `${formatNumber(value, 1)} µs`,
  });
}

function reloadTarget({ reloads }: Results, store: Store): Target {
  return target({
    title: `${titleOf(store)}: what a reload of 100 000 rules adds to the p99 of its worst second`,
    value: reloads.find(result => result.store === store)?.liftMs ?? Number.NaN,
    bound: RELOAD_LIFT_MS,
    is: 'at most',
    show: value => `${formatNumber(value, 1)} ms`,
  });
}

interface Bounded {
  readonly title: string;
  /** NaN when it was not measured. */
  readonly value: number;
  readonly bound: number;
  readonly is: 'at least' | 'at most';
  readonly show: (value: number) => string;
}

/** A target, which is met or missed by the value. */
export function target({ title, value, bound, is, show }: Bounded): Target {
  const reaches = is === 'at least' ? value >= bound : value <= bound;
  return {
    title,
    wanted: `${is} ${show(bound)}`,
    measured: Number.isNaN(value) ? '-' : show(value),
    isMet: Number.isNaN(value) ? null : reaches,
  };
}

function roundsOf(
  { scenarios }: Results,
  pattern: ScenarioPattern,
  connections: ConnectionsName,
): readonly Round[] {
  const found = scenarios.find(
    ({ scenario }) =>
      scenario.front === 'grpc' && scenario.pattern === pattern && scenario.connections === connections,
  );
  return found?.rounds ?? [];
}

function titleOf(store: Store): string {
  return CONTESTANTS[store].title;
}

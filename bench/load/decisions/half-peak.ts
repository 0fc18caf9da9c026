import type { Progress } from '../../support/progress.ts';
import { CONTESTANTS, type Store, serviceOn } from './contestants.ts';
import type { Field } from './field.ts';
import { type Figures, medianFigures, type ScenarioResult } from './figures.ts';
import { type Durations, measure } from './measure.ts';
import type { PatternName } from './patterns.ts';
import type { Scenario } from './scenario.ts';

export const HALF_PEAK_PATTERNS: readonly PatternName[] = ['keys', 'hot'];

/** What happens at half of the rate that the store was found to be capable of. */
export interface HalfPeakResult {
  readonly store: Store;
  readonly pattern: PatternName;
  /** The highest median of the rounds. */
  readonly peakPerSecond: number;
  readonly rounds: readonly Figures[];
}

export interface HalfPeak {
  readonly field: Field;
  readonly stores: readonly Store[];
  readonly patterns: readonly PatternName[];
  readonly rounds: number;
  readonly durations: Durations;
  /** What was measured before: the peak is taken from it, or measured where it is not in it. */
  readonly measured: readonly ScenarioResult[];
  readonly folder: string;
  readonly progress: Progress;
}

/** Measures paced loads: calls come at a steady rate, whether or not earlier ones have been answered. */
export async function measureHalfPeak(half: HalfPeak): Promise<HalfPeakResult[]> {
  const { field, stores, patterns, durations, folder, progress } = half;
  const results: HalfPeakResult[] = [];
  for (const store of stores) {
    for (const pattern of patterns) {
      const contestant = serviceOn(store, 'few');
      const scenario: Scenario = { front: 'grpc', pattern, connections: '8x32', contestants: [contestant] };
      const common = { field, scenario, contestant, durations, folder };
      const peakPerSecond =
        peakOf(half.measured, store, pattern) ??
        (await measure({ ...common, callsPerSecond: null })).requestsPerSecond;
      const rounds: Figures[] = [];
      for (let round = 0; round < half.rounds; round++) {
        progress.step(`half of the peak, ${CONTESTANTS[contestant].title}, ${pattern}`);
        rounds.push(await measure({ ...common, callsPerSecond: peakPerSecond / 2 }));
      }
      results.push({ store, pattern, peakPerSecond, rounds });
    }
  }
  return results;
}

/** The highest rate of a store, whatever the connections; undefined when it was not measured. */
export function peakOf(
  results: readonly ScenarioResult[],
  store: Store,
  pattern: Scenario['pattern'],
): number | undefined {
  const contestant = pattern === 'rules' ? serviceOn(store, 'many') : serviceOn(store, 'few');
  const rates = results
    .filter(({ scenario }) => scenario.front === 'grpc' && scenario.pattern === pattern)
    .map(({ rounds }) => medianFigures(rounds, contestant).requestsPerSecond)
    .filter(rate => rate > 0);
  return rates.length === 0 ? undefined : Math.max(...rates);
}

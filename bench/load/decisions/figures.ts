import type { LoadWindow } from '../../support/load-window.ts';
import { median, medianRatio } from '../../support/statistics.ts';
import type { ContestantName } from './contestants.ts';
import type { Scenario } from './scenario.ts';

/** What one contestant did in one round of one scenario. NaN for what a generator does not tell. */
export interface Figures {
  readonly requestsPerSecond: number;
  readonly meanMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  /** Processor time of the contestant's process, all its threads, for one answer. */
  readonly cpuMicros: number;
  /** Shares of one core that were used: by the contestant, its store, and the generator. */
  readonly busy: number;
  readonly storeBusy: number;
  readonly generatorBusy: number;
}

export type Round = Readonly<Partial<Record<ContestantName, Figures>>>;

export interface ScenarioResult {
  readonly scenario: Scenario;
  readonly rounds: readonly Round[];
}

export function figuresOf({ latency, seconds, cpuMs, generatorBusy }: LoadWindow): Figures {
  return {
    requestsPerSecond: latency.count / seconds,
    meanMs: latency.meanMs,
    p50Ms: latency.p50Ms,
    p99Ms: latency.p99Ms,
    p999Ms: latency.p999Ms,
    cpuMicros: ((cpuMs['service'] ?? Number.NaN) * 1_000) / latency.count,
    busy: (cpuMs['service'] ?? Number.NaN) / 1_000 / seconds,
    storeBusy: (cpuMs['store'] ?? Number.NaN) / 1_000 / seconds,
    generatorBusy,
  };
}

const FIGURES = [
  'requestsPerSecond',
  'meanMs',
  'p50Ms',
  'p99Ms',
  'p999Ms',
  'cpuMicros',
  'busy',
  'storeBusy',
  'generatorBusy',
] as const satisfies (keyof Figures)[];

/** The median over the rounds of each figure; NaN where there is none. */
export function medianFigures(rounds: readonly Round[], contestant: ContestantName): Figures {
  const entries = FIGURES.map(figure => [figure, median(valuesOf(rounds, contestant, figure))] as const);
  return Object.fromEntries(entries) as unknown as Figures;
}

/** How many times `over` has the figure of `under`: the median over the rounds of the ratio within a round. */
export function ratioOf(
  rounds: readonly Round[],
  figure: keyof Figures,
  { over, under }: { readonly over: ContestantName; readonly under: ContestantName },
): number {
  return medianRatio(valuesOf(rounds, over, figure), valuesOf(rounds, under, figure));
}

/** A figure of a contestant in each round; NaN where there is none. */
export function valuesOf(
  rounds: readonly Round[],
  contestant: ContestantName,
  figure: keyof Figures,
): number[] {
  return rounds.map(round => round[contestant]?.[figure] ?? Number.NaN);
}

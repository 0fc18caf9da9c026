import { median, percentile } from '../../support/statistics.ts';
import { formatNumber, formatTable } from '../../support/table.ts';
import { CONTESTANTS } from '../decisions/contestants.ts';
import type { Figures, ScenarioResult } from '../decisions/figures.ts';
import { titleOfScenario } from '../decisions/scenario.ts';
import type { LivePageResult } from './live-page.ts';

/** The figures of something, round by round. */
interface Side {
  readonly title: string;
  readonly rounds: readonly Figures[];
}

/** A feature, and what it is compared with in the same rounds. */
export interface Comparison {
  readonly title: string;
  /** Without the feature. */
  readonly usual: Side;
  /** With the feature last. */
  readonly others: readonly Side[];
}

/** Compares the contestants of each scenario with its first one. */
export function comparisonsOf(results: readonly ScenarioResult[]): Comparison[] {
  return results.map(({ scenario, rounds }) => {
    const [usual, ...others] = scenario.contestants.map(contestant => ({
      title: CONTESTANTS[contestant].title,
      rounds: rounds.flatMap(round => round[contestant] ?? []),
    }));
    return { title: titleOfScenario(scenario), usual, others };
  });
}

/** Compares a service whose live page is open with the same one while it is closed. */
export function pageComparisons(results: readonly LivePageResult[]): Comparison[] {
  return results.map(({ scenario, view, rounds }) => {
    const service = CONTESTANTS[scenario.contestants[0]].title;
    return {
      title: titleOfScenario(scenario),
      usual: { title: `${service}, page closed`, rounds: rounds.map(({ closed }) => closed) },
      others: [{ title: `${service}, ${view} open`, rounds: rounds.map(({ open }) => open) }],
    };
  });
}

/** The ratios of a figure within each round, in ascending order. */
function ratios(side: Side, usual: Side, figure: 'requestsPerSecond' | 'cpuMicros'): number[] {
  return side.rounds.map((each, round) => each[figure] / usual.rounds[round][figure]).sort((a, b) => a - b);
}

/** The median of the ratios of the rates with the feature to those without. */
export function rateShare({ usual, others }: Comparison): number {
  return median(ratios(others[others.length - 1], usual, 'requestsPerSecond'));
}

/** Medians, ratios to the usual side, and the quartiles of the ratios: they show how noisy the machine was. */
export function comparisonTable(comparisons: readonly Comparison[]): string[] {
  const rows = comparisons.flatMap(({ title, usual, others }) => [
    [title],
    ...[usual, ...others].map(side => [
      `  ${side.title}`,
      formatNumber(median(side.rounds.map(({ requestsPerSecond }) => requestsPerSecond))),
      ...ratioCells(side, usual, 'requestsPerSecond'),
      formatNumber(median(side.rounds.map(({ cpuMicros }) => cpuMicros)), 2),
      ...ratioCells(side, usual, 'cpuMicros'),
      formatNumber(median(side.rounds.map(({ generatorBusy }) => generatorBusy)) * 100),
    ]),
  ]);
  const head = ['scenario', 'requests/s', '× first', 'quartiles', 'CPU µs', '× first', 'quartiles'];
  return formatTable([...head, 'generator %'], rows);
}

function ratioCells(side: Side, usual: Side, figure: 'requestsPerSecond' | 'cpuMicros'): string[] {
  if (side === usual) return ['', ''];
  const sorted = ratios(side, usual, figure);
  const [low, high] = [25, 75].map(percent => formatNumber(percentile(sorted, percent), 3));
  return [formatNumber(median(sorted), 3), `${low}–${high}`];
}

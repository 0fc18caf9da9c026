import { median } from '../../support/statistics.ts';
import { formatNumber, formatTable } from '../../support/table.ts';
import { CONTESTANTS, type ContestantName } from './contestants.ts';
import { EVERYDAY_CALLS_PER_SECOND, type EverydayResult, titleOfEveryday } from './everyday.ts';
import { type Figures, medianFigures, type Round, ratioOf, type ScenarioResult } from './figures.ts';
import type { HalfPeakResult } from './half-peak.ts';
import { PATTERNS } from './patterns.ts';
import type { ReloadResult } from './reload.ts';
import { titleOfScenario } from './scenario.ts';
import type { Target } from './targets.ts';

const HEAD = [
  'scenario',
  'requests/s',
  '× baseline',
  'mean ms',
  'p50 ms',
  'p99 ms',
  'p99.9 ms',
  'CPU µs',
  'busy %',
  'store %',
  'generator %',
];

/**
 * The medians of all contestants, scenario by scenario.
 *
 * @param peer the name of the other service; null for none
 */
export function loadTable(results: readonly ScenarioResult[], peer: string | null = null): string[] {
  const titleOf = (contestant: ContestantName): string =>
    contestant === 'peer' && peer !== null ? peer : CONTESTANTS[contestant].title;
  const rows = results.flatMap(({ scenario, rounds }) => [
    [titleOfScenario(scenario)],
    ...scenario.contestants.map(contestant => [
      `  ${titleOf(contestant)}`,
      ...cellsOf(medianFigures(rounds, contestant), baselineRatio(rounds, contestant)),
    ]),
  ]);
  return formatTable(HEAD, rows);
}

function baselineRatio(rounds: readonly Round[], contestant: ContestantName): string {
  if (contestant === 'baseline') return '';
  return formatNumber(ratioOf(rounds, 'requestsPerSecond', { over: contestant, under: 'baseline' }), 1);
}

function cellsOf(figures: Figures, ratio: string): string[] {
  return [
    formatNumber(figures.requestsPerSecond),
    ratio,
    formatNumber(figures.meanMs, 3),
    formatNumber(figures.p50Ms, 3),
    formatNumber(figures.p99Ms, 3),
    formatNumber(figures.p999Ms, 3),
    formatNumber(figures.cpuMicros, 2),
    formatNumber(figures.busy * 100),
    formatNumber(figures.storeBusy * 100),
    formatNumber(figures.generatorBusy * 100),
  ];
}

/** What a steady rate of half of the peak does. */
export function halfPeakTable(results: readonly HalfPeakResult[]): string[] {
  const rows = results.map(({ store, pattern, peakPerSecond, rounds }) => {
    const of = (figure: keyof Figures): number => median(rounds.map(each => each[figure]));
    return [
      `${CONTESTANTS[store].title}, ${PATTERNS[pattern].title}`,
      formatNumber(peakPerSecond),
      formatNumber(of('requestsPerSecond')),
      formatNumber(of('p50Ms'), 3),
      formatNumber(of('p99Ms'), 3),
      formatNumber(of('p999Ms'), 3),
      formatNumber(of('cpuMicros'), 2),
      formatNumber(of('generatorBusy') * 100),
    ];
  });
  const head = ['steady rate, half of the peak', 'peak/s', 'requests/s', 'p50 ms', 'p99 ms', 'p99.9 ms'];
  return formatTable([...head, 'CPU µs', 'generator %'], rows);
}

/** What a decision costs at an everyday rate. */
export function everydayTable(results: readonly EverydayResult[]): string[] {
  const rows = results.map(result => {
    const of = (figure: keyof Figures): number => median(result.rounds.map(each => each[figure]));
    return [
      titleOfEveryday(result),
      formatNumber(of('requestsPerSecond')),
      formatNumber(of('p50Ms'), 3),
      formatNumber(of('p99Ms'), 3),
      formatNumber(of('cpuMicros'), 1),
      formatNumber((of('storeBusy') * 1_000_000) / of('requestsPerSecond'), 1),
      formatNumber(of('generatorBusy') * 100),
    ];
  });
  const title = `steady ${formatNumber(EVERYDAY_CALLS_PER_SECOND)} a second, 8 connections`;
  return formatTable([title, 'requests/s', 'p50 ms', 'p99 ms', 'CPU µs', 'store µs', 'generator %'], rows);
}

/** Second by second, what a reload does to those who ask meanwhile. */
export function reloadTables(results: readonly ReloadResult[]): string[] {
  return results.flatMap(({ store, callsPerSecond, reloadMs, seconds }, i) => [
    ...(i === 0 ? [] : ['']),
    `Reload of 100 000 rules, ${CONTESTANTS[store].title}: active after ${formatNumber(reloadMs)} ms, ` +
      `at ${formatNumber(callsPerSecond)} requests/s`,
    ...formatTable(
      ['second', 'requests/s', 'p99 ms', 'max ms'],
      seconds.map(({ phase, requestsPerSecond, p99Ms, maxMs }) => [
        phase,
        formatNumber(requestsPerSecond),
        formatNumber(p99Ms, 3),
        formatNumber(maxMs, 3),
      ]),
    ),
  ]);
}

export function targetTable(targets: readonly Target[]): string[] {
  return formatTable(
    ['target', 'wanted', 'measured', ''],
    targets.map(({ title, wanted, measured, isMet }) => [
      title,
      wanted,
      measured,
      isMet === null ? 'not measured' : isMet ? 'met' : 'missed',
    ]),
  );
}

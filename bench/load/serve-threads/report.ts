import { formatNumber, formatTable } from '../../support/table.ts';
import { CONTESTANTS } from '../decisions/contestants.ts';
import { titleOfScenario } from '../decisions/scenario.ts';
import type { Target } from '../decisions/targets.ts';
import { busiestShare } from './balance.ts';
import { medianOf, ratioBetween, type ThreadsFigure, type ThreadsResult } from './results.ts';

const HEAD = [
  'SERVE_THREADS',
  'requests/s',
  '× first',
  'p50 ms',
  'p99 ms',
  'CPU µs',
  '× first',
  'busy %',
  'store %',
  'generator %',
  'connections %',
  'decisions %',
];

/** At the same rate, two threads may use this much more processor time for a decision than one. */
const CPU_RATIO = 1.1;

/** Rates that differ by more than this from the steady rate are not the same rate. */
const RATE_TOLERANCE = 0.05;

/**
 * The medians of each number of threads, load by load, and how many times those of the first number. The last two columns
 * are the shares of the thread with the most connections, and of the thread with the most decisions.
 */
export function threadsTable(results: readonly ThreadsResult[]): string[] {
  return formatTable(
    HEAD,
    results.flatMap(result => [
      [titleOf(result)],
      ...result.counts.map(count => [`  ${count}`, ...cellsOf(result, count)]),
    ]),
  );
}

/** Whether two threads cost little more than one, for the loads at the same rate that were measured with both. */
export function threadTargets(results: readonly ThreadsResult[]): Target[] {
  return results
    .filter(
      ({ callsPerSecond, counts }) => callsPerSecond !== null && counts.includes(1) && counts.includes(2),
    )
    .map(result => {
      const ratio = ratioBetween(result, { over: 2, under: 1 }, cpuMicros);
      const isComparable = [1, 2].every(count => keepsRate(result, count));
      return {
        title: `${titleOf(result)}: CPU of 2 threads to that of 1`,
        wanted: `at most ${formatNumber(CPU_RATIO, 2)}×`,
        measured: isComparable ? `${formatNumber(ratio, 2)}×` : 'different rates',
        isMet: isComparable && Number.isFinite(ratio) ? ratio <= CPU_RATIO : null,
      };
    });
}

/** On a machine with other work, a service may not reach the steady rate, or only catch up with it later. */
function keepsRate(result: ThreadsResult, count: number): boolean {
  const rate = medianOf(result, count, round => round.requestsPerSecond);
  const wanted = result.callsPerSecond ?? Number.NaN;
  return Math.abs(rate - wanted) <= RATE_TOLERANCE * wanted;
}

const cpuMicros: ThreadsFigure = round => round.cpuMicros;

function cellsOf(result: ThreadsResult, count: number): string[] {
  const of = (figure: ThreadsFigure): number => medianOf(result, count, figure);
  const first = result.counts[0];
  const ratio = (figure: ThreadsFigure): string =>
    count === first ? '' : formatNumber(ratioBetween(result, { over: count, under: first }, figure), 2);
  const isPaced = result.callsPerSecond !== null;
  return [
    formatNumber(of(round => round.requestsPerSecond)),
    isPaced ? '' : ratio(round => round.requestsPerSecond),
    formatNumber(
      of(round => round.p50Ms),
      3,
    ),
    formatNumber(
      of(round => round.p99Ms),
      3,
    ),
    formatNumber(of(cpuMicros), 2),
    ratio(cpuMicros),
    formatNumber(of(round => round.busy) * 100),
    formatNumber(of(round => round.storeBusy) * 100),
    formatNumber(of(round => round.generatorBusy) * 100),
    formatNumber(of(round => busiestShare(round.threads, 'connections')) * 100),
    formatNumber(of(round => busiestShare(round.threads, 'decisions')) * 100),
  ];
}

function titleOf({ scenario, store, callsPerSecond }: ThreadsResult): string {
  const title = `${CONTESTANTS[store].title}, ${titleOfScenario(scenario)}`;
  return callsPerSecond === null ? title : `${title}, steady ${formatNumber(callsPerSecond)} a second`;
}

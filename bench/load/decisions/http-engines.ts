import { formatNumber, formatTable } from '../../support/table.ts';
import type { ContestantName } from './contestants.ts';
import { type Figures, medianFigures, ratioOf, type ScenarioResult } from './figures.ts';
import { type Scenario, titleOfScenario } from './scenario.ts';

/** The same service on the same store, with each engine of the HTTP ports. */
const USUAL: ContestantName = 'embedded';
const NODE: ContestantName = 'embedded-node';
/** What uWebSockets.js does at least, which the default engine is compared with. */
const LEAST: ContestantName = 'hello';

/** The names of the rows. */
const ROWS: Readonly<Partial<Record<ContestantName, string>>> = {
  [USUAL]: '  uws',
  [NODE]: '  node',
  [LEAST]: '  hello world',
};

/** Three rounds are enough to determine the ratio. */
const MOST_ROUNDS = 3;

/** The part that compares the HTTP engines. */
export function engineScenarios(): Scenario[] {
  const contestants = [USUAL, NODE, LEAST];
  return (['1x1', '8x32'] as const).map(connections => ({
    front: 'json',
    pattern: 'hot',
    connections,
    contestants,
  }));
}

export function engineRounds(rounds: number): number {
  return Math.min(rounds, MOST_ROUNDS);
}

/** The figures of each engine, and the ratio to the default engine. */
export function enginesTable(results: readonly ScenarioResult[]): string[] {
  const rows = results.flatMap(({ scenario, rounds }) => [
    [titleOfScenario(scenario)],
    ...scenario.contestants.map(contestant => {
      const { requestsPerSecond, p50Ms, p99Ms, cpuMicros } = medianFigures(rounds, contestant);
      const ratio = (figure: keyof Figures): string =>
        contestant === USUAL
          ? ''
          : formatNumber(ratioOf(rounds, figure, { over: contestant, under: USUAL }), 2);
      return [
        ROWS[contestant] ?? contestant,
        formatNumber(requestsPerSecond),
        ratio('requestsPerSecond'),
        formatNumber(p50Ms, 3),
        formatNumber(p99Ms, 3),
        formatNumber(cpuMicros, 2),
        ratio('cpuMicros'),
      ];
    }),
  ]);
  const head = ['HTTP_SERVER_ENGINE', 'requests/s', '× uws', 'p50 ms', 'p99 ms', 'CPU µs', '× uws'];
  return formatTable(head, rows);
}

import { medianRatio } from '../../support/statistics.ts';
import { formatNumber, formatTable } from '../../support/table.ts';
import { CONTESTANTS, type ContestantName, type Store, serviceThatMaps } from './contestants.ts';
import { type Figures, medianFigures, type ScenarioResult, valuesOf } from './figures.ts';
import { type Scenario, titleOfScenario } from './scenario.ts';

/** The part that compares `/check` with `/json`: the same service decides the same descriptors, in turns. */
export function checkScenarios(stores: readonly Store[]): Scenario[] {
  const contestants = stores.map(serviceThatMaps);
  return (['hot', 'four'] as const).flatMap(pattern =>
    (['json', 'check'] as const).map(front => ({ front, pattern, connections: '8x32', contestants })),
  );
}

/** The figures of both, and the ratio of `/check` to `/json`. */
export function checksTable(results: readonly ScenarioResult[]): string[] {
  const rows = results.flatMap(({ scenario, rounds }) => [
    [titleOfScenario(scenario)],
    ...scenario.contestants.map(contestant => {
      const { requestsPerSecond, p50Ms, p99Ms, cpuMicros } = medianFigures(rounds, contestant);
      const ratio = (figure: keyof Figures): string =>
        scenario.front === 'json'
          ? ''
          : formatNumber(ratioToJson(results, { scenario, rounds }, contestant, figure), 2);
      return [
        `  ${CONTESTANTS[contestant].title}`,
        formatNumber(requestsPerSecond),
        ratio('requestsPerSecond'),
        formatNumber(p50Ms, 3),
        formatNumber(p99Ms, 3),
        formatNumber(cpuMicros, 2),
        ratio('cpuMicros'),
      ];
    }),
  ]);
  const head = ['/check and /json', 'requests/s', '× json', 'p50 ms', 'p99 ms', 'CPU µs', '× json'];
  return formatTable(head, rows);
}

/** The ratio of `/check` to `/json` with the same pattern: the median over the rounds of the ratio within a round. */
export function ratioToJson(
  results: readonly ScenarioResult[],
  { scenario, rounds }: ScenarioResult,
  contestant: ContestantName,
  figure: keyof Figures,
): number {
  const json = results.find(
    other => other.scenario.front === 'json' && other.scenario.pattern === scenario.pattern,
  );
  return medianRatio(valuesOf(rounds, contestant, figure), valuesOf(json?.rounds ?? [], contestant, figure));
}

import { formatNumber, formatTable } from '../../support/table.ts';
import { CONTESTANTS, type Store, serviceWithLimits } from './contestants.ts';
import { type Figures, medianFigures, ratioOf, type ScenarioResult } from './figures.ts';
import type { LimitKindName } from './limit-kinds.ts';
import { type Scenario, titleOfScenario } from './scenario.ts';

/** Rounds when the part is one of several. On its own, it has as many as are asked for. */
const FEW_ROUNDS = 2;

/** The part that compares kinds of limits: a service for each, whose rule for the key differs and nothing else. */
export function limitScenarios(stores: readonly Store[], kinds: readonly LimitKindName[]): Scenario[] {
  return stores.flatMap(store =>
    (['hot', 'keys'] as const).map(pattern => ({
      front: 'grpc',
      pattern,
      connections: '8x32',
      contestants: kinds.map(kind => serviceWithLimits(store, kind)),
    })),
  );
}

export function limitRounds(rounds: number, isOnly: boolean): number {
  return isOnly ? rounds : Math.min(rounds, FEW_ROUNDS);
}

/** The figures of each kind, and the ratio to plain limits. */
export function limitsTable(results: readonly ScenarioResult[]): string[] {
  const rows = results.flatMap(({ scenario, rounds }) => [
    [titleOfScenario(scenario)],
    ...scenario.contestants.map(contestant => {
      const { requestsPerSecond, p50Ms, p99Ms, cpuMicros, storeBusy } = medianFigures(rounds, contestant);
      const [plain] = scenario.contestants;
      const ratio = (figure: keyof Figures): string =>
        contestant === plain
          ? ''
          : formatNumber(ratioOf(rounds, figure, { over: contestant, under: plain }), 2);
      return [
        `  ${CONTESTANTS[contestant].title}`,
        formatNumber(requestsPerSecond),
        ratio('requestsPerSecond'),
        formatNumber(p50Ms, 3),
        formatNumber(p99Ms, 3),
        formatNumber(cpuMicros, 2),
        ratio('cpuMicros'),
        formatNumber(storeBusy * 100),
      ];
    }),
  ]);
  const head = ['kind of limit', 'requests/s', '× plain', 'p50 ms', 'p99 ms', 'CPU µs', '× plain', 'store %'];
  return formatTable(head, rows);
}

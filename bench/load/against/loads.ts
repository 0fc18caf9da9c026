import { formatNumber } from '../../support/table.ts';
import { CONTESTANTS, type ContestantName, serviceOn } from '../decisions/contestants.ts';
import { ARRIVALS, EVERYDAY_CALLS_PER_SECOND } from '../decisions/everyday.ts';
import { HALF_PEAK_PATTERNS } from '../decisions/half-peak.ts';
import { PATTERNS, type PatternName } from '../decisions/patterns.ts';
import type { Plan } from '../decisions/plan.ts';
import { loadScenarios, type Scenario, storesOf, titleOfScenario } from '../decisions/scenario.ts';

/** One load on one service, which both builds get in each round. */
export interface BuildLoad {
  readonly title: string;
  readonly contestant: ContestantName;
  readonly scenario: Scenario;
  /** Calls per second; null for calls that follow on answers. Half of the peak is that of the other build. */
  readonly rate: number | 'half of the peak' | null;
  /** For a steady rate: calls are sent one at a time. */
  readonly apart: boolean;
}

/** All loads of a round, in their order. */
export function loadsOf({ parts, selection }: Pick<Plan, 'parts' | 'selection'>): BuildLoad[] {
  const stores = storesOf(selection.stores);
  return [
    ...(parts.includes('load') ? highestRates(selection) : []),
    ...stores.flatMap(store => [
      ...(parts.includes('half-peak')
        ? HALF_PEAK_PATTERNS.map(pattern =>
            steady(serviceOn(store, 'few'), pattern, 'half of the peak', 'half of the peak'),
          )
        : []),
      ...(parts.includes('everyday')
        ? ARRIVALS.map(arrivals =>
            steady(
              serviceOn(store, 'few'),
              'keys',
              EVERYDAY_CALLS_PER_SECOND,
              `${formatNumber(EVERYDAY_CALLS_PER_SECOND)} a second, ${arrivals}`,
              arrivals === 'one by one',
            ),
          )
        : []),
    ]),
  ];
}

/** Without the cross-check with h2load, unless it is asked for: it does not say how long calls take. */
function highestRates(selection: Plan['selection']): BuildLoad[] {
  const scenarios = loadScenarios({ ...selection, baseline: false, peer: false }).filter(
    ({ front }) => front !== 'h2load' || selection.fronts.includes('h2load'),
  );
  return scenarios.flatMap(scenario =>
    scenario.contestants.map(contestant => ({
      title: `${CONTESTANTS[contestant].title}, ${titleOfScenario(scenario)}`,
      contestant,
      scenario,
      rate: null,
      apart: false,
    })),
  );
}

function steady(
  contestant: ContestantName,
  pattern: PatternName,
  rate: BuildLoad['rate'],
  rateTitle: string,
  apart = false,
): BuildLoad {
  return {
    title: `${CONTESTANTS[contestant].title}, ${PATTERNS[pattern].title}, steady ${rateTitle}`,
    contestant,
    scenario: { front: 'grpc', pattern, connections: '8x32', contestants: [contestant] },
    rate,
    apart,
  };
}

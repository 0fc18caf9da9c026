import { inTurns } from '../../support/comparison/turns.ts';
import type { Progress } from '../../support/progress.ts';
import { CONTESTANTS, type ContestantName } from './contestants.ts';
import type { Field } from './field.ts';
import type { Figures, ScenarioResult } from './figures.ts';
import { type Durations, measure } from './measure.ts';
import { type Scenario, titleOfScenario } from './scenario.ts';

export interface Rounds {
  readonly field: Field;
  readonly scenarios: readonly Scenario[];
  readonly count: number;
  readonly durations: Durations;
  /** Of the load, once for each contestant, before the first round: code is slow until it is compiled. */
  readonly firstWarmUpMs: number;
  readonly folder: string;
  readonly progress: Progress;
}

/** Steps that the rounds report as progress. */
export function stepsOf(scenarios: readonly Scenario[], count: number): number {
  const runs = scenarios.reduce((sum, { contestants }) => sum + contestants.length, 0);
  return runs * count + warmUpsOf(scenarios).length;
}

export function contestantsIn(scenarios: readonly Scenario[]): ContestantName[] {
  return [...new Set(scenarios.flatMap(({ contestants }) => contestants))];
}

/** Every round has every scenario, and in it the contestants take turns: noise of the machine falls on all of them. */
export async function runRounds(rounds: Rounds): Promise<ScenarioResult[]> {
  const { field, scenarios, count, durations, folder, progress } = rounds;
  await warmUp(rounds);
  const results = scenarios.map(scenario => ({
    scenario,
    rounds: [] as Partial<Record<ContestantName, Figures>>[],
  }));
  for (let round = 1; round <= count; round++) {
    for (const { scenario, rounds: done } of results) {
      const figures: Partial<Record<ContestantName, Figures>> = {};
      for (const contestant of inTurns(scenario.contestants, round)) {
        progress.step(`round ${round}, ${titleOfScenario(scenario)}: ${CONTESTANTS[contestant].title}`);
        figures[contestant] = await measure({
          field,
          scenario,
          contestant,
          durations,
          callsPerSecond: null,
          folder,
        });
      }
      done.push(figures);
    }
  }
  return results;
}

/** Everyone's keys and rules are asked for once before the rounds, as far as the time allows. */
async function warmUp({ field, scenarios, firstWarmUpMs, folder, progress }: Rounds): Promise<void> {
  for (const { contestant, pattern } of warmUpsOf(scenarios)) {
    progress.step(`warm-up: ${CONTESTANTS[contestant].title}`);
    await measure({
      field,
      scenario: { front: 'grpc', pattern, connections: '8x32', contestants: [contestant] },
      contestant,
      durations: { warmUpMs: firstWarmUpMs, measuredMs: 1 },
      callsPerSecond: null,
      folder,
    });
  }
}

interface WarmUp {
  readonly contestant: ContestantName;
  readonly pattern: 'keys' | 'rules';
}

function warmUpsOf(scenarios: readonly Scenario[]): WarmUp[] {
  return (['keys', 'rules'] as const).flatMap(pattern => {
    const warmed = scenarios.filter(scenario => (scenario.pattern === 'rules') === (pattern === 'rules'));
    return contestantsIn(warmed).flatMap(contestant =>
      contestant === 'hello' ? [] : { contestant, pattern },
    );
  });
}

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ForkedChild } from '../../support/forked-child.ts';
import { framed } from '../../support/grpc-framing.ts';
import { Progress } from '../../support/progress.ts';
import { REQUEST } from './call.ts';
import type { ContestantAnswers, ContestantReady } from './contestant.ts';
import {
  CONTESTANTS,
  type Contestant,
  type Figures,
  nameOfScenario,
  SCENARIOS,
  type ScenarioResult,
} from './figures.ts';
import { type Durations, type Measurement, measure, warmUp } from './measure.ts';
import { probe } from './probe.ts';

export interface Comparison {
  readonly rounds: number;
  readonly durations: Durations;
  /** The module of a child process by its name. */
  readonly entryOf: (name: string) => URL;
}

/** The load of the warm-up. */
const USUAL_SCENARIO = SCENARIOS[1];

/** Starts every server in a process of its own and measures them in turns. */
export async function compare({ rounds, durations, entryOf }: Comparison): Promise<ScenarioResult[]> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-grpc-'));
  const bodyFile = join(folder, 'request');
  const logFile = join(folder, 'log');
  const children = CONTESTANTS.map(
    name => [name, new ForkedChild<ContestantAnswers>({ entry: entryOf(name) })] as const,
  );
  try {
    writeFileSync(bodyFile, framed(REQUEST));
    const measurements = new Map<Contestant, Omit<Measurement, 'scenario'>>();
    for (const [name, child] of children) {
      const { port } = await child.ready<ContestantReady>();
      await probe(name, port);
      measurements.set(name, { child, port, durations, bodyFile, logFile });
    }
    return await runRounds(rounds, measurements);
  } finally {
    await Promise.all(children.map(([, child]) => child.stop()));
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Every round has every scenario, and in it the servers take turns: noise of the machine falls on all of them. */
async function runRounds(
  count: number,
  measurements: ReadonlyMap<Contestant, Omit<Measurement, 'scenario'>>,
): Promise<ScenarioResult[]> {
  const progress = new Progress(measurements.size * (1 + count * SCENARIOS.length));
  for (const [name, measurement] of measurements) {
    progress.step(`warm-up: ${name}`);
    await warmUp({ ...measurement, scenario: USUAL_SCENARIO });
  }
  const results = SCENARIOS.map(scenario => ({
    scenario,
    rounds: [] as Record<Contestant, Figures>[],
  }));
  for (let round = 1; round <= count; round++) {
    for (const { scenario, rounds } of results) {
      const figures: Partial<Record<Contestant, Figures>> = {};
      for (const [name, measurement] of measurements) {
        progress.step(`round ${round}, ${nameOfScenario(scenario)}: ${name}`);
        figures[name] = await measure({ ...measurement, scenario });
      }
      rounds.push(figures as Record<Contestant, Figures>);
    }
  }
  progress.end();
  return results;
}

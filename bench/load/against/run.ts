import { writeFileSync } from 'node:fs';
import { repositoryRoot } from '../../../test/support/repository.ts';
import { buildCommit, commitOf } from '../../support/comparison/other-build.ts';
import { comparedRatio, comparedTable } from '../../support/comparison/table.ts';
import { requireH2load } from '../../support/h2load.ts';
import { describeMachine } from '../../support/machine.ts';
import { Progress } from '../../support/progress.ts';
import { limitTime } from '../../support/run.ts';
import { makeWorkFolder } from '../../support/work-folder.ts';
import { Generators } from '../decisions/generators.ts';
import type { Durations } from '../decisions/measure.ts';
import type { Plan } from '../decisions/plan.ts';
import { loadsOf } from './loads.ts';
import { comparedBuilds } from './report.ts';
import { REST_MS, runBuildRounds, servicesOf, stepsOfRound } from './rounds.ts';

/** What a step takes beside the time in which it measures, and a service and its store to start and to end. */
const OVERHEAD_MS_A_STEP = 1_500;
const START_MS = 5_000;
/** The build, and the installation of its packages. */
const BUILD_MS = 10 * 60_000;

/** Compares the present build with that of a commit: the same loads on both, in turns. */
export async function compareBuilds(plan: Plan, revision: string): Promise<void> {
  const { rounds: count, durations, firstWarmUpMs, workers } = plan;
  const pacedDurations = plan.paced.durations;
  const loads = loadsOf(plan);
  if (loads.some(({ scenario }) => scenario.front === 'h2load')) await requireH2load();
  const hash = commitOf(revision);
  const msOf = ({ warmUpMs, measuredMs }: Durations): number => warmUpMs + measuredMs + OVERHEAD_MS_A_STEP;
  const longestStepMs = Math.max(msOf(durations), msOf(pacedDurations), firstWarmUpMs + OVERHEAD_MS_A_STEP);
  // Steps that measure peaks are as many as loads at most.
  const steps = stepsOfRound(loads) * count + loads.length;
  const roundMs = REST_MS + servicesOf(loads).length * 2 * START_MS;
  limitTime(BUILD_MS + steps * longestStepMs + count * roundMs);
  const folder = makeWorkFolder();
  const other = await buildCommit(hash, folder);
  const generators = new Generators();
  const progress = new Progress(stepsOfRound(loads) * count);
  const roots = { present: repositoryRoot(), other: other.root };
  const common = { generators, folder, progress };
  try {
    const result = await runBuildRounds({
      ...common,
      loads,
      roots,
      count,
      durations,
      pacedDurations,
      firstWarmUpMs,
      workers,
    });
    progress.end();
    const compared = comparedBuilds(result);
    console.log(comparedTable(compared, other.commit).join('\n'));
    if (plan.jsonFile === undefined) return;
    const ratios = compared.map(({ title, figures }) => ({
      title,
      figures: figures.map(figure => ({ ...figure, ...comparedRatio(figure) })),
    }));
    const report = { machine: describeMachine(), plan, against: hash, ...result, ratios };
    writeFileSync(plan.jsonFile, `${JSON.stringify(report, null, 2)}\n`);
  } finally {
    await generators.stop();
  }
}

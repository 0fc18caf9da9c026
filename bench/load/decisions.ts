import { writeFileSync } from 'node:fs';
import { requireH2load } from '../support/h2load.ts';
import { describeMachine } from '../support/machine.ts';
import { Progress } from '../support/progress.ts';
import { limitTime, runBench } from '../support/run.ts';
import { makeWorkFolder } from '../support/work-folder.ts';
import { compareBuilds } from './against/run.ts';
import { checkScenarios, checksTable } from './decisions/checks.ts';
import { type ContestantName, serviceOn } from './decisions/contestants.ts';
import { ARRIVALS, everydayContestants, measureEveryday } from './decisions/everyday.ts';
import { Field } from './decisions/field.ts';
import { HALF_PEAK_PATTERNS, measureHalfPeak, peakOf } from './decisions/half-peak.ts';
import { engineRounds, engineScenarios, enginesTable } from './decisions/http-engines.ts';
import { limitRounds, limitScenarios, limitsTable } from './decisions/limits.ts';
import { isOperatorPart, type Plan, readPlan, USAGE } from './decisions/plan.ts';
import { measureReload } from './decisions/reload.ts';
import { everydayTable, halfPeakTable, loadTable, reloadTables, targetTable } from './decisions/report.ts';
import { contestantsIn, runRounds, stepsOf } from './decisions/rounds.ts';
import { loadScenarios, rulesScenario, type Scenario, storesOf } from './decisions/scenario.ts';
import { type Results, targetsOf } from './decisions/targets.ts';
import { measureOperatorParts } from './operator/run.ts';
import { measureQuotas } from './quota/run.ts';
import { compareServeThreads } from './serve-threads/run.ts';

/** What a run takes beside the time in which it measures: starts, checks, and loads that end. */
const OVERHEAD_MS_A_STEP = 1_500;
const BEFORE_AND_AFTER_MS = 60_000;
const RELOAD_STEP_MS = 30_000;

/** What is run, and the contestants that it takes. */
interface Work {
  readonly scenarios: readonly Scenario[];
  /** Those of the part that compares kinds of limits, and how often they are run. */
  readonly limits: readonly Scenario[];
  readonly limitRounds: number;
  /** Those of the part that compares HTTP engines. */
  readonly engines: readonly Scenario[];
  /** Those of the part that compares `/check` with `/json`. */
  readonly checks: readonly Scenario[];
  readonly contestants: readonly ContestantName[];
  readonly steps: number;
  readonly limitMs: number;
}

function workOf({ parts, selection, limitKinds, rounds, durations, paced, everyday }: Plan): Work {
  const scenarios = [
    ...(parts.includes('load') ? loadScenarios(selection) : []),
    ...(parts.includes('rules') ? [rulesScenario(selection)] : []),
  ];
  const engines = parts.includes('http-engines') ? engineScenarios() : [];
  const stores = storesOf(selection.stores);
  const checks = parts.includes('check') ? checkScenarios(stores) : [];
  const limits = parts.includes('limits') ? limitScenarios(stores, limitKinds) : [];
  const roundsOfLimits = limitRounds(rounds, parts.length === 1);
  const few = stores.map(store => serviceOn(store, 'few'));
  const many = stores.map(store => serviceOn(store, 'many'));
  const contestants = new Set([
    ...contestantsIn([...scenarios, ...limits, ...engines, ...checks]),
    ...(parts.includes('half-peak') || parts.includes('everyday') ? few : []),
    ...(parts.includes('reload') ? many : []),
  ]);
  const roundSteps =
    stepsOf(scenarios, rounds) +
    stepsOf(limits, roundsOfLimits) +
    stepsOf(engines, engineRounds(rounds)) +
    stepsOf(checks, rounds);
  const pacedSteps = parts.includes('half-peak') ? few.length * HALF_PEAK_PATTERNS.length * paced.rounds : 0;
  const everydaySteps = parts.includes('everyday')
    ? everydayContestants(stores).length * ARRIVALS.length * everyday.rounds
    : 0;
  const reloadSteps = parts.includes('reload') ? many.length : 0;
  const msOf = ({ warmUpMs, measuredMs }: Plan['durations']): number =>
    warmUpMs + measuredMs + OVERHEAD_MS_A_STEP;
  return {
    scenarios,
    limits,
    limitRounds: roundsOfLimits,
    engines,
    checks,
    contestants: [...contestants],
    steps: roundSteps + pacedSteps + everydaySteps + reloadSteps,
    limitMs:
      roundSteps * msOf(durations) +
      pacedSteps * msOf(paced.durations) +
      everydaySteps * msOf(everyday.durations) +
      reloadSteps * RELOAD_STEP_MS +
      BEFORE_AND_AFTER_MS,
  };
}

async function runParts(plan: Plan, work: Work, field: Field, folder: string): Promise<Results> {
  const { parts, selection, rounds, durations, firstWarmUpMs, paced } = plan;
  const stores = storesOf(selection.stores);
  const progress = new Progress(work.steps);
  const common = { field, folder, progress };
  try {
    const loads = { ...common, durations, firstWarmUpMs };
    const scenarios = await runRounds({ ...loads, scenarios: work.scenarios, count: rounds });
    const limits = await runRounds({ ...loads, scenarios: work.limits, count: work.limitRounds });
    const engines = await runRounds({ ...loads, scenarios: work.engines, count: engineRounds(rounds) });
    const checks = await runRounds({ ...loads, scenarios: work.checks, count: rounds });
    const halfPeak = parts.includes('half-peak')
      ? await measureHalfPeak({
          ...common,
          ...paced,
          stores,
          patterns: HALF_PEAK_PATTERNS,
          measured: scenarios,
        })
      : [];
    const everyday = parts.includes('everyday')
      ? await measureEveryday({ ...common, ...plan.everyday, stores })
      : [];
    const reloads = parts.includes('reload')
      ? await measureReload({
          ...common,
          stores,
          peakOf: store => peakOf(scenarios, store, 'rules'),
          secondsBefore: selection.quick ? 2 : 4,
        })
      : [];
    return { scenarios, limits, engines, checks, halfPeak, everyday, reloads };
  } finally {
    progress.end();
  }
}

/** The fronts that can be measured here: h2load is a cross-check, and may be missing unless it is asked for. */
async function withAvailableFronts(plan: Plan): Promise<Plan> {
  const work = workOf(plan);
  if (!work.scenarios.some(({ front }) => front === 'h2load')) return plan;
  try {
    await requireH2load();
    return plan;
  } catch (failure) {
    if (plan.selection.fronts.includes('h2load')) throw failure;
    console.error(`left out: the cross-check with h2load, because ${(failure as Error).message}`);
    return { ...plan, selection: { ...plan.selection, fronts: ['grpc', 'json'] } };
  }
}

async function main(): Promise<void> {
  const wanted = readPlan(process.argv.slice(2));
  if (wanted.against !== null) {
    await compareBuilds(wanted, wanted.against);
    return;
  }
  if (wanted.serveThreads !== null) {
    await compareServeThreads(wanted, wanted.serveThreads);
    return;
  }
  if (wanted.parts.every(isOperatorPart)) {
    await measureOperatorParts(wanted);
    return;
  }
  if (wanted.parts.includes('quota')) {
    await measureQuotas(wanted);
    return;
  }
  const plan = await withAvailableFronts(wanted);
  const work = workOf(plan);
  limitTime(work.limitMs);
  const folder = makeWorkFolder();
  const { contestants } = work;
  const field = await Field.start({ contestants, workers: plan.workers, peer: plan.peer, folder });
  let results: Results;
  try {
    results = await runParts(plan, work, field, folder);
  } finally {
    await field.stop();
  }
  const targets = targetsOf(results);
  const tables = [
    results.scenarios.length > 0 ? loadTable(results.scenarios, plan.peer?.name ?? null) : [],
    results.limits.length > 0 ? limitsTable(results.limits) : [],
    results.engines.length > 0 ? enginesTable(results.engines) : [],
    results.checks.length > 0 ? checksTable(results.checks) : [],
    results.halfPeak.length > 0 ? halfPeakTable(results.halfPeak) : [],
    results.everyday.length > 0 ? everydayTable(results.everyday) : [],
    reloadTables(results.reloads),
    targetTable(targets),
  ];
  console.log(
    tables
      .filter(lines => lines.length > 0)
      .map(lines => lines.join('\n'))
      .join('\n\n'),
  );
  if (plan.jsonFile === undefined) return;
  const report = { machine: describeMachine(), plan, ...results, targets };
  writeFileSync(plan.jsonFile, `${JSON.stringify(report, null, 2)}\n`);
}

await runBench(main, USAGE);

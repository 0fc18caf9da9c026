import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeMachine } from '../../support/machine.ts';
import { Progress } from '../../support/progress.ts';
import { limitTime } from '../../support/run.ts';
import { makeWorkFolder } from '../../support/work-folder.ts';
import { serviceOn } from '../decisions/contestants.ts';
import { Field } from '../decisions/field.ts';
import type { PatternName } from '../decisions/patterns.ts';
import type { Plan } from '../decisions/plan.ts';
import { targetTable } from '../decisions/report.ts';
import { loadScenarios, type Scenario, storesOf } from '../decisions/scenario.ts';
import { measureLoads, measureSameRate, type ThreadsField, warmUp } from './measure.ts';
import { threadsTable, threadTargets } from './report.ts';

const PATTERNS: readonly PatternName[] = ['hot', 'keys'];
/** What a step takes beside the time in which it measures: checks, and loads that end. */
const OVERHEAD_MS_A_STEP = 1_500;
const BEFORE_AND_AFTER_MS = 60_000;

/**
 * Compares the service with different numbers of serving threads: first as many calls as each can answer, then the same
 * steady rate for all. All services run from the beginning to the end, and take turns.
 */
export async function compareServeThreads(plan: Plan, counts: readonly number[]): Promise<void> {
  const { rounds, durations, firstWarmUpMs, paced } = plan;
  const stores = storesOf(plan.selection.stores);
  const patterns = plan.selection.patterns.length > 0 ? plan.selection.patterns : PATTERNS;
  const scenarios = scenariosOf(plan, patterns);
  const services = stores.length * counts.length;
  const warmUpSteps = patterns.length * services;
  const loadSteps = scenarios.length * rounds * services;
  const pacedSteps = patterns.length * rounds * services;
  limitTime(
    warmUpSteps * (firstWarmUpMs * Math.max(...counts) + OVERHEAD_MS_A_STEP) +
      loadSteps * (durations.warmUpMs + durations.measuredMs + OVERHEAD_MS_A_STEP) +
      (pacedSteps + services) * (paced.durations.warmUpMs + paced.durations.measuredMs + OVERHEAD_MS_A_STEP) +
      BEFORE_AND_AFTER_MS,
  );
  const folder = makeWorkFolder();
  const progress = new Progress(warmUpSteps + loadSteps + pacedSteps);
  const fields: ThreadsField[] = [];
  try {
    for (const count of counts) fields.push({ count, field: await startField(plan, count, folder) });
    const measurement = { fields, stores, folder, progress };
    await warmUp(measurement, patterns, firstWarmUpMs);
    const loads = await measureLoads(measurement, scenarios, { rounds, durations });
    const sameRate = await measureSameRate(
      measurement,
      { patterns, loads },
      { rounds, durations: paced.durations },
    );
    progress.end();
    const targets = threadTargets(sameRate);
    const tables = [threadsTable([...loads, ...sameRate]), targets.length > 0 ? targetTable(targets) : []];
    console.log(tables.map(lines => lines.join('\n')).join('\n\n'));
    if (plan.jsonFile === undefined) return;
    const report = { machine: describeMachine(), plan, loads, sameRate, targets };
    writeFileSync(plan.jsonFile, `${JSON.stringify(report, null, 2)}\n`);
  } finally {
    for (const { field } of fields) await field.stop();
  }
}

function scenariosOf({ selection }: Plan, patterns: readonly PatternName[]): Scenario[] {
  return loadScenarios({ ...selection, fronts: ['grpc'], patterns, baseline: false, peer: false });
}

async function startField(plan: Plan, count: number, parent: string): Promise<Field> {
  const folder = join(parent, `threads-${count}`);
  mkdirSync(folder);
  console.error(`SERVE_THREADS=${count}`);
  return await Field.start({
    contestants: storesOf(plan.selection.stores).map(store => serviceOn(store, 'few')),
    workers: plan.workers,
    env: { SERVE_THREADS: String(count) },
    folder,
  });
}

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeMachine } from '../../support/machine.ts';
import { Progress } from '../../support/progress.ts';
import { limitTime } from '../../support/run.ts';
import { makeWorkFolder } from '../../support/work-folder.ts';
import type { Plan } from '../decisions/plan.ts';
import { storesOf } from '../decisions/scenario.ts';
import { casesOf, type QuotaCase } from './cases.ts';
import { QuotaField } from './field.ts';
import { measureCase, type QuotaResult, type QuotaTimes } from './measure.ts';
import { quotaTable } from './report.ts';

/** What a case takes beside the time in which it measures, and a round: starts, checks, and answers that are waited for. */
const OVERHEAD_MS_A_CASE = 60_000;
const OVERHEAD_MS_A_ROUND = 15_000;

/** Latencies are measured for longer than rates, because a report of all buckets of a proxy is one message. */
const LONGER = 2;

/** Measures the rate limit quota service. */
export async function measureQuotas(plan: Plan): Promise<void> {
  const { rounds, durations, firstWarmUpMs, selection, proxies, jsonFile } = plan;
  const cases = casesOf(storesOf(selection.stores), proxies);
  const half = { ...durations, measuredMs: durations.measuredMs * LONGER };
  const times: QuotaTimes = { rounds, firstWarmUpMs, peak: durations, half };
  const roundMs = [times.peak, times.half].reduce(
    (sum, { warmUpMs, measuredMs }) => sum + warmUpMs + measuredMs,
    OVERHEAD_MS_A_ROUND,
  );
  limitTime(cases.length * (OVERHEAD_MS_A_CASE + firstWarmUpMs + rounds * roundMs));
  const folder = makeWorkFolder();
  const progress = new Progress(cases.length * (rounds + 1));
  const results: QuotaResult[] = [];
  for (const [i, each] of cases.entries())
    results.push(await measureOn(join(folder, `case-${i}`), each, times, progress));
  progress.end();
  console.log(quotaTable(results).join('\n'));
  if (jsonFile === undefined) return;
  writeFileSync(
    jsonFile,
    `${JSON.stringify({ machine: describeMachine(), plan, quotas: results }, null, 2)}\n`,
  );
}

async function measureOn(
  folder: string,
  measured: QuotaCase,
  times: QuotaTimes,
  progress: Progress,
): Promise<QuotaResult> {
  mkdirSync(folder);
  const field = await QuotaField.start(measured.store, folder);
  try {
    return await measureCase(field, measured, times, progress);
  } catch (failure) {
    throw new Error(`${(failure as Error).message}\nThe service wrote:\n${field.service.output}`, {
      cause: failure,
    });
  } finally {
    await field.stop();
  }
}

import { writeFileSync } from 'node:fs';
import { describeMachine } from '../support/machine.ts';
import { Progress } from '../support/progress.ts';
import { limitTime, runBench } from '../support/run.ts';
import { makeWorkFolder } from '../support/work-folder.ts';
import { type Figure, figureTable } from './tasks/figures.ts';
import { PARTS, type PartName, type Plan, readPlan, USAGE } from './tasks/plan.ts';
import { PushSink } from './tasks/push-sink.ts';
import { type Store, TaskService } from './tasks/task-service.ts';

/** A part of a full run; the one with a million tasks takes longest. */
const LONGEST_PART_MS = 10 * 60_000;

async function main(): Promise<void> {
  const plan = readPlan(process.argv.slice(2));
  const steps = plan.parts.length * plan.stores.length;
  limitTime(steps * LONGEST_PART_MS);
  const folder = makeWorkFolder();
  const progress = new Progress(steps);
  const sink = new PushSink();
  const figures: Figure[] = [];
  const failures: string[] = [];
  try {
    await sink.start();
    for (const part of plan.parts) {
      for (const store of plan.stores) {
        progress.step(`${part}, ${store}`);
        try {
          figures.push(...(await measure(plan, part, store, { sink, folder })));
        } catch (failure) {
          // The other figures are worth having all the same.
          failures.push(`${part}, ${store}: ${(failure as Error).message}`);
        }
      }
    }
  } finally {
    progress.end();
    await sink.stop();
  }
  console.log(figureTable(figures).join('\n'));
  for (const failure of failures) console.error(`\nnot measured: ${failure}`);
  if (failures.length > 0) process.exitCode = 1;
  if (plan.jsonFile === undefined) return;
  const report = { machine: describeMachine(), size: plan.size, figures, failures };
  writeFileSync(plan.jsonFile, `${JSON.stringify(report, null, 2)}\n`);
}

async function measure(
  plan: Plan,
  part: PartName,
  store: Store,
  { sink, folder }: { readonly sink: PushSink; readonly folder: string },
): Promise<Figure[]> {
  const service = await TaskService.start(store, folder);
  try {
    const values = await PARTS[part]({ service, sink, size: plan.size });
    return values.map(value => ({ part, store, ...value }));
  } catch (failure) {
    const wrote = service.faultLines.join('\n');
    throw new Error(`${(failure as Error).message}${wrote === '' ? '' : `\nThe service wrote:\n${wrote}`}`, {
      cause: failure,
    });
  } finally {
    await service.stop();
  }
}

await runBench(main, USAGE);

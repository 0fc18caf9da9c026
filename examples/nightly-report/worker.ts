import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runPullWorker, SluiceClient, type Task } from '../../clients/typescript/src/index.ts';

const { REPORTS = 'reports' } = process.env;

/** The date in Berlin at a time: `2026-03-29`. */
const dateIn = new Intl.DateTimeFormat('en-CA', { timeZone: 'Europe/Berlin', dateStyle: 'short' });

function report(task: Task): { file: string } {
  // The time of the schedule, however late the worker gets the task. A task that was created by hand has none.
  const night = dateIn.format(new Date(task.scheduled_for ?? task.created_at));
  const file = join(REPORTS, `report-${night}.txt`);
  // A repeated attempt replaces the report of its night, and nobody sees half of one.
  const unfinished = `${file}.${task.id}`;
  writeFileSync(unfinished, `Report of the night of ${night}\n`);
  renameSync(unfinished, file);
  return { file };
}

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());

mkdirSync(REPORTS, { recursive: true });
const client = SluiceClient.fromEnvironment();
await runPullWorker({ client, worker: 'reports', handle: report }, stop.signal);

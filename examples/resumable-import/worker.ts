import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { runPullWorker, SluiceClient, type TaskHandler } from '../../clients/typescript/src/index.ts';

const { IMPORTED = 'imported.jsonl' } = process.env;

interface Import {
  readonly rows: readonly string[];
  /** How long the import of a row takes, in milliseconds. */
  readonly pause_ms?: number;
}

/**
 * How many rows of a task have been imported. The rows themselves tell: there is no moment between the import of a row
 * and the note that it was imported at which the process could die.
 */
function importedRows(taskId: string): number {
  if (!existsSync(IMPORTED)) return 0;
  const lines = readFileSync(IMPORTED, 'utf8').split('\n');
  return lines.filter(line => line.startsWith(`{"task":"${taskId}"`) && line.endsWith('}')).length;
}

function importRow(taskId: string, row: string): void {
  const file = openSync(IMPORTED, 'a');
  writeSync(file, `${JSON.stringify({ task: taskId, row })}\n`);
  fsyncSync(file);
  closeSync(file);
}

const importRows: TaskHandler = async (task, { signal, progress }) => {
  const { rows, pause_ms = 0 } = task.payload as Import;
  const begin = importedRows(task.id);
  console.log(`${task.id}: attempt ${task.attempt} begins with row ${begin}`);
  for (const [number, row] of rows.entries()) {
    if (number < begin) continue;
    // Another process may have the task. From now on, this one must not import its rows.
    await sleep(pause_ms, undefined, { signal });
    importRow(task.id, row);
    console.log(`${task.id}: row ${number}`);
    progress(((number + 1) * 100) / rows.length);
  }
  return { rows: rows.length };
};

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());

const client = SluiceClient.fromEnvironment();
await runPullWorker({ client, worker: 'importer', handle: importRows, leaseMs: 5_000 }, stop.signal);

import { UsageFault } from '../terminal/command-fault.ts';
import { parseFlags } from '../terminal/flags.ts';
import { type CliIo, EXIT } from '../terminal/io.ts';
import { addWorker, workerFields } from './add-worker.ts';
import { DELETE_WORKER_FLAGS } from './command/admin-flags.ts';
import { allOf } from './command/pages.ts';
import { noArguments, onlyArgument, targetOf } from './command/target.ts';
import { callApi, type Json } from './command/tasks-api.ts';
import type { TasksCommand } from './command/tasks-command.ts';
import {
  ADD_WORKER_FLAGS,
  COMMON_FLAGS,
  TEST_WORKER_FLAGS,
  UPDATE_WORKER_FLAGS,
} from './command/tasks-flags.ts';
import { printFields, printJson, printLine, printTable, report } from './command/tasks-output.ts';
import { testWorker } from './test-worker.ts';

const WORKER = 'name of the worker';

/** `sluice tasks workers` */
export const WORKER_COMMANDS: readonly TasksCommand[] = [
  {
    name: 'workers list',
    takes: '',
    summary: 'list workers',
    flags: COMMON_FLAGS,
    run: listWorkers,
  },
  {
    name: 'workers create',
    takes: 'NAME',
    summary: 'create a worker',
    flags: ADD_WORKER_FLAGS,
    run: addWorker,
  },
  {
    name: 'workers show',
    takes: 'NAME',
    summary: 'one worker',
    flags: COMMON_FLAGS,
    run: showWorker,
  },
  {
    name: 'workers update',
    takes: 'NAME',
    summary: 'change what the flags say',
    flags: UPDATE_WORKER_FLAGS,
    run: updateWorker,
  },
  {
    name: 'workers test',
    takes: 'NAME',
    summary: 'send a test request to a push worker',
    flags: TEST_WORKER_FLAGS,
    run: testWorker,
  },
  {
    name: 'workers pause',
    takes: 'NAME',
    summary: 'pause a worker: none of its tasks starts',
    flags: COMMON_FLAGS,
    run: (args, io) => setPaused(args, io, true),
  },
  {
    name: 'workers resume',
    takes: 'NAME',
    summary: 'resume a paused worker',
    flags: COMMON_FLAGS,
    run: (args, io) => setPaused(args, io, false),
  },
  {
    name: 'workers delete',
    takes: 'NAME',
    summary: 'delete a worker with its secrets; refused while tasks of it have not ended',
    flags: DELETE_WORKER_FLAGS,
    run: deleteWorker,
  },
];

async function listWorkers(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, COMMON_FLAGS);
  noArguments(positionals);
  const workers = await allOf(targetOf(flags, io), '/api/v1/workers', new URLSearchParams(), Infinity);
  if (flags.json) printJson(workers, io);
  else if (workers.length === 0)
    printLine('There are no workers. "sluice tasks workers create" makes one.', io);
  else printTable(['NAME', 'MODE', 'STATE', 'ID', 'URL'], workers.map(cells), io);
  return EXIT.done;
}

function cells(worker: Json): string[] {
  const state = worker['paused'] === true ? 'paused' : 'serving';
  return [worker['name'], worker['mode'], state, worker['id'], worker['url'] ?? ''].map(String);
}

async function showWorker(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, COMMON_FLAGS);
  const path = pathOf(onlyArgument(positionals, WORKER));
  const worker = await callApi(targetOf(flags, io), { method: 'GET', path });
  if (flags.json) printJson(worker, io);
  else printFields(worker, io);
  return EXIT.done;
}

async function updateWorker(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, UPDATE_WORKER_FLAGS);
  const name = onlyArgument(positionals, WORKER);
  const body = workerFields(flags);
  if (Object.keys(body).length === 0) throw new UsageFault('say what to change, as --concurrency 20.');
  const worker = await callApi(targetOf(flags, io), { method: 'PUT', path: pathOf(name), body });
  report(worker, `${name} changed`, flags, io);
  return EXIT.done;
}

async function setPaused(args: readonly string[], io: CliIo, paused: boolean): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, COMMON_FLAGS);
  const name = onlyArgument(positionals, WORKER);
  const worker = await callApi(targetOf(flags, io), { method: 'PUT', path: pathOf(name), body: { paused } });
  report(worker, `${name} ${paused ? 'paused' : 'resumed'}`, flags, io);
  return EXIT.done;
}

async function deleteWorker(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, DELETE_WORKER_FLAGS);
  const name = onlyArgument(positionals, WORKER);
  const query = flags['cancel-tasks'] ? '?cancel_tasks=true' : '';
  await callApi(targetOf(flags, io), { method: 'DELETE', path: `${pathOf(name)}${query}` });
  report({ deleted: name }, `${name} deleted; its tasks that have ended stay`, flags, io);
  return EXIT.done;
}

function pathOf(name: string): string {
  return `/api/v1/workers/${encodeURIComponent(name)}`;
}

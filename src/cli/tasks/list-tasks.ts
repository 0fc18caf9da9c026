import { integer } from '../../settings/kinds/kinds.ts';
import { parseFlags, readFlag } from '../terminal/flags.ts';
import { type CliIo, EXIT } from '../terminal/io.ts';
import { allOf } from './command/pages.ts';
import { noArguments, onlyArgument, targetOf } from './command/target.ts';
import { callApi, type Json } from './command/tasks-api.ts';
import { COMMON_FLAGS, FILTER_FLAGS, LIST_FLAGS } from './command/tasks-flags.ts';
import { printFields, printJson, printLine, printTable, timeText } from './command/tasks-output.ts';

/** `sluice tasks list` */
export async function listTasks(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, LIST_FLAGS);
  noArguments(positionals);
  const limit = readFlag('limit', flags.limit, integer({ min: 1, max: 1_000_000 }));
  const query = new URLSearchParams();
  for (const name of Object.keys(FILTER_FLAGS) as (keyof typeof FILTER_FLAGS)[]) {
    if (flags[name] !== '') query.set(name, flags[name]);
  }
  const tasks = await allOf(targetOf(flags, io), '/api/v1/tasks', query, limit);
  if (flags.json) printJson(tasks, io);
  else if (tasks.length === 0) printLine('There is no such task.', io);
  else printTable(HEAD, tasks.map(cells), io);
  return EXIT.done;
}

const HEAD = ['ID', 'STATUS', 'WORKER', 'TYPE', 'ATTEMPT', 'NEXT ATTEMPT', 'WAITING FOR', 'LAST ERROR'];

function cells(task: Json): string[] {
  const error = task['last_error'] as Json | null;
  return [
    String(task['id']),
    String(task['status']),
    String(task['worker']),
    String(task['type'] ?? ''),
    `${task['attempt']}/${task['max_attempts']}`,
    timeText(task['next_attempt_at']),
    waiting(task),
    error === null ? '' : String(error['code']),
  ];
}

/** Why it waits, and since when. */
function waiting(task: Json): string {
  const reason = task['waiting_for'];
  const since = timeText(task['waiting_since']);
  if (reason === null || reason === undefined) return '';
  return since === '' ? String(reason) : `${reason} since ${since}`;
}

/** `sluice tasks show TASK` */
export async function showTask(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, COMMON_FLAGS);
  const id = onlyArgument(positionals, 'id of the task');
  const path = `/api/v1/tasks/${encodeURIComponent(id)}`;
  const task = await callApi(targetOf(flags, io), { method: 'GET', path });
  if (flags.json) printJson(task, io);
  else printFields(task, io);
  return EXIT.done;
}

import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { integer } from '../../settings/kinds/kinds.ts';
import { TASK_FIELDS } from '../../tasks/rest/fields/task-fields.ts';
import { type FlagValues, parseFlags, readFlag } from '../terminal/flags.ts';
import { type CliIo, CommandFault, EXIT } from '../terminal/io.ts';
import { fieldsOfFlags, flagsOf } from './field-flags.ts';
import { type ApiTarget, allOf, callApi, type Json, rowsOf } from './tasks-api.ts';
import {
  noArguments,
  onlyArgument,
  printFields,
  printJson,
  printLine,
  printLongLine,
  printTable,
  report,
  type TasksCommand,
  targetOf,
  timeText,
} from './tasks-command.ts';
import { COMMON_FLAGS, FILTER_FLAGS, PAYLOAD_FLAGS, payloadFields } from './tasks-flags.ts';

const CREATE_FLAGS = {
  ...COMMON_FLAGS,
  ...PAYLOAD_FLAGS,
  ...flagsOf(TASK_FIELDS),
} as const;

const LIST_FLAGS = {
  ...COMMON_FLAGS,
  ...FILTER_FLAGS,
  limit: { kind: 'text', placeholder: 'N', default: '50', help: 'maximum number of tasks' },
} as const;

const HISTORY_FLAGS = {
  ...COMMON_FLAGS,
  follow: { kind: 'switch', help: 'print new entries until the task has finished' },
  newest: { kind: 'switch', help: 'show the newest task, instead of a task by id' },
} as const;

/** Commands for one task, and the list of tasks. */
export const TASK_COMMANDS: readonly TasksCommand[] = [
  {
    name: 'create',
    examples: [
      'sluice tasks create mailer --payload \'{"to":"ann@example.com"}\' --delay 10m',
      'sluice tasks create mailer --key welcome-ann --payload @welcome.json',
    ],
    takes: 'WORKER',
    summary: 'create a task',
    flags: CREATE_FLAGS,
    run: createTask,
  },
  {
    name: 'list',
    examples: [
      'sluice tasks list --status failed,retry --start -24h',
      'sluice tasks list --worker mailer --by run_at --limit 10',
    ],
    takes: '',
    summary: 'list tasks, newest first',
    flags: LIST_FLAGS,
    run: listTasks,
  },
  {
    name: 'show',
    examples: ['sluice tasks show tsk_01hzxa'],
    takes: 'TASK',
    summary: 'show all fields of a task',
    flags: COMMON_FLAGS,
    run: showTask,
  },
  {
    name: 'history',
    examples: ['sluice tasks history tsk_01hzxa', 'sluice tasks history --newest --follow'],
    takes: 'TASK | --newest',
    summary: 'show the history of a task',
    flags: HISTORY_FLAGS,
    run: showHistory,
  },
];

/** `sluice tasks list` */
async function listTasks(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, LIST_FLAGS);
  noArguments(positionals);
  const limit = readFlag('limit', flags.limit, integer({ min: 1, max: 1_000_000 }));
  const query = new URLSearchParams();
  for (const name of Object.keys(FILTER_FLAGS) as (keyof typeof FILTER_FLAGS)[]) {
    if (flags[name] !== '') query.set(name, flags[name]);
  }
  const tasks = await allOf(targetOf(flags, io), '/api/v1/tasks', query, limit);
  if (flags.json) printJson(tasks, io);
  else if (tasks.length === 0) printLine('No task matches.', io);
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

/** Describes why the task waits, and since when. */
function waiting(task: Json): string {
  const reason = task['waiting_for'];
  const since = timeText(task['waiting_since']);
  if (reason === null || reason === undefined) return '';
  return since === '' ? String(reason) : `${reason} since ${since}`;
}

/** `sluice tasks show TASK` */
async function showTask(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, COMMON_FLAGS);
  const id = onlyArgument(positionals, 'id of the task');
  const path = `/api/v1/tasks/${encodeURIComponent(id)}`;
  const task = await callApi(targetOf(flags, io), { method: 'GET', path });
  if (flags.json) printJson(task, io);
  else printFields(task, io);
  return EXIT.done;
}

/** `sluice tasks create WORKER` */
async function createTask(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, CREATE_FLAGS);
  const worker = onlyArgument(positionals, 'name of the worker');
  const task = await callApi(targetOf(flags, io), {
    method: 'POST',
    path: '/api/v1/tasks',
    body: { worker, ...fieldsOf(flags) },
    idempotencyKey: randomUUID(),
  });
  const found = task['deduplicated'] === true ? '  (existing task with this key)' : '';
  report(task, `${task['id']}  ${task['status']}  ${task['next_attempt_at'] ?? ''}${found}`, flags, io);
  return EXIT.done;
}

function fieldsOf(flags: FlagValues<typeof CREATE_FLAGS>): Json {
  return { ...fieldsOfFlags(TASK_FIELDS, flags), ...payloadFields(flags) };
}

const FOLLOW_MS = 500;
const PAGE = 200;
const ENDED = new Set<unknown>(['succeeded', 'failed', 'canceled', 'expired']);

/** `sluice tasks history TASK`: one line for each entry, oldest first; with `--json`, one object a line. */
async function showHistory(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, HISTORY_FLAGS);
  if (flags.newest) noArguments(positionals);
  const named = flags.newest ? null : onlyArgument(positionals, 'id of the task');
  const target = targetOf(flags, io);
  const id = named ?? (await newestTask(target));
  let shown = 0;
  for (;;) {
    const entries = await entriesAfter(target, id, shown);
    for (const entry of entries) {
      shown = Number(entry['seq']);
      if (flags.json) printJson(entry, io);
      else printLongLine(line(entry), io);
    }
    if (!flags.follow || ENDED.has(entries.at(-1)?.['to'])) return EXIT.done;
    if (entries.length === 0 && (await hasEnded(target, id))) return EXIT.done;
    await wait(FOLLOW_MS);
  }
}

async function newestTask(target: ApiTarget): Promise<string> {
  const [task] = await allOf(target, '/api/v1/tasks', new URLSearchParams(), 1);
  if (task === undefined)
    throw new CommandFault('there are no tasks yet. "sluice tasks create" creates one.');
  return String(task['id']);
}

/** All entries after `seq`. Earlier entries are skipped page by page. */
async function entriesAfter(target: ApiTarget, id: string, seq: number): Promise<Json[]> {
  const found: Json[] = [];
  let cursor: string | null = null;
  do {
    const query = new URLSearchParams({ order: 'asc', limit: String(PAGE) });
    if (cursor !== null) query.set('cursor', cursor);
    const path = `/api/v1/tasks/${encodeURIComponent(id)}/history?${query}`;
    const page = await callApi(target, { method: 'GET', path });
    found.push(...rowsOf(target, page, 'data').filter(entry => Number(entry['seq']) > seq));
    cursor = (page['next_cursor'] as string | null | undefined) ?? null;
  } while (cursor !== null);
  return found;
}

/** True if the task has finished; its last entry was already printed. */
async function hasEnded(target: ApiTarget, id: string): Promise<boolean> {
  const task = await callApi(target, { method: 'GET', path: `/api/v1/tasks/${encodeURIComponent(id)}` });
  return ENDED.has(task['status']);
}

function line(entry: Json): string {
  const http = entry['http'] as Json | undefined;
  const error = entry['error'] as Json | undefined;
  const actor = entry['actor'] as Json;
  return [
    entry['at'],
    String(entry['event']).padEnd(16),
    entry['from'] == null ? `→ ${entry['to']}` : `${entry['from']} → ${entry['to']}`,
    `attempt ${entry['attempt']}`,
    `by ${actor['type']} ${actor['id']}`,
    ...(http === undefined ? [] : [`HTTP ${http['status']} in ${http['duration_ms']} ms`]),
    ...(error === undefined ? [] : [`${error['code']}: ${error['message']}`]),
    ...(entry['next_attempt_at'] == null ? [] : [`next ${entry['next_attempt_at']}`]),
  ].join('  ');
}

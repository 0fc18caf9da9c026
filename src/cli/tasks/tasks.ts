import { nearest } from '../../base/nearest.ts';
import { UsageFault } from '../terminal/command-fault.ts';
import type { CliIo } from '../terminal/io.ts';
import { USE_COMMANDS } from './account-use.ts';
import { ACTION_COMMANDS } from './act-on-tasks.ts';
import { addWorker } from './add-worker.ts';
import type { CommandSection, TasksCommand } from './command/tasks-command.ts';
import {
  ADD_WORKER_FLAGS,
  COMMON_FLAGS,
  CREATE_ACCOUNT_FLAGS,
  CREATE_FLAGS,
  HISTORY_FLAGS,
  LIST_FLAGS,
} from './command/tasks-flags.ts';
import { commandUsage, groupUsage, overview } from './command/tasks-help.ts';
import { createAccount } from './create-account.ts';
import { createTask } from './create-task.ts';
import { listTasks, showTask } from './list-tasks.ts';
import { ACCOUNT_COMMANDS } from './task-accounts.ts';
import { showHistory } from './task-history.ts';
import { SCHEDULE_COMMANDS } from './task-schedules.ts';
import { SECRET_COMMANDS } from './task-secrets.ts';
import { TOKEN_COMMANDS } from './task-tokens.ts';
import { USER_COMMANDS } from './task-users.ts';
import { WORKER_COMMANDS } from './task-workers.ts';

const FIRST_STEPS: readonly TasksCommand[] = [
  {
    name: 'create-account',
    takes: 'DOMAIN',
    summary: 'create an account (a tenant), and show its first token',
    flags: CREATE_ACCOUNT_FLAGS,
    run: createAccount,
  },
  {
    name: 'add-worker',
    takes: 'NAME',
    summary: 'create a worker',
    flags: ADD_WORKER_FLAGS,
    run: addWorker,
  },
];

const TASKS: readonly TasksCommand[] = [
  {
    name: 'create',
    takes: 'WORKER',
    summary: 'create a task',
    flags: CREATE_FLAGS,
    notes: 'Example:\n  sluice tasks create mailer --payload \'{"to":"ann@example.com"}\' --delay 10m',
    run: createTask,
  },
  {
    name: 'list',
    takes: '',
    summary: 'list tasks, the newest first',
    flags: LIST_FLAGS,
    run: listTasks,
  },
  {
    name: 'show',
    takes: 'TASK',
    summary: 'one task, with everything that is known about it',
    flags: COMMON_FLAGS,
    run: showTask,
  },
  {
    name: 'history',
    takes: 'TASK | --newest',
    summary: 'what happened to a task',
    flags: HISTORY_FLAGS,
    run: showHistory,
  },
  ...ACTION_COMMANDS,
];

const SECTIONS: readonly CommandSection[] = [
  { heading: 'First steps', commands: FIRST_STEPS },
  { heading: 'Tasks', commands: TASKS },
  { heading: 'Workers and their secrets', commands: [...WORKER_COMMANDS, ...SECRET_COMMANDS] },
  { heading: 'Schedules', commands: SCHEDULE_COMMANDS },
  { heading: 'Users and their tokens', commands: [...USER_COMMANDS, ...TOKEN_COMMANDS] },
  { heading: 'The account', commands: USE_COMMANDS },
  { heading: 'Accounts, for the operator of the service', commands: ACCOUNT_COMMANDS },
];

const COMMANDS = new Map(
  SECTIONS.flatMap(({ commands }) => commands).map(command => [command.name, command]),
);

/** First words, in the order of help. */
const FIRST_WORDS = [...new Set([...COMMANDS.keys()].map(name => name.split(' ')[0]))];

/**
 * `sluice tasks`: what people do every day with the task service, over its REST interface.
 *
 * @returns the exit status
 * @throws CommandFault when the arguments are wrong, the service cannot be asked, or it refuses
 */
export async function runTasks(args: readonly string[], io: CliIo): Promise<number> {
  const { command, words } = findCommand(args);
  try {
    return await command.run(args.slice(words), io);
  } catch (failure) {
    if (!(failure instanceof UsageFault)) throw failure;
    throw new UsageFault(failure.message, `tasks ${command.name}`);
  }
}

/** What `--help` prints with these arguments: about one command, a group of them, or all. */
export function tasksUsage(args: readonly string[]): string {
  const [first = '', second = ''] = args;
  const command = COMMANDS.get(`${first} ${second}`) ?? COMMANDS.get(first);
  if (command !== undefined) return commandUsage(command);
  const group = groupOf(first);
  return group.length > 0 ? groupUsage(first, group) : overview(SECTIONS);
}

/**
 * The command that arguments begin with, and how many of them name it. A group alone lists.
 *
 * @throws UsageFault
 */
function findCommand(args: readonly string[]): { readonly command: TasksCommand; readonly words: number } {
  const [first = '', second = ''] = args;
  const named = COMMANDS.get(`${first} ${second}`);
  if (named !== undefined) return { command: named, words: 2 };
  const single = COMMANDS.get(first);
  if (single !== undefined) return { command: single, words: 1 };
  if (first === '' || first.startsWith('-')) throw new UsageFault(`say what: ${FIRST_WORDS.join(', ')}.`);
  const group = groupOf(first);
  if (group.length === 0) throw new UsageFault(`there is no "${first}".${didYouMean(first, FIRST_WORDS)}`);
  const list = COMMANDS.get(`${first} list`);
  if (list !== undefined && (second === '' || second.startsWith('-'))) return { command: list, words: 1 };
  const verbs = group.map(({ name }) => name.split(' ')[1]);
  throw new UsageFault(
    `${first}: there is no "${second}".${didYouMean(second, verbs)} There are ${verbs.join(', ')}.`,
    `tasks ${first}`,
  );
}

function groupOf(first: string): readonly TasksCommand[] {
  return [...COMMANDS.values()].filter(({ name }) => name.startsWith(`${first} `));
}

function didYouMean(word: string, words: readonly string[]): string {
  const meant = nearest(word, words);
  return meant === null ? '' : ` Did you mean "${meant}"?`;
}

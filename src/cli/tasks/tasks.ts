import { nearest } from '../../base/nearest.ts';
import { describeFlags } from '../terminal/flags.ts';
import { type CliIo, UsageFault } from '../terminal/io.ts';
import { USE_COMMANDS } from './account-use.ts';
import { ACCOUNT_COMMANDS, CREATE_ACCOUNT } from './accounts.ts';
import { SCHEDULE_COMMANDS } from './schedules.ts';
import { SECRET_COMMANDS } from './secrets.ts';
import { ACTION_COMMANDS } from './task-actions.ts';
import { TASK_COMMANDS } from './task-commands.ts';
import type { CommandSection, TasksCommand } from './tasks-command.ts';
import { TOKEN_COMMANDS, USER_COMMANDS } from './users.ts';
import { ADD_WORKER, WORKER_COMMANDS } from './workers.ts';

const SECTIONS: readonly CommandSection[] = [
  { heading: 'First steps', commands: [CREATE_ACCOUNT, ADD_WORKER] },
  { heading: 'Tasks', commands: [...TASK_COMMANDS, ...ACTION_COMMANDS] },
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

/** `sluice tasks --help` */
function overview(sections: readonly CommandSection[]): string {
  const lists = sections.map(({ heading, commands }) => `${heading}:\n${summaries(commands)}`);
  return `Usage: sluice tasks <what> [flags]

${lists.join('\n')}
"sluice tasks <what> --help" describes one of them and its flags.

The tenant and the token come from SLUICE_URL and SLUICE_TOKEN. Commands of the operator take the token of the operator
from ACCOUNTS_OPERATOR_TOKEN, and the address of the service from --service or SLUICE_SERVICE. Tokens are never
arguments, which other users of the machine can see.

With --json, the answer of the service is printed as it is; a list is one array of all its pages. Tables show times in
UTC.

Exit status: 0 it was done, 1 some of it was not, 2 it could not be done.

Example:
  eval "$(sluice tasks create-account acme --export)"
  eval "$(sluice tasks add-worker mailer --push-to http://localhost:9000/ --export)"
  sluice tasks create mailer --payload '{"to":"ann@example.com"}'
  sluice tasks history --newest --follow
`;
}

/** The help of a group such as `schedules`. */
function groupUsage(group: string, commands: readonly TasksCommand[]): string {
  return `Usage: sluice tasks ${group} <what> [flags]

${summaries(commands)}
"sluice tasks ${group} <what> --help" shows the flags of one of them.
`;
}

/** The help of one command. */
function commandUsage({ name, takes, summary, flags, notes }: TasksCommand): string {
  const call = ['sluice tasks', name, takes, '[flags]'].filter(part => part !== '').join(' ');
  return `Usage: ${call}

${summary[0].toUpperCase()}${summary.slice(1)}.
${notes === undefined ? '' : `\n${notes}\n`}
Flags:
${describeFlags(flags)}`;
}

function summaries(commands: readonly TasksCommand[]): string {
  const rows = commands.map(({ name, takes, summary }) => [`${name} ${takes}`.trimEnd(), summary]);
  const width = Math.max(...rows.map(([call]) => call.length));
  return rows.map(([call, summary]) => `  ${call.padEnd(width)}  ${summary}\n`).join('');
}

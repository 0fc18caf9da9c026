import { nearest } from '../../base/nearest.ts';
import { describeFlags } from '../terminal/flags.ts';
import { type CliIo, UsageFault } from '../terminal/io.ts';
import { DEFAULT_COLUMNS, tableLines, wrapped } from '../terminal/layout.ts';
import { USE_COMMANDS } from './account-use.ts';
import { ACCOUNT_COMMANDS, CREATE_ACCOUNT } from './accounts.ts';
import { MOVE_COMMANDS } from './moves.ts';
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
  { heading: 'The store, for the operator of the service', commands: MOVE_COMMANDS },
];

const COMMANDS = new Map(
  SECTIONS.flatMap(({ commands }) => commands).map(command => [command.name, command]),
);

/** First words, in the order of help. */
const FIRST_WORDS = [...new Set([...COMMANDS.keys()].map(name => name.split(' ')[0]))];

/**
 * `sluice tasks`: the daily work with the task service, over its REST API, and moving its data to another store.
 *
 * @returns the exit status
 * @throws CommandFault if the arguments are wrong, the service is unreachable, or it rejects the request
 */
export async function run(args: readonly string[], io: CliIo): Promise<number> {
  const { command, words } = findCommand(args);
  try {
    return await command.run(args.slice(words), io);
  } catch (failure) {
    if (!(failure instanceof UsageFault)) throw failure;
    throw new UsageFault(failure.message, `tasks ${command.name}`);
  }
}

/** The output of `--help` with these arguments: help for one command, a group of commands, or all commands. */
export function usage(args: readonly string[]): string {
  const [first = '', second = ''] = args;
  const command = COMMANDS.get(`${first} ${second}`) ?? COMMANDS.get(first);
  if (command !== undefined) return commandUsage(command);
  const group = groupOf(first);
  return group.length > 0 ? groupUsage(first, group) : overview(SECTIONS);
}

/**
 * The command at the start of the arguments, and the number of words in its name. A group alone means its `list`.
 *
 * @throws UsageFault
 */
function findCommand(args: readonly string[]): { readonly command: TasksCommand; readonly words: number } {
  const [first = '', second = ''] = args;
  const named = COMMANDS.get(`${first} ${second}`);
  if (named !== undefined) return { command: named, words: 2 };
  const single = COMMANDS.get(first);
  if (single !== undefined) return { command: single, words: 1 };
  if (first === '' || first.startsWith('-'))
    throw new UsageFault(`missing command. Use one of: ${FIRST_WORDS.join(', ')}.`);
  const group = groupOf(first);
  if (group.length === 0)
    throw new UsageFault(`unknown command "${first}".${didYouMean(first, FIRST_WORDS)}`);
  const list = COMMANDS.get(`${first} list`);
  if (list !== undefined && (second === '' || second.startsWith('-'))) return { command: list, words: 1 };
  const verbs = group.map(({ name }) => name.split(' ')[1]);
  throw new UsageFault(
    `unknown command "${first} ${second}".${didYouMean(second, verbs)} Use one of: ${verbs.join(', ')}.`,
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
  return `Usage: sluice tasks <command> [flags]

${lists.join('\n')}
"sluice tasks <command> --help" describes a command and its flags.

SLUICE_URL names the tenant and SLUICE_TOKEN contains its token. Commands for
the operator use the token in ACCOUNTS_OPERATOR_TOKEN, and the address of the
service in --service or SLUICE_SERVICE. Tokens are never arguments, because
other users of the machine can see arguments.

With --json, the response of the service is printed as it is; a list is printed
as one array with all of its pages. Tables show times in UTC.

Exit status: 0 everything was done, 1 some of it was not done, 2 the command
failed.

Example:
  eval "$(sluice tasks create-account acme --export)"
  eval "$(sluice tasks add-worker mailer --push-to http://localhost:9000/ \\
    --export)"
  sluice tasks create mailer --payload '{"to":"ann@example.com"}'
  sluice tasks history --newest --follow
`;
}

/** The help of a group such as `schedules`. */
function groupUsage(group: string, commands: readonly TasksCommand[]): string {
  return `Usage: sluice tasks ${group} <command> [flags]

${summaries(commands)}
"sluice tasks ${group} <command> --help" describes a command and its flags.
`;
}

/** The help of one command. */
function commandUsage({ name, takes, summary, flags, notes, examples }: TasksCommand): string {
  const call = ['sluice tasks', name, takes, '[flags]'].filter(part => part !== '').join(' ');
  const sentence = `${summary[0].toUpperCase()}${summary.slice(1)}.`;
  return `Usage: ${call}

${paragraph(sentence)}
${notes === undefined ? '' : `\n${notes.split('\n').map(paragraph).join('\n')}\n`}
Flags:
${describeFlags(flags)}
${examples.length === 1 ? 'Example' : 'Examples'}:
${examples.map(example => `  ${example}\n`).join('')}`;
}

function summaries(commands: readonly TasksCommand[]): string {
  const rows = commands.map(({ name, takes, summary }) => [`  ${name} ${takes}`.trimEnd(), summary]);
  return tableLines(rows, DEFAULT_COLUMNS)
    .map(line => `${line}\n`)
    .join('');
}

function paragraph(text: string): string {
  return wrapped(text, DEFAULT_COLUMNS).join('\n');
}

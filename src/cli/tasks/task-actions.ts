import { randomUUID } from 'node:crypto';
import { parseFlags } from '../terminal/flags.ts';
import { type CliIo, EXIT, UsageFault } from '../terminal/io.ts';
import { type ApiTarget, callApi, type Json, rowsOf } from './tasks-api.ts';
import { confirm, printJson, printLine, type TasksCommand, targetOf } from './tasks-command.ts';
import { COMMON_FLAGS, FILTER_FLAGS, YES_FLAG } from './tasks-flags.ts';

const ACT_FLAGS = {
  ...COMMON_FLAGS,
  ...FILTER_FLAGS,
  'dry-run': { kind: 'switch', help: 'only print how many tasks would change' },
} as const;

const CANCEL_FLAGS = { ...ACT_FLAGS, yes: YES_FLAG } as const;

const RETRY_FLAGS = {
  ...ACT_FLAGS,
  failed: { kind: 'switch', help: 'all failed tasks, instead of tasks by id' },
} as const;

/** Limits of one request for actions. */
const MAX_IDS = 1_000;
const MAX_CHANGES = 10_000;

/** An action on tasks, with the words for its result and for its dry run. */
interface Action {
  readonly name: 'retry' | 'cancel' | 'pause' | 'resume' | 'run' | 'delete';
  readonly summary: string;
  readonly examples: readonly string[];
  readonly done: string;
  readonly tried: string;
  readonly flags: typeof ACT_FLAGS | typeof CANCEL_FLAGS | typeof RETRY_FLAGS;
  readonly notes?: string;
}

const ASKS = 'If flags select the tasks, the command counts them first and asks for confirmation.';

const ACTIONS: readonly Action[] = [
  {
    name: 'retry',
    examples: ['sluice tasks retry tsk_01hzxa', 'sluice tasks retry --failed --worker mailer --start -1h'],
    summary: 'run finished tasks again',
    done: 'will run again',
    tried: 'would run again',
    flags: RETRY_FLAGS,
    notes: 'A task that waits for its next attempt has not finished: start it with "sluice tasks run".',
  },
  {
    name: 'cancel',
    examples: [
      'sluice tasks cancel tsk_01hzxa',
      'sluice tasks cancel --worker mailer --tag urgent --dry-run',
    ],
    summary: 'cancel tasks',
    done: 'canceled',
    tried: 'would be canceled',
    flags: CANCEL_FLAGS,
    notes: ASKS,
  },
  {
    name: 'pause',
    examples: ['sluice tasks pause tsk_01hzxa', 'sluice tasks pause --group customer-42'],
    summary: 'hold waiting tasks',
    done: 'paused',
    tried: 'would be paused',
    flags: ACT_FLAGS,
  },
  {
    name: 'resume',
    examples: ['sluice tasks resume tsk_01hzxa', 'sluice tasks resume --group customer-42'],
    summary: 'let paused tasks continue',
    done: 'resumed',
    tried: 'would be resumed',
    flags: ACT_FLAGS,
  },
  {
    name: 'run',
    examples: ['sluice tasks run tsk_01hzxa', 'sluice tasks run --worker mailer --status waiting'],
    summary: 'start waiting tasks now',
    done: 'start now',
    tried: 'would start now',
    flags: ACT_FLAGS,
  },
  {
    name: 'delete',
    examples: ['sluice tasks delete tsk_01hzxa', 'sluice tasks delete --worker mailer --end -720h'],
    summary: 'delete tasks with their history',
    done: 'deleted',
    tried: 'would be deleted',
    flags: CANCEL_FLAGS,
    notes: `${ASKS}\nFlags select only finished tasks, unless --status is given.`,
  },
];

/** `sluice tasks retry TASK...`, or with a filter such as `--failed`; the other actions likewise. */
export const ACTION_COMMANDS: readonly TasksCommand[] = ACTIONS.map(action => ({
  name: action.name,
  takes: action.name === 'retry' ? 'TASK... | --failed' : 'TASK...',
  summary: action.summary,
  examples: action.examples,
  flags: action.flags,
  notes: `Give the ids of tasks, or select tasks with the flags of "list".${action.notes === undefined ? '' : `\n${action.notes}`}`,
  run: (args, io) => actOnTasks(action, args, io),
}));

async function actOnTasks(action: Action, args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, action.flags);
  const filter = filterOf(flags, 'failed' in flags && flags.failed === true);
  const isFiltered = Object.keys(filter).length > 0;
  if (isFiltered === positionals.length > 0) {
    throw new UsageFault(
      `give either the ids of the tasks to ${action.name}, or flags that select tasks, such as --worker.`,
    );
  }
  const target = targetOf(flags, io);
  const chosen = isFiltered ? [{ filter, limit: MAX_CHANGES }] : byIds(positionals);
  const dryRun = flags['dry-run'];
  if ('yes' in flags && isFiltered && !dryRun && !flags.yes) {
    const { changed } = await act(target, action.name, chosen, true);
    const what = `${action.name} ${changed} ${changed === 1 ? 'task' : 'tasks'}`;
    if (changed > 0) await confirm(what, { yes: false }, io);
  }
  const result = await act(target, action.name, chosen, dryRun);
  return reportActions(result, dryRun ? action.tried : action.done, flags.json, io);
}

function filterOf(flags: Readonly<Record<keyof typeof FILTER_FLAGS, string>>, failed: boolean): Json {
  if (failed && flags.status !== '') throw new UsageFault('--failed and --status cannot be combined.');
  const names = Object.keys(FILTER_FLAGS) as (keyof typeof FILTER_FLAGS)[];
  const texts = names.map(name => [name, flags[name]]).filter(([, text]) => text !== '');
  return { ...Object.fromEntries(texts), ...(failed && { status: 'failed' }) };
}

function byIds(ids: readonly string[]): Json[] {
  const pieces: Json[] = [];
  for (let from = 0; from < ids.length; from += MAX_IDS)
    pieces.push({ ids: ids.slice(from, from + MAX_IDS) });
  return pieces;
}

interface ActionResult {
  matched: number;
  /** With a dry run, the number of tasks that would change. */
  changed: number;
  /** The first skipped tasks of each request. */
  readonly skipped: Json[];
}

/** Sends one request for each piece, and further requests until the piece is finished. */
async function act(
  target: ApiTarget,
  action: string,
  pieces: readonly Json[],
  dryRun: boolean,
): Promise<ActionResult> {
  const sum: ActionResult = { matched: 0, changed: 0, skipped: [] };
  for (const piece of pieces) {
    let cursor: string | null = null;
    do {
      const answer = await callApi(target, {
        method: 'POST',
        path: '/api/v1/tasks/actions',
        body: { action, ...piece, ...(dryRun && { dry_run: true }), ...(cursor !== null && { cursor }) },
        idempotencyKey: randomUUID(),
      });
      sum.matched += Number(answer['matched']);
      sum.changed += Number(answer['changed']);
      sum.skipped.push(...rowsOf(target, answer, 'skipped'));
      cursor = (answer['next_cursor'] as string | null | undefined) ?? null;
    } while (cursor !== null);
  }
  return sum;
}

function reportActions(result: ActionResult, words: string, asJson: boolean, io: CliIo): number {
  const { matched, changed, skipped } = result;
  if (asJson) printJson(result, io);
  else {
    printLine(`${changed} of ${matched} ${matched === 1 ? 'task' : 'tasks'} ${words}`, io);
    for (const one of skipped) printLine(`  skipped ${one['id']}: ${skipText(String(one['code']))}`, io);
    const untold = matched - changed - skipped.length;
    if (untold > 0) printLine(`  skipped ${untold} more`, io);
  }
  return changed < matched ? EXIT.refused : EXIT.done;
}

/** Why tasks are skipped, by the code of the service. */
const SKIPPED: Readonly<Record<string, string>> = {
  invalid_transition: 'its status does not allow this',
  not_found: 'there is no such task',
};

function skipText(code: string): string {
  const why = SKIPPED[code];
  return why === undefined ? code : `${why} (${code})`;
}

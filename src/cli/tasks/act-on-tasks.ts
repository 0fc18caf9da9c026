import { randomUUID } from 'node:crypto';
import { UsageFault } from '../command-fault.ts';
import { parseFlags } from '../flags.ts';
import { type CliIo, EXIT } from '../io.ts';
import { printable } from '../printable.ts';
import { targetOf } from './target.ts';
import { type ApiTarget, callApi, type Json, rowsOf } from './tasks-api.ts';
import { ACT_FLAGS, FILTER_FLAGS, RETRY_FLAGS } from './tasks-flags.ts';

/** What one request may name, or change. */
const MAX_IDS = 1_000;
const MAX_CHANGES = 10_000;

/** What an action is called when it was done, and when it was only tried. */
interface Words {
  readonly done: string;
  readonly tried: string;
}

/** `sluice tasks retry TASK...`, or those that a filter passes; `--failed` is one of them */
export const retryTasks = (args: readonly string[], io: CliIo) =>
  actOnTasks('retry', { done: 'start again', tried: 'would start again' }, RETRY_FLAGS, args, io);

/** `sluice tasks cancel TASK...`, or those that a filter passes */
export const cancelTasks = (args: readonly string[], io: CliIo) =>
  actOnTasks('cancel', { done: 'canceled', tried: 'would be canceled' }, ACT_FLAGS, args, io);

/** `sluice tasks pause TASK...`, or those that a filter passes */
export const pauseTasks = (args: readonly string[], io: CliIo) =>
  actOnTasks('pause', { done: 'paused', tried: 'would be paused' }, ACT_FLAGS, args, io);

/** `sluice tasks resume TASK...`, or those that a filter passes */
export const resumeTasks = (args: readonly string[], io: CliIo) =>
  actOnTasks('resume', { done: 'resumed', tried: 'would be resumed' }, ACT_FLAGS, args, io);

async function actOnTasks(
  action: string,
  words: Words,
  table: typeof ACT_FLAGS | typeof RETRY_FLAGS,
  args: readonly string[],
  io: CliIo,
): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, table);
  const filter = filterOf(flags, 'failed' in flags && flags.failed === true);
  const isFiltered = Object.keys(filter).length > 0;
  if (isFiltered === positionals.length > 0) {
    throw new UsageFault(
      `name the tasks to ${action}, or say which by flags such as --worker: one of the two.`,
    );
  }
  const chosen = isFiltered ? [{ filter, limit: MAX_CHANGES }] : byIds(positionals);
  const result = await act(targetOf(flags, io), action, chosen, flags['dry-run']);
  return report(result, flags['dry-run'] ? words.tried : words.done, flags.json, io);
}

function filterOf(flags: Readonly<Record<keyof typeof FILTER_FLAGS, string>>, failed: boolean): Json {
  if (failed && flags.status !== '') throw new UsageFault('--failed and --status exclude each other.');
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
  /** With a dry run: what would be. */
  changed: number;
  /** The first of those that were not, of each request. */
  readonly skipped: Json[];
}

/** Piece by piece, and each until there is nothing left of it. */
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

function report(result: ActionResult, words: string, asJson: boolean, io: CliIo): number {
  const { matched, changed, skipped } = result;
  if (asJson) io.stdout(`${JSON.stringify(result)}\n`);
  else {
    io.stdout(`${changed} of ${matched} ${matched === 1 ? 'task' : 'tasks'} ${words}\n`);
    for (const one of skipped) io.stdout(`${printable(`  not ${one['id']}: ${one['code']}`)}\n`);
    const untold = matched - changed - skipped.length;
    if (untold > 0) io.stdout(`  and ${untold} more\n`);
  }
  return changed < matched ? EXIT.refused : EXIT.done;
}

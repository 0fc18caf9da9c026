import { randomUUID } from 'node:crypto';
import { UsageFault } from '../command-fault.ts';
import { parseFlags } from '../flags.ts';
import { type CliIo, EXIT } from '../io.ts';
import { printable } from '../printable.ts';
import { targetOf } from './target.ts';
import { type ApiTarget, callApi, type Json, rowsOf } from './tasks-api.ts';
import { ACT_FLAGS, COMMON_FLAGS } from './tasks-flags.ts';

/** What one request may name, or change. */
const MAX_IDS = 1_000;
const MAX_CHANGES = 10_000;

/** `sluice tasks retry TASK...`, or `--failed` */
export async function retryTasks(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, ACT_FLAGS);
  if (flags.failed === positionals.length > 0) {
    throw new UsageFault('name tasks, or give --failed for all that failed: one of the two.');
  }
  const { worker, start, end } = flags;
  const narrowed = Object.fromEntries(
    Object.entries({ worker, start, end }).filter(([, text]) => text !== ''),
  );
  if (!flags.failed && Object.keys(narrowed).length > 0) {
    throw new UsageFault('--worker, --start and --end go with --failed.');
  }
  const chosen = flags.failed
    ? [{ filter: { status: 'failed', ...narrowed }, limit: MAX_CHANGES }]
    : byIds(positionals);
  const result = await act(targetOf(flags, io), 'retry', chosen, flags['dry-run']);
  return report(result, flags['dry-run'] ? 'would start again' : 'start again', flags.json, io);
}

/** `sluice tasks cancel TASK...` */
export async function cancelTasks(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, COMMON_FLAGS);
  if (positionals.length === 0) throw new UsageFault('name the tasks to cancel.');
  const result = await act(targetOf(flags, io), 'cancel', byIds(positionals), false);
  return report(result, 'canceled', flags.json, io);
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

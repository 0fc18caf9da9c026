import { setTimeout as wait } from 'node:timers/promises';
import { CommandFault } from '../terminal/command-fault.ts';
import { parseFlags } from '../terminal/flags.ts';
import { type CliIo, EXIT } from '../terminal/io.ts';
import { allOf } from './command/pages.ts';
import { noArguments, onlyArgument, targetOf } from './command/target.ts';
import { type ApiTarget, callApi, type Json, rowsOf } from './command/tasks-api.ts';
import { HISTORY_FLAGS } from './command/tasks-flags.ts';
import { report } from './command/tasks-output.ts';

const FOLLOW_MS = 500;
const PAGE = 200;
const ENDED = new Set<unknown>(['succeeded', 'failed', 'canceled', 'expired']);

/** `sluice tasks history TASK`: an entry a line, as they happened; with `--json`, an object a line. */
export async function showHistory(args: readonly string[], io: CliIo): Promise<number> {
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
      report(entry, line(entry), flags, io);
    }
    if (!flags.follow || ENDED.has(entries.at(-1)?.['to'])) return EXIT.done;
    if (entries.length === 0 && (await hasEnded(target, id))) return EXIT.done;
    await wait(FOLLOW_MS);
  }
}

async function newestTask(target: ApiTarget): Promise<string> {
  const [task] = await allOf(target, '/api/v1/tasks', new URLSearchParams(), 1);
  if (task === undefined) throw new CommandFault('there is no task yet. "sluice tasks create" makes one.');
  return String(task['id']);
}

/** All entries beyond one; those before it are passed over page by page. */
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

/** Its last entry was shown in an earlier round. */
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

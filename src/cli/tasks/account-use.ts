import { integer } from '../../settings/kinds/kinds.ts';
import { parseFlags, readFlag } from '../terminal/flags.ts';
import { type CliIo, EXIT } from '../terminal/io.ts';
import { allOf, callApi, type Json } from './tasks-api.ts';
import {
  noArguments,
  printJson,
  printLine,
  printTable,
  type TasksCommand,
  targetOf,
  timeText,
} from './tasks-command.ts';
import { COMMON_FLAGS, TEXT } from './tasks-flags.ts';

const AUDIT_FLAGS = {
  ...COMMON_FLAGS,
  limit: { kind: 'text', placeholder: 'N', default: '50', help: 'maximum number of entries' },
} as const;

const COUNTS_FLAGS = {
  ...COMMON_FLAGS,
  worker: { ...TEXT, placeholder: 'NAME', help: 'only tasks of this worker' },
} as const;

const USAGE_FLAGS = {
  ...COUNTS_FLAGS,
  range: { kind: 'text', placeholder: 'RANGE', default: '1h', help: '1h in minutes, 24h or 7d in hours' },
} as const;

/** The columns of a table of usage, by field of the response. */
const USAGE_COLUMNS = {
  tasks_created: 'CREATED',
  attempts_started: 'STARTED',
  attempts_failed: 'ATTEMPTS FAILED',
  tasks_succeeded: 'SUCCEEDED',
  tasks_failed: 'FAILED',
  tasks_canceled: 'CANCELED',
  tasks_expired: 'EXPIRED',
  duration_p95_ms: 'P95 MS',
  start_lag_p95_ms: 'LAG P95 MS',
} as const;

/** Commands for the limits, the use and the audit log of an account. */
export const USE_COMMANDS: readonly TasksCommand[] = [
  {
    name: 'counts',
    examples: ['sluice tasks counts --worker mailer'],
    takes: '',
    summary: 'count tasks by status',
    flags: COUNTS_FLAGS,
    run: showCounts,
  },
  {
    name: 'limits',
    examples: ['sluice tasks limits'],
    takes: '',
    summary: 'show the limits of the account and how much of them is used',
    flags: COMMON_FLAGS,
    run: showLimits,
  },
  {
    name: 'usage',
    examples: ['sluice tasks usage --range 24h', 'sluice tasks usage --worker mailer'],
    takes: '',
    summary: 'show what happened to tasks over time',
    flags: USAGE_FLAGS,
    run: showUsage,
  },
  {
    name: 'audit',
    examples: ['sluice tasks audit --limit 20'],
    takes: '',
    summary: 'show who changed what, newest first',
    flags: AUDIT_FLAGS,
    run: showAudit,
  },
];

async function showCounts(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, COUNTS_FLAGS);
  noArguments(positionals);
  const query = flags.worker === '' ? '' : `?${new URLSearchParams({ worker: flags.worker })}`;
  const answer = await callApi(targetOf(flags, io), { method: 'GET', path: `/api/v1/tasks/counts${query}` });
  if (flags.json) printJson(answer, io);
  else {
    const rows = Object.entries((answer['counts'] ?? {}) as Json).map(row => row.map(String));
    printTable(['STATUS', 'TASKS'], rows, io);
  }
  return EXIT.done;
}

async function showLimits(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, COMMON_FLAGS);
  noArguments(positionals);
  const answer = await callApi(targetOf(flags, io), { method: 'GET', path: '/api/v1/limits' });
  if (flags.json) printJson(answer, io);
  else printLimits({ limits: answer['limits'], use: answer['use'], changed: [] }, io);
  return EXIT.done;
}

/**
 * A table of limits and use.
 *
 * @param state the response of the service, and the names of the limits that the operator has changed
 */
export function printLimits(
  { limits, use, changed }: Readonly<Record<'limits' | 'use' | 'changed', unknown>>,
  io: CliIo,
): void {
  const used = (use ?? {}) as Json;
  const names = new Set(Array.isArray(changed) ? changed : []);
  const rows = Object.entries((limits ?? {}) as Json).map(([name, value]) => [
    name,
    String(value),
    String(used[name] ?? ''),
    names.has(name) ? 'changed' : '',
  ]);
  printTable(['LIMIT', 'VALUE', 'USED', ''], rows, io);
}

/** Shows the intervals in which something happened, then the totals. */
async function showUsage(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, USAGE_FLAGS);
  noArguments(positionals);
  const query = new URLSearchParams({ range: flags.range });
  if (flags.worker !== '') query.set('worker', flags.worker);
  const answer = await callApi(targetOf(flags, io), { method: 'GET', path: `/api/v1/usage?${query}` });
  if (flags.json) {
    printJson(answer, io);
    return EXIT.done;
  }
  const used = (answer['series'] as readonly Json[])
    .map(each => [timeText(each['at']), ...usageCells(each)])
    .filter(([, ...cells]) => cells.some(cell => cell !== '0' && cell !== ''));
  const totals = [`last ${flags.range}`, ...usageCells(answer['totals'] as Json)];
  printTable(['FROM', ...Object.values(USAGE_COLUMNS)], [...used, totals], io);
  return EXIT.done;
}

function usageCells(figures: Json): string[] {
  return Object.keys(USAGE_COLUMNS).map(name => String(figures[name] ?? ''));
}

async function showAudit(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, AUDIT_FLAGS);
  noArguments(positionals);
  const limit = readFlag('limit', flags.limit, integer({ min: 1, max: 5_000 }));
  const entries = await allOf(targetOf(flags, io), '/api/v1/audit', new URLSearchParams(), limit);
  if (flags.json) printJson(entries, io);
  else if (entries.length === 0) printLine('The audit log has no entries.', io);
  else printTable(['TIME', 'ACTION', 'BY', 'TARGET', 'WHAT', 'REQUEST'], entries.map(auditCells), io);
  return EXIT.done;
}

function auditCells(entry: Json): string[] {
  const actor = entry['actor'] as Json;
  const details = Object.entries((entry['details'] ?? {}) as Json).map(([name, value]) => `${name}=${value}`);
  const changed = (entry['changed'] ?? []) as readonly string[];
  return [
    timeText(entry['at']),
    String(entry['action']),
    `${actor['type']} ${actor['id']}`,
    String(entry['target_name'] ?? entry['target_id'] ?? ''),
    [...changed, ...details].join(' '),
    String(entry['request_id']),
  ];
}

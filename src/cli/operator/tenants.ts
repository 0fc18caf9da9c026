import { printable } from '../../base/printable.ts';
import { describeFlags, type FlagValues, parseFlags, textFlag } from '../terminal/flags.ts';
import { type CliIo, UsageFault } from '../terminal/io.ts';
import { headedTableLines, linesText, tableLines } from '../terminal/layout.ts';
import { DEBUG_ADDRESS, type Json, listOf, operatorApi, printAnswer } from './operator-call.ts';

const FLAGS = {
  'debug-address': DEBUG_ADDRESS,
  search: textFlag('TEXT', 'list: a part of the domain'),
  status: textFlag('STATUS', 'list: active, suspended, deleting or deleted'),
  sort: textFlag(
    'ORDER',
    'list: domain, created, open, stored, failed, workers, in_flight, due or oldest_due',
    'domain',
  ),
  count: textFlag('N', 'list: at most this many, up to 100', '50'),
  offset: textFlag('N', 'list: leave out the first ones', '0'),
  reason: textFlag('TEXT', 'why, for other operators and the log'),
  timeout: textFlag('DURATION', 'how long to wait for the answer', '10s'),
  json: { kind: 'switch', help: 'print the answer as one line of JSON' },
} as const;

type Flags = FlagValues<typeof FLAGS>;

export const usage = `Usage: sluice tenants list [flags]
       sluice tenants show DOMAIN [flags]
       sluice tenants suspend DOMAIN --reason TEXT [flags]
       sluice tenants resume DOMAIN --reason TEXT [flags]
       sluice tenants owner-token DOMAIN --reason TEXT [flags]

Shows the tenants of the task service of a running process, and changes them. A
suspended tenant is read-only, and its tasks do not start. "owner-token" creates
a token for the first active owner of a tenant that has lost its own; it is
printed once.

"suspend", "resume" and "owner-token" need the ADMIN_TOKEN of the service, from
the environment or from the file in ADMIN_TOKEN_FILE. To create and delete
tenants, and to change their limits, use "sluice tasks accounts".

Flags:
${describeFlags(FLAGS)}
Flags may start with one dash or two and may contain "_" instead of "-".

Exit status: 0 it was done, 2 it was not.

Examples:
  sluice tenants list --sort oldest_due
  sluice tenants suspend acme --reason "ticket 4711"
`;

const CHANGES: Readonly<Record<string, (domain: string) => string>> = {
  suspend: domain => `${domain} is suspended`,
  resume: domain => `${domain} is active`,
};

/**
 * `sluice tenants`: lists and changes tenants of a running service.
 *
 * @throws CommandFault when the arguments are wrong or the service refuses
 */
export async function run(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, FLAGS);
  const [action = '', domain, unexpected] = positionals;
  if (unexpected !== undefined || (domain !== undefined && action === 'list')) {
    throw new UsageFault(`unexpected argument "${unexpected ?? domain}".`);
  }
  const call = operatorApi(io, flags);
  if (action === 'list') {
    const answer = await call('GET', `/tenants?${listQuery(flags)}`);
    return printAnswer(io, flags, answer, () => listText(answer, io.columns));
  }
  if (!['show', 'owner-token', ...Object.keys(CHANGES)].includes(action)) {
    throw new UsageFault(
      'say what to do: "sluice tenants list", "show", "suspend", "resume" or "owner-token".',
    );
  }
  if (domain === undefined) throw new UsageFault('give the domain; "sluice tenants list" prints it.');
  const path = `/tenants/${encodeURIComponent(domain)}`;
  if (action === 'show') {
    const answer = await call('GET', path);
    return printAnswer(io, flags, answer, () => detailsText(answer, io.columns));
  }
  if (flags.reason.trim() === '') throw new UsageFault('--reason is missing.');
  const answer = await call('POST', `${path}/${action}`, { reason: flags.reason });
  return printAnswer(io, flags, answer, () =>
    action === 'owner-token'
      ? `The token of ${answer['user_id']} is valid until ${answer['expires_at']}. It is shown only once:\n${answer['token']}\n`
      : `${CHANGES[action](domain)}\n`,
  );
}

function listQuery({ search, status, sort, count, offset }: Flags): URLSearchParams {
  const query = new URLSearchParams({ sort, count, offset });
  if (search !== '') query.set('q', search);
  if (status !== '') query.set('status', status);
  return query;
}

const COLUMNS = [
  'DOMAIN',
  'STATUS',
  'DUE',
  'OLDEST DUE',
  'OPEN',
  'IN FLIGHT',
  'FAILED',
  'STORED',
  'WORKERS',
] as const;
const OPEN = ['scheduled', 'running', 'retry', 'paused'] as const;

function listText({ tenants, total, time, cut_at: cutAt }: Json, columns: number | null): string {
  const listed = listOf(tenants);
  if (listed.length === 0) return total === 0 ? 'no tenants\n' : `no tenants here, of ${total}\n`;
  const rows = listed.map(tenant => {
    const { domain, status, due, oldest_due_at: oldest, in_flight, stored, workers } = tenant;
    const tasks = tenant['tasks'] as Readonly<Record<string, number>>;
    const open = OPEN.reduce((sum, each) => sum + tasks[each], 0);
    const age = oldest === null ? '' : ageText(Date.parse(String(time)) - Date.parse(String(oldest)));
    return [domain, status, due, age, open, in_flight, tasks['failed'], stored, workers].map(String);
  });
  const left = Number(total) - listed.length;
  const lines = headedTableLines(COLUMNS, rows, columns);
  if (left > 0) lines.push('', `${left} more; see --offset and --search`);
  if (typeof cutAt === 'number')
    lines.push(`There are more than ${cutAt} tenants; the others are not listed.`);
  return linesText(lines);
}

/** In the largest unit: `4s`, `12m`, `3h`, `2d`. */
function ageText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m`;
  return seconds < 86_400 ? `${Math.floor(seconds / 3_600)}h` : `${Math.floor(seconds / 86_400)}d`;
}

function detailsText(tenant: Json, columns: number | null): string {
  const rows = Object.entries(tenant).flatMap(([name, value]) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return [[name, textOf(value)]];
    return Object.entries(value).map(([part, each]) => [`${name}.${part}`, textOf(each)]);
  });
  return linesText(tableLines(rows, columns));
}

function textOf(value: unknown): string {
  if (value === null) return '';
  return printable(Array.isArray(value) ? value.join(', ') : String(value));
}

import { HOUR_MS } from '../../base/clock.ts';
import { printable } from '../../base/printable.ts';
import { duration } from '../../settings/kinds/kinds.ts';
import { describeFlags, type FlagValues, parseFlags, readFlag } from '../terminal/flags.ts';
import { type CliIo, CommandFault, EXIT, UsageFault } from '../terminal/io.ts';
import { headedTableLines, tableLines } from '../terminal/layout.ts';
import { callOperatorApi, type Json } from './operator-call.ts';

const FLAGS = {
  'debug-address': {
    kind: 'text',
    placeholder: 'HOST:PORT',
    default: 'localhost:6070',
    help: 'address of the debug port of the service',
  },
  search: { kind: 'text', placeholder: 'TEXT', default: '', help: 'list: a part of the domain' },
  status: {
    kind: 'text',
    placeholder: 'STATUS',
    default: '',
    help: 'list: active, suspended, deleting or deleted',
  },
  sort: {
    kind: 'text',
    placeholder: 'ORDER',
    default: 'domain',
    help: 'list: domain, created, open, stored, failed, workers, in_flight, due or oldest_due',
  },
  count: { kind: 'text', placeholder: 'N', default: '50', help: 'list: at most this many, up to 100' },
  offset: { kind: 'text', placeholder: 'N', default: '0', help: 'list: leave out the first ones' },
  reason: { kind: 'text', placeholder: 'TEXT', default: '', help: 'why, for other operators and the log' },
  timeout: { kind: 'text', placeholder: 'DURATION', default: '10s', help: 'how long to wait for the answer' },
  json: { kind: 'switch', help: 'print the answer as one line of JSON' },
} as const;

type Flags = FlagValues<typeof FLAGS>;

export const TENANTS_USAGE = `Usage: sluice tenants list [flags]
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
export async function runTenants(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, FLAGS);
  const [action = '', domain, unexpected] = positionals;
  if (unexpected !== undefined || (domain !== undefined && action === 'list')) {
    throw new UsageFault(`unexpected argument "${unexpected ?? domain}".`);
  }
  const timeoutMs = readFlag('timeout', flags.timeout, duration({ min: 1, max: HOUR_MS }));
  const target = { address: flags['debug-address'], timeoutMs };
  const print = (answer: Json, text: (answer: Json) => string): number => {
    io.stdout(flags.json ? `${JSON.stringify(answer)}\n` : text(answer));
    return EXIT.done;
  };
  if (action === 'list') {
    const answer = await callOperatorApi(io, target, { method: 'GET', path: `/tenants?${listQuery(flags)}` });
    return print(answer, found => listText(found, io.columns));
  }
  if (!['show', 'owner-token', ...Object.keys(CHANGES)].includes(action)) {
    throw new UsageFault(
      'say what to do: "sluice tenants list", "show", "suspend", "resume" or "owner-token".',
    );
  }
  if (domain === undefined) throw new UsageFault('give the domain; "sluice tenants list" prints it.');
  const path = `/tenants/${encodeURIComponent(domain)}`;
  if (action === 'show') {
    return print(await callOperatorApi(io, target, { method: 'GET', path }), found => detailsText(found, io));
  }
  if (flags.reason.trim() === '') throw new UsageFault('--reason is missing.');
  const body = { reason: flags.reason };
  const answer = await callOperatorApi(io, target, { method: 'POST', path: `${path}/${action}`, body });
  return print(answer, made =>
    action === 'owner-token'
      ? `The token of ${made['user_id']} is valid until ${made['expires_at']}. It is shown only once:\n${made['token']}\n`
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
  if (!Array.isArray(tenants)) throw new CommandFault('the service answered with unexpected JSON.');
  if (tenants.length === 0) return total === 0 ? 'no tenants\n' : `no tenants here, of ${total}\n`;
  const rows = (tenants as Json[]).map(tenant => {
    const { domain, status, due, oldest_due_at: oldest, in_flight, stored, workers } = tenant;
    const tasks = tenant['tasks'] as Readonly<Record<string, number>>;
    const open = OPEN.reduce((sum, each) => sum + tasks[each], 0);
    const age = oldest === null ? '' : ageText(Date.parse(String(time)) - Date.parse(String(oldest)));
    return [domain, status, due, age, open, in_flight, tasks['failed'], stored, workers].map(String);
  });
  const left = Number(total) - tenants.length;
  const lines = headedTableLines(COLUMNS, rows, columns);
  if (left > 0) lines.push('', `${left} more; see --offset and --search`);
  if (typeof cutAt === 'number')
    lines.push(`There are more than ${cutAt} tenants; the others are not listed.`);
  return lines.map(line => `${line}\n`).join('');
}

/** In the largest unit: `4s`, `12m`, `3h`, `2d`. */
function ageText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m`;
  return seconds < 86_400 ? `${Math.floor(seconds / 3_600)}h` : `${Math.floor(seconds / 86_400)}d`;
}

function detailsText(tenant: Json, { columns }: Pick<CliIo, 'columns'>): string {
  const rows = Object.entries(tenant).flatMap(([name, value]) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return [[name, textOf(value)]];
    return Object.entries(value).map(([part, each]) => [`${name}.${part}`, textOf(each)]);
  });
  return tableLines(rows, columns)
    .map(line => `${line}\n`)
    .join('');
}

function textOf(value: unknown): string {
  if (value === null) return '';
  return printable(Array.isArray(value) ? value.join(', ') : String(value));
}

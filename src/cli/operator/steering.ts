import { HOUR_MS, systemClock } from '../../base/clock.ts';
import { parseNumber } from '../../settings/kinds/go-numbers.ts';
import { duration } from '../../settings/kinds/kinds.ts';
import type { SteeringKind } from '../../steering/record.ts';
import { describeFlags, type FlagValues, parseFlags, readFlag, textFlag } from '../terminal/flags.ts';
import { type CliIo, UsageFault } from '../terminal/io.ts';
import { headedTableLines, linesText } from '../terminal/layout.ts';
import {
  DEBUG_ADDRESS,
  entriesOf,
  type Json,
  listOf,
  operatorApi,
  printAnswer,
  requireFlags,
} from './operator-call.ts';

const FLAGS = {
  'debug-address': DEBUG_ADDRESS,
  domain: textFlag('NAME', 'domain of the rules'),
  descriptors: textFlag(
    'K=V[,K2=V2...]',
    'entries of the descriptors; "*" in a value matches any text, and a key alone any value',
  ),
  limit: textFlag('N', 'override: the requests per unit'),
  factor: textFlag('X', 'override: instead of --limit, multiplies the limits of the rule'),
  for: textFlag('DURATION', 'how long, such as 2h; at most 9600h'),
  until: textFlag('TIME', 'or the end, such as 2030-01-31T12:00:00Z'),
  reason: textFlag('TEXT', 'why, for other operators and the log'),
  timeout: textFlag('DURATION', 'how long to wait for the answer', '5s'),
  json: { kind: 'switch', help: 'print the answer as one line of JSON' },
} as const;

type Flags = FlagValues<typeof FLAGS>;

const LONGEST_MS = 9_600 * HOUR_MS;

const TEXTS = {
  override: {
    plural: 'overrides',
    does: 'Changes the limit of descriptors until a time. Their counts stay.',
    example: '--domain shop --descriptors user=anna --limit 500 --for 2h',
  },
  ban: {
    plural: 'bans',
    does: 'Refuses requests with these descriptors until a time, without counting them.',
    example: '--domain shop --descriptors "user=*bot*" --for 24h',
  },
  pass: {
    plural: 'passes',
    does: 'Allows these descriptors until a time, without counting them.',
    example: '--domain shop --descriptors user=probe --for 1h',
  },
} as const satisfies Record<SteeringKind, Readonly<Record<string, string>>>;

/** `sluice override`, `sluice ban` or `sluice pass`: changes and lists steering records of a running service. */
export function steering(kind: SteeringKind) {
  return { usage: usageOf(kind), run: (args: string[], io: CliIo) => run(kind, args, io) };
}

function usageOf(kind: SteeringKind): string {
  const { does, example } = TEXTS[kind];
  const { limit, factor, ...others } = FLAGS;
  const flags = kind === 'override' ? FLAGS : others;
  return `Usage: sluice ${kind} put [flags]
       sluice ${kind} list [flags]
       sluice ${kind} remove ID [flags]

${does}
The change is active in all instances that share the store within a second.
"put" replaces the ${kind} for the same descriptors. "list" prints those
that have not ended.

"put" and "remove" need the ADMIN_TOKEN of the service, from the environment or
from the file in ADMIN_TOKEN_FILE.

Flags:
${describeFlags(flags)}
Flags may start with one dash or two and may contain "_" instead of "-". In a
descriptor, a comma ends a pair and the first "=" ends a key.

Exit status: 0 it was done, 2 it was not.

Examples:
  sluice ${kind} put --reason "ticket 4711" \\
      ${example}
  sluice ${kind} list
`;
}

/** @throws CommandFault when the arguments are wrong or the service refuses */
async function run(kind: SteeringKind, args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, FLAGS);
  const [action = '', id, unexpected] = positionals;
  const { plural } = TEXTS[kind];
  if (unexpected !== undefined || (id !== undefined && action !== 'remove')) {
    throw new UsageFault(`unexpected argument "${unexpected ?? id}".`);
  }
  const call = operatorApi(io, flags);
  if (action === 'list') {
    const answer = await call('GET', `/${plural}`);
    return printAnswer(io, flags, answer, () => listText(answer, plural, io.columns));
  }
  if (action === 'put') {
    const record = await call('PUT', `/${plural}`, recordOf(kind, flags));
    return printAnswer(io, flags, record, () => {
      return `${record['id']}: ${descriptorText(record)} of ${record['domain']}, until ${record['until']}\n`;
    });
  }
  if (action !== 'remove') throw new UsageFault(`say what to do: "sluice ${kind} put", "list" or "remove".`);
  if (id === undefined) throw new UsageFault(`give the ID; "sluice ${kind} list" prints it.`);
  const reason = flags.reason === '' ? '' : `?reason=${encodeURIComponent(flags.reason)}`;
  const record = await call('DELETE', `/${plural}/${encodeURIComponent(id)}${reason}`);
  return printAnswer(io, flags, record, () => `removed ${record['id']}\n`);
}

/** The record that the flags describe. The service checks it. */
function recordOf(kind: SteeringKind, flags: Flags): Json {
  requireFlags(flags, ['domain', 'descriptors', 'reason']);
  return {
    domain: flags.domain,
    entries: entriesOf(flags.descriptors),
    ...(kind === 'override' ? effectOf(flags) : withoutEffect(kind, flags)),
    until: untilOf(flags),
    reason: flags.reason,
  };
}

function effectOf({ limit, factor }: Flags): Json {
  if ((limit === '') === (factor === '')) throw new UsageFault('give either --limit or --factor.');
  const number = parseNumber(limit === '' ? factor : limit);
  if (number === null) throw new UsageFault(`"${limit}${factor}" is not a number.`);
  return limit === '' ? { factor: number } : { requests_per_unit: number };
}

function withoutEffect(kind: SteeringKind, { limit, factor }: Flags): Json {
  if (limit === '' && factor === '') return {};
  throw new UsageFault(`a ${kind} has no limit; --limit and --factor are for "sluice override".`);
}

function untilOf({ until, for: length }: Flags): string {
  if ((until === '') === (length === '')) throw new UsageFault('give either --for or --until.');
  if (until !== '') return until;
  const ms = readFlag('for', length, duration({ min: 1_000, max: LONGEST_MS }));
  return new Date(systemClock.nowMs() + ms).toISOString();
}

function listText(answer: Json, plural: string, columns: number | null): string {
  const records = listOf(answer[plural]);
  if (records.length === 0) return `no ${plural}\n`;
  const limit = plural === 'overrides' ? ['LIMIT'] : [];
  const head = ['ID', 'DOMAIN', 'DESCRIPTOR', ...limit, 'UNTIL', 'REASON', 'BY'];
  const rows = records.map(record => [
    String(record['id']),
    String(record['domain']),
    descriptorText(record),
    ...(plural === 'overrides' ? [limitText(record)] : []),
    String(record['until']),
    String(record['reason']),
    String(record['by']),
  ]);
  return linesText(headedTableLines(head, rows, columns));
}

function limitText(record: Json): string {
  return record['factor'] === undefined ? String(record['requests_per_unit']) : `times ${record['factor']}`;
}

function descriptorText(record: Json): string {
  const entries = Array.isArray(record['entries']) ? (record['entries'] as Json[]) : [];
  return entries.map(({ key, value }) => (value === undefined ? key : `${key}=${value}`)).join(',');
}

import { SECOND_MS } from '../../base/clock.ts';
import { printable } from '../../base/printable.ts';
import { formatDuration } from '../../settings/kinds/go-numbers.ts';
import { describeFlags, parseFlags, refuseArguments, textFlag } from '../terminal/flags.ts';
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
  descriptors: textFlag('K=V[,K2=V2...]', 'the entries of one descriptor, as a request has them'),
  reason: textFlag('TEXT', 'reset: why, for the log'),
  timeout: textFlag('DURATION', 'how long to wait for the answer', '5s'),
  json: { kind: 'switch', help: 'print the answer as one line of JSON' },
} as const;

export const usage = `Usage: sluice counters get [flags]
       sluice counters reset [flags]

Reads the counters in which a request with this descriptor counts, without
counting it, or resets them. A reset is active in all instances that share a
Redis within a second.

"reset" needs the ADMIN_TOKEN of the service, from the environment or from the
file in ADMIN_TOKEN_FILE. It prints the counters as they were before.

Flags:
${describeFlags(FLAGS)}
Flags may start with one dash or two and may contain "_" instead of "-". In a
descriptor, a comma ends a pair and the first "=" ends a key.

Exit status: 0 it was done, 2 it was not.

Examples:
  sluice counters get --domain shop --descriptors user=anna
  sluice counters reset --domain shop --descriptors user=anna \\
      --reason "ticket 4711"
`;

/**
 * `sluice counters`: reads or resets the counters of a descriptor of a running service.
 *
 * @throws CommandFault when the arguments are wrong or the service refuses
 */
export async function run(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, FLAGS);
  const [action, ...others] = positionals;
  refuseArguments(others);
  if (action !== 'get' && action !== 'reset') {
    throw new UsageFault('say what to do: "sluice counters get" or "reset".');
  }
  requireFlags(flags, ['domain', 'descriptors']);
  if (action === 'get' && flags.reason !== '')
    throw new UsageFault('--reason is for "sluice counters reset".');
  const { domain, descriptors, reason } = flags;
  const answer = await operatorApi(io, flags)('POST', `/counters/${action === 'get' ? 'read' : 'reset'}`, {
    domain,
    entries: entriesOf(descriptors),
    ...(reason !== '' && { reason }),
  });
  return printAnswer(io, flags, answer, () => textOf(answer, action, io.columns));
}

function textOf(answer: Json, action: 'get' | 'reset', columns: number | null): string {
  const counters = listOf(answer['counters']);
  if (counters.length === 0) return `no counters: ${printable(String(answer['why']))}\n`;
  const head = [
    'RULE',
    action === 'get' ? 'COUNT' : 'COUNT BEFORE',
    'LIMIT',
    'REMAINING',
    'RESETS IN',
    'KEY',
  ];
  const rows = counters.map(counter => [
    String(counter['rule'] ?? 'limit of the request'),
    String(counter['count'] ?? 'unknown'),
    limitText(counter),
    String(counter['remaining'] ?? 'unknown'),
    typeof counter['reset_seconds'] === 'number' ? formatDuration(counter['reset_seconds'] * SECOND_MS) : '',
    String(counter['key']),
  ]);
  const lines = headedTableLines(head, rows, columns);
  lines.push(...counters.flatMap(penaltyLines), ...counters.flatMap(leaseLines));
  if (action === 'reset')
    lines.push(counters.length === 1 ? 'The counter was reset.' : 'The counters were reset.');
  return linesText(lines);
}

/** A line about the penalty of a counter; none if its limit has no penalty. */
function penaltyLines({ rule, violations, penalties, penalized_until: until }: Json): string[] {
  if (until === undefined) return [];
  const state = typeof until === 'string' ? `penalized until ${until}` : 'not penalized';
  return [
    printable(`${rule}: ${state}, violations since the last penalty: ${violations}, penalties: ${penalties}`),
  ];
}

/** A line about what leases hold of a counter; none if its limit has no leases. */
function leaseLines({ rule, spent, held, leases, first_lease_ends: ends }: Json): string[] {
  if (held === undefined) return [];
  const count = leases === undefined ? '' : ` by ${leases === 1 ? '1 lease' : `${leases} leases`}`;
  const first = typeof ends === 'string' ? `, the first one ends at ${ends}` : '';
  return [printable(`${rule}: ${spent} spent, ${held} held${count}${first}`)];
}

function limitText({ requests_per_unit: requests, unit, window, shadow_mode: shadow }: Json): string {
  if (window === 'concurrency') return `${requests} at once${shadow === true ? ' (shadow mode)' : ''}`;
  return `${requests} per ${window ?? String(unit).toLowerCase()}${shadow === true ? ' (shadow mode)' : ''}`;
}

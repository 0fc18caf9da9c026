import { printable } from '../../base/printable.ts';
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
  holder: textFlag('NAME', 'release: the holder, as "list" prints it'),
  reason: textFlag('TEXT', 'release: why, for the log'),
  timeout: textFlag('DURATION', 'how long to wait for the answer', '5s'),
  json: { kind: 'switch', help: 'print the answer as one line of JSON' },
} as const;

export const usage = `Usage: sluice leases list [flags]
       sluice leases release [flags]

Lists the leases of the limits in which a request with this descriptor counts,
those that end first, or releases the lease of a holder: what it holds is free
again, and nothing is spent. A release is in effect in all instances that share
a Redis.

"release" needs the ADMIN_TOKEN of the service, from the environment or from the
file in ADMIN_TOKEN_FILE.

Flags:
${describeFlags(FLAGS)}
Flags may start with one dash or two and may contain "_" instead of "-". In a
descriptor, a comma ends a pair and the first "=" ends a key. The entry that
names the holder is not needed.

Exit status: 0 it was done, 2 it was not.

Examples:
  sluice leases list --domain ai --descriptors user=anna
  sluice leases release --domain ai --descriptors user=anna \\
      --holder 8f14e45f --reason "ticket 4711"
`;

/**
 * `sluice leases`: lists or releases the leases of a descriptor of a running service.
 *
 * @throws CommandFault when the arguments are wrong or the service refuses
 */
export async function run(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, FLAGS);
  const [action, ...others] = positionals;
  refuseArguments(others);
  if (action !== 'list' && action !== 'release') {
    throw new UsageFault('say what to do: "sluice leases list" or "release".');
  }
  const { domain, descriptors, holder, reason } = flags;
  requireFlags(flags, action === 'list' ? ['domain', 'descriptors'] : ['domain', 'descriptors', 'holder']);
  if (action === 'list' && (holder !== '' || reason !== ''))
    throw new UsageFault('--holder and --reason are for "sluice leases release".');
  const path = action === 'list' ? '/leases/read' : '/leases/release';
  const answer = await operatorApi(io, flags)('POST', path, {
    domain,
    entries: entriesOf(descriptors),
    ...(action === 'release' && { holder }),
    ...(reason !== '' && { reason }),
  });
  const text = action === 'list' ? listText : releaseText;
  return printAnswer(io, flags, answer, () => text(answer, io.columns));
}

/** A table for each limit, below a line with what is spent and held. */
function listText({ limits, why }: Json, columns: number | null): string {
  const leased = listOf(limits);
  if (leased.length === 0) return `no limits with leases: ${printable(String(why))}\n`;
  return linesText(leased.flatMap((limit, i) => [...(i === 0 ? [] : ['']), ...limitLines(limit, columns)]));
}

function limitLines(limit: Json, columns: number | null): string[] {
  const { rule, requests_per_unit: requests, unit, window, scale, spent, held, count } = limit;
  const leases = listOf(limit['leases']);
  const per = window === 'concurrency' ? 'at the same time' : `per ${window ?? String(unit).toLowerCase()}`;
  const worth = scale === undefined ? '' : `, each one worth ${scale} hits`;
  const number = count === undefined ? '' : ` by ${count === 1 ? '1 lease' : `${count} leases`}`;
  const head = printable(`${rule}: ${requests} ${per}${worth}; ${spent} spent, ${held} held${number}`);
  if (leases.length === 0) return [head];
  const rows = leases.map(({ holder, hits, ends }) => [String(holder), String(hits), String(ends)]);
  const more = typeof count === 'number' ? count - leases.length : 0;
  return [
    head,
    ...headedTableLines(['HOLDER', 'HITS', 'ENDS'], rows, columns),
    ...(more > 0 ? [`and ${more} more that end later`] : []),
  ];
}

function releaseText({ limits }: Json, columns: number | null): string {
  const rows = listOf(limits).map(({ rule, hits, key }) => [String(rule), String(hits), String(key)]);
  return linesText([
    ...headedTableLines(['RULE', 'HITS HELD', 'KEY'], rows, columns),
    'The lease was released.',
  ]);
}

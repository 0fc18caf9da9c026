import { HOUR_MS, SECOND_MS } from '../../base/clock.ts';
import { printable } from '../../base/printable.ts';
import { formatDuration } from '../../settings/kinds/go-numbers.ts';
import { duration } from '../../settings/kinds/kinds.ts';
import { describeFlags, parseFlags, readFlag } from '../terminal/flags.ts';
import { type CliIo, CommandFault, EXIT, UsageFault } from '../terminal/io.ts';
import { headedTableLines } from '../terminal/layout.ts';
import { callOperatorApi, type Json } from './operator-call.ts';

const FLAGS = {
  'debug-address': {
    kind: 'text',
    placeholder: 'HOST:PORT',
    default: 'localhost:6070',
    help: 'address of the debug port of the service',
  },
  domain: { kind: 'text', placeholder: 'NAME', default: '', help: 'domain of the rules' },
  descriptors: {
    kind: 'text',
    placeholder: 'K=V[,K2=V2...]',
    default: '',
    help: 'the entries of one descriptor, as a request has them',
  },
  reason: { kind: 'text', placeholder: 'TEXT', default: '', help: 'reset: why, for the log' },
  timeout: { kind: 'text', placeholder: 'DURATION', default: '5s', help: 'how long to wait for the answer' },
  json: { kind: 'switch', help: 'print the answer as one line of JSON' },
} as const;

export const COUNTERS_USAGE = `Usage: sluice counters get [flags]
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
export async function runCounters(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, FLAGS);
  const [action, unexpected] = positionals;
  if (unexpected !== undefined) throw new UsageFault(`unexpected argument "${unexpected}".`);
  if (action !== 'get' && action !== 'reset') {
    throw new UsageFault('say what to do: "sluice counters get" or "reset".');
  }
  for (const name of ['domain', 'descriptors'] as const) {
    if (flags[name] === '') throw new UsageFault(`--${name} is missing.`);
  }
  if (action === 'get' && flags.reason !== '')
    throw new UsageFault('--reason is for "sluice counters reset".');
  const timeoutMs = readFlag('timeout', flags.timeout, duration({ min: 1, max: HOUR_MS }));
  const answer = await callOperatorApi(
    io,
    { address: flags['debug-address'], timeoutMs },
    {
      method: 'POST',
      path: action === 'get' ? '/counters/read' : '/counters/reset',
      body: {
        domain: flags.domain,
        entries: flags.descriptors.split(',').map(pair => {
          const at = pair.indexOf('=');
          return at < 0 ? { key: pair } : { key: pair.slice(0, at), value: pair.slice(at + 1) };
        }),
        ...(flags.reason !== '' && { reason: flags.reason }),
      },
    },
  );
  io.stdout(flags.json ? `${JSON.stringify(answer)}\n` : textOf(answer, action, io.columns));
  return EXIT.done;
}

function textOf(answer: Json, action: 'get' | 'reset', columns: number | null): string {
  const { counters } = answer;
  if (!Array.isArray(counters)) throw new CommandFault('the service answered with unexpected JSON.');
  if (counters.length === 0) return `no counters: ${printable(String(answer['why']))}\n`;
  const head = [
    'RULE',
    action === 'get' ? 'COUNT' : 'COUNT BEFORE',
    'LIMIT',
    'REMAINING',
    'RESETS IN',
    'KEY',
  ];
  const rows = (counters as Json[]).map(counter => [
    String(counter['rule'] ?? 'limit of the request'),
    String(counter['count'] ?? 'unknown'),
    limitText(counter),
    String(counter['remaining'] ?? 'unknown'),
    typeof counter['reset_seconds'] === 'number' ? formatDuration(counter['reset_seconds'] * SECOND_MS) : '',
    String(counter['key']),
  ]);
  const lines = headedTableLines(head, rows, columns);
  lines.push(...(counters as Json[]).flatMap(penaltyLines));
  if (action === 'reset')
    lines.push(counters.length === 1 ? 'The counter was reset.' : 'The counters were reset.');
  return lines.map(line => `${line}\n`).join('');
}

/** A line about the penalty of a counter; none if its limit has no penalty. */
function penaltyLines({ rule, violations, penalties, penalized_until: until }: Json): string[] {
  if (until === undefined) return [];
  const state = typeof until === 'string' ? `penalized until ${until}` : 'not penalized';
  return [
    printable(`${rule}: ${state}, violations since the last penalty: ${violations}, penalties: ${penalties}`),
  ];
}

function limitText({ requests_per_unit: requests, unit, window, shadow_mode: shadow }: Json): string {
  return `${requests} per ${window ?? String(unit).toLowerCase()}${shadow === true ? ' (shadow mode)' : ''}`;
}

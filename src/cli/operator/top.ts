import { setTimeout as pause } from 'node:timers/promises';
import { HOUR_MS, SECOND_MS } from '../../base/clock.ts';
import { duration, integer } from '../../settings/kinds/kinds.ts';
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
  domain: { kind: 'text', placeholder: 'NAME', default: '', help: 'only limits of this domain' },
  search: { kind: 'text', placeholder: 'TEXT', default: '', help: 'only limits whose path contains this' },
  sort: {
    kind: 'text',
    placeholder: 'ORDER',
    default: 'refused',
    help: 'refused, near_limit or hits per second, fullest key, or path',
  },
  count: { kind: 'text', placeholder: 'N', default: '20', help: 'number of limits, at most 500' },
  interval: {
    kind: 'text',
    placeholder: 'DURATION',
    default: '2s',
    help: 'how often a terminal is refreshed',
  },
  once: { kind: 'switch', help: 'print once; the default if the output is no terminal' },
  timeout: { kind: 'text', placeholder: 'DURATION', default: '5s', help: 'how long to wait for an answer' },
  json: { kind: 'switch', help: 'print once, as one line of JSON' },
} as const;

export const TOP_USAGE = `Usage: sluice top [flags]

Shows the limits of a running service with the most refusals per second, and
refreshes the terminal until it is interrupted.

Flags:
${describeFlags(FLAGS)}
Flags may start with one dash or two and may contain "_" instead of "-".

Exit status: 0 the limits were printed, 2 they were not.

Examples:
  sluice top
  sluice top --sort fullest --search checkout --once
`;

/** Moves the cursor to the top left and clears the terminal. */
const CLEAR = '\x1b[H\x1b[2J';

/**
 * `sluice top`: the limits with the most refusals per second.
 *
 * @throws CommandFault when the arguments are wrong or there is no answer
 */
export async function runTop(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, FLAGS);
  if (positionals.length > 0) throw new UsageFault(`unexpected argument "${positionals[0]}".`);
  const timeoutMs = readFlag('timeout', flags.timeout, duration({ min: 1, max: HOUR_MS }));
  const intervalMs = readFlag('interval', flags.interval, duration({ min: SECOND_MS, max: HOUR_MS }));
  const count = readFlag('count', flags.count, integer({ min: 1, max: 500 }));
  const query = new URLSearchParams({ sort: flags.sort, count: String(count) });
  if (flags.domain !== '') query.set('domain', flags.domain);
  if (flags.search !== '') query.set('q', flags.search);
  const target = { address: flags['debug-address'], timeoutMs };
  for (;;) {
    const answer = await callOperatorApi(io, target, { method: 'GET', path: `/limits?${query}` });
    if (flags.json) {
      io.stdout(`${JSON.stringify(answer)}\n`);
      return EXIT.done;
    }
    const text = textOf(answer, io.columns);
    if (flags.once || !io.isTerminal) {
      io.stdout(text);
      return EXIT.done;
    }
    io.stdout(CLEAR + text);
    await pause(intervalMs);
  }
}

function textOf(answer: Json, columns: number | null): string {
  const { limits, total, time } = answer;
  if (!Array.isArray(limits)) throw new CommandFault('the service answered with unexpected JSON.');
  const head = [
    'RULE',
    'REFUSED/S',
    'NEAR/S',
    'HITS/S',
    'SHADOW/S',
    'FULLEST',
    'REFUSED 1H',
    'HITS 1H',
    'LIMIT',
  ];
  const rows = (limits as Json[]).map(limit => {
    const [now, hour] = [limit['per_second'] as Json, limit['last_hour'] as Json];
    return [
      String(limit['path']),
      ...['refused', 'near_limit', 'hits', 'shadow_refused'].map(name => rateText(Number(now[name]))),
      fullestText(limit['fullest'] as Json | null),
      String(hour['refused']),
      String(hour['hits']),
      String(limit['meaning']),
    ];
  });
  const lines = [`${limits.length} of ${total} limits at ${time}`, ...headedTableLines(head, rows, columns)];
  return lines.map(line => `${line}\n`).join('');
}

/** How much of the limit its fullest key has used. An older service does not say it. */
function fullestText(fullest: Json | null | undefined): string {
  return fullest == null ? '-' : `${Math.round(Number(fullest['share']) * 100)}%`;
}

function rateText(perSecond: number): string {
  return perSecond >= 100 ? String(Math.round(perSecond)) : String(Math.round(perSecond * 10) / 10);
}

import { setTimeout as pause } from 'node:timers/promises';
import { HOUR_MS, SECOND_MS } from '../../base/clock.ts';
import { duration, integer } from '../../settings/kinds/kinds.ts';
import { describeFlags, parseFlags, readFlag, refuseArguments, textFlag } from '../terminal/flags.ts';
import type { CliIo } from '../terminal/io.ts';
import { headedTableLines, linesText } from '../terminal/layout.ts';
import { rateText } from '../terminal/rate-text.ts';
import { DEBUG_ADDRESS, type Json, listOf, operatorApi, printAnswer } from './operator-call.ts';

const FLAGS = {
  'debug-address': DEBUG_ADDRESS,
  domain: textFlag('NAME', 'only limits of this domain'),
  search: textFlag('TEXT', 'only limits whose path contains this'),
  sort: textFlag('ORDER', 'refused, near_limit or hits per second, fullest key, or path', 'refused'),
  count: textFlag('N', 'number of limits, at most 500', '20'),
  interval: textFlag('DURATION', 'how often a terminal is refreshed', '2s'),
  once: { kind: 'switch', help: 'print once; the default if the output is no terminal' },
  timeout: textFlag('DURATION', 'how long to wait for an answer', '5s'),
  json: { kind: 'switch', help: 'print once, as one line of JSON' },
} as const;

export const usage = `Usage: sluice top [flags]

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
export async function run(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, FLAGS);
  refuseArguments(positionals);
  const call = operatorApi(io, flags);
  const intervalMs = readFlag('interval', flags.interval, duration({ min: SECOND_MS, max: HOUR_MS }));
  const count = readFlag('count', flags.count, integer({ min: 1, max: 500 }));
  const query = new URLSearchParams({ sort: flags.sort, count: String(count) });
  if (flags.domain !== '') query.set('domain', flags.domain);
  if (flags.search !== '') query.set('q', flags.search);
  for (;;) {
    const answer = await call('GET', `/limits?${query}`);
    const text = (): string => textOf(answer, io.columns);
    if (flags.json || flags.once || !io.isTerminal) return printAnswer(io, flags, answer, text);
    io.stdout(CLEAR + text());
    await pause(intervalMs);
  }
}

function textOf(answer: Json, columns: number | null): string {
  const { total, time } = answer;
  const limits = listOf(answer['limits']);
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
  const rows = limits.map(limit => {
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
  return linesText(lines);
}

/** How much of the limit its fullest key has used. An older service does not say it. */
function fullestText(fullest: Json | null | undefined): string {
  return fullest == null ? '-' : `${Math.round(Number(fullest['share']) * 100)}%`;
}

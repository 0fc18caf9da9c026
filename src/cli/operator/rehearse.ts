import { basename } from 'node:path';

import { setTimeout as pause } from 'node:timers/promises';
import { SECOND_MS } from '../../base/clock.ts';
import { asError } from '../../base/fault.ts';
import { printable } from '../../base/printable.ts';
import { readRuleDirectory } from '../../rules/source/read-directory.ts';
import { describeFlags, type FlagValues, parseFlags, refuseArguments, textFlag } from '../terminal/flags.ts';
import { type CliIo, CommandFault, EXIT, UsageFault } from '../terminal/io.ts';
import { headedTableLines, linesText } from '../terminal/layout.ts';
import { DEBUG_ADDRESS, type Json, type OperatorApi, operatorApi, printAnswer } from './operator-call.ts';

const FLAGS = {
  'debug-address': DEBUG_ADDRESS,
  share: textFlag('NUMBER', 'with DIR: the share of keys to decide, 0.001 to 1', '1'),
  id: textFlag('ID', 'with promote: the candidate that you have seen'),
  reason: textFlag('TEXT', 'why, for the log'),
  watch: { kind: 'switch', help: 'refresh the terminal until interrupted' },
  timeout: textFlag('DURATION', 'how long to wait for an answer', '30s'),
  json: { kind: 'switch', help: 'print the answer as one line of JSON' },
} as const;

export const usage = `Usage: sluice rehearse [DIR | promote | restart | stop] [flags]

Tries rules on the requests of a running service, without effect on answers:
the service decides each request once more with the candidate rules, with
counters of their own.

  sluice rehearse           shows what the candidate rules would change
  sluice rehearse DIR       sends the rule files of a directory as candidate
  sluice rehearse promote   replaces the active rule files by the candidate
  sluice rehearse restart   begins again with empty counters and figures
  sluice rehearse stop      ends the rehearsal

All but the first need the token of ADMIN_TOKEN or ADMIN_TOKEN_FILE.

Flags:
${describeFlags(FLAGS)}
Flags may start with one dash or two and may contain "_" instead of "-".

Exit status: 0 done, 1 the candidate rules have faults, 2 it could not be done.

Examples:
  sluice rehearse ./candidate
  sluice rehearse --watch
  sluice rehearse promote --id 3f9a2c81d04b --reason "ticket 4711"
`;

const STEPS = ['promote', 'restart', 'stop'] as const;
type Step = (typeof STEPS)[number];

const CLEAR = '\x1b[H\x1b[2J';
const REFRESH_MS = 2 * SECOND_MS;

type Flags = FlagValues<typeof FLAGS>;

/**
 * `sluice rehearse`: begins, shows and ends the rehearsal of candidate rules.
 *
 * @throws CommandFault when the arguments are wrong or there is no answer
 */
export async function run(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, FLAGS);
  const [what, ...others] = positionals;
  refuseArguments(others);
  const call = operatorApi(io, flags);
  if (what === undefined) return await show(flags, io, () => call('GET', '/rehearsal'));
  if (isStep(what)) {
    const answer = await runStep(what, flags, call);
    return printAnswer(io, flags, answer, () => `${doneText(what, flags)}\n`);
  }
  const share = Number(flags.share);
  if (!(share >= 0.001 && share <= 1)) throw new UsageFault('--share must be a number from 0.001 to 1.');
  const files = await readFiles(what);
  const reason = flags.reason === '' ? {} : { reason: flags.reason };
  return print(await call('POST', '/rehearsal', { files, share, ...reason }), flags, io);
}

function isStep(word: string): word is Step {
  return STEPS.some(step => step === word);
}

async function runStep(step: Step, { id, reason }: Flags, call: OperatorApi): Promise<Json> {
  const why = reason === '' ? {} : { reason };
  if (step === 'stop') {
    const query = reason === '' ? '' : `?${new URLSearchParams({ reason })}`;
    return await call('DELETE', `/rehearsal${query}`);
  }
  if (step === 'restart') return await call('POST', '/rehearsal/restart', why);
  if (id === '') throw new UsageFault('--id is missing: give the id that "sluice rehearse" shows.');
  return await call('POST', '/rehearsal/promote', { id, ...why });
}

function doneText(step: Step, { id }: Flags): string {
  if (step === 'promote') return `promoted ${id}: its rules are active`;
  return step === 'restart'
    ? 'the rehearsal has begun again, with empty counters'
    : 'the rehearsal has ended';
}

/** The rule files of a directory, and the files of values that they name. */
async function readFiles(directory: string): Promise<{ name: string; content: string }[]> {
  try {
    const { files } = await readRuleDirectory(directory, { ignoreDotFiles: true });
    if (files.length === 0) throw new Error('it has no *.yaml or *.yml files');
    return files.map(({ name, content }) => ({
      name: basename(name),
      content: Buffer.from(content).toString('utf8'),
    }));
  } catch (cause) {
    throw new CommandFault(`cannot read the rules of ${directory}: ${asError(cause).message}`, { cause });
  }
}

async function show(flags: Flags, io: CliIo, read: () => Promise<Json>): Promise<number> {
  if (!flags.watch || !io.isTerminal) return print(await read(), flags, io);
  for (;;) {
    io.stdout(CLEAR + textOf(await read(), io.columns));
    await pause(REFRESH_MS);
  }
}

function print(answer: Json, flags: Flags, io: CliIo): number {
  printAnswer(io, flags, answer, () => textOf(answer, io.columns));
  return answer['state'] === 'faults' ? EXIT.refused : EXIT.done;
}

function textOf(answer: Json, columns: number | null): string {
  const { state, id, source, reasons, seconds, share, total } = answer;
  if (state === 'none') return 'no candidate rules; set RUNTIME_CANDIDATE, or use "sluice rehearse DIR"\n';
  if (state === 'faults') {
    return `candidate ${id} has faults and is not rehearsed:\n${printable((reasons as string[]).join('\n')).replaceAll('\\u000a', '\n')}\n`;
  }
  const { hits, more, fewer } = total as Json;
  const sampled = share === 1 ? '' : `, estimated from ${Number(share) * 100} % of the keys`;
  const rows = (answer['limits'] as Json[]).map(limit => [
    String(limit['path'] ?? '(no limit)'),
    String(limit['hits']),
    shareText(limit, 'rejected'),
    shareText(limit, 'today'),
    String(limit['more']),
    String(limit['fewer']),
  ]);
  const head = ['LIMIT', 'HITS', 'REJECTED', 'TODAY', 'MORE', 'FEWER'];
  const lines = [
    `candidate ${id} from ${source}, for ${Math.round(Number(seconds))} s: ${hits} hits, rejects ${more} more and ${fewer} fewer${sampled}`,
    ...(rows.length === 0 ? [] : headedTableLines(head, rows, columns)),
    ...keyLines(answer['keys'] as Json[]),
  ];
  return linesText(lines.map(printable));
}

function shareText(limit: Json, figure: 'rejected' | 'today'): string {
  const [part, whole] = [Number(limit[figure]), Number(limit['hits'])];
  return `${part} (${Math.round((part / whole) * 1_000) / 10} %)`;
}

function keyLines(keys: readonly Json[]): string[] {
  if (keys.length === 0) return [];
  return [
    'keys of the last changes:',
    ...keys.slice(0, 20).map(({ path, key, outcome, count }) => {
      const change = outcome === 'rejected' ? 'would be rejected' : 'would be allowed';
      return `  ${key} of ${path ?? 'no limit'}: ${change}, ${count} times`;
    }),
  ];
}

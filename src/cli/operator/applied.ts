import { setTimeout as pause } from 'node:timers/promises';
import { HOUR_MS, SECOND_MS } from '../../base/clock.ts';
import { printable } from '../../base/printable.ts';
import { shortDigest } from '../../rules/rule-digest.ts';
import { duration, integer } from '../../settings/kinds/kinds.ts';
import { readFlag } from '../terminal/flags.ts';
import { type CliIo, EXIT, UsageFault } from '../terminal/io.ts';
import { headedTableLines, linesText } from '../terminal/layout.ts';
import { type Json, listOf, NoAnswer, operatorApi } from './operator-call.ts';

/** Interval between questions while it waits. */
const EVERY_MS = SECOND_MS;

/** The flags of `sluice check` that `--applied` uses, as texts. */
interface AppliedFlags {
  readonly applied: string;
  readonly wait: string;
  readonly instances: string;
  readonly 'debug-address': string;
  readonly timeout: string;
  readonly json: boolean;
}

/**
 * `sluice check --applied`: asks a service whether all instances use the rules with a digest, until they do or the wait is
 * over. Progress goes to standard error, the last answer to standard output.
 *
 * @returns the exit status: `refused` if some instances do not use them
 * @throws CommandFault if the arguments are wrong or the service does not answer until the end of the wait
 */
export async function checkApplied(flags: AppliedFlags, io: CliIo): Promise<number> {
  const digest = flags.applied;
  if (!/^[0-9a-f]{12,64}$/i.test(digest)) {
    throw new UsageFault(
      `--applied=${digest}: not a digest. Write at least 12 of the 64 hex digits that "sluice check DIR --digest" prints.`,
    );
  }
  const waitMs = readFlag('wait', flags.wait, duration({ min: 0, max: HOUR_MS }));
  const expected = readFlag('instances', flags.instances, integer({ min: 1, max: 1_000 }));
  const call = operatorApi(io, flags);
  const progress = new Progress(flags.json ? null : io);
  const endMs = performance.now() + waitMs;
  for (;;) {
    const leftMs = endMs - performance.now();
    const isLast = leftMs <= 0;
    try {
      const answer = await call('GET', `/rollout?${new URLSearchParams({ digest })}`);
      const isDone = answer['applied'] === true && listOf(answer['instances']).length >= expected;
      if (isDone || isLast) return print({ ...answer, applied: isDone }, expected, flags, io);
      progress.tell(`waiting: ${[countText(answer, expected), ...namesOf(missing(answer))].join('; not ')}`);
    } catch (failure) {
      // An instance may be restarting.
      if (!(failure instanceof NoAnswer) || isLast) throw failure;
      progress.tell(`waiting: ${failure.message}`);
    }
    await pause(Math.min(EVERY_MS, Math.max(endMs - performance.now(), 0)));
  }
}

/** Says on standard error what is awaited, whenever that changes. */
class Progress {
  readonly #io: CliIo | null;
  #told = '';

  /** @param io null to say nothing */
  constructor(io: CliIo | null) {
    this.#io = io;
  }

  tell(text: string): void {
    if (text === this.#told) return;
    this.#told = text;
    this.#io?.stderr(`sluice check: ${text}\n`);
  }
}

function print(answer: Json, expected: number, flags: AppliedFlags, io: CliIo): number {
  const isDone = answer['applied'] === true;
  if (flags.json) io.stdout(`${JSON.stringify(answer)}\n`);
  else {
    const rest = missing(answer);
    const rows = rest.map(({ host, pid, state, digest, seen, error }) => {
      const rules = digest === null ? '' : shortDigest(String(digest));
      return [`${host} (${pid})`, String(state), rules, String(seen), String(error ?? '')];
    });
    const table = headedTableLines(['INSTANCE', 'STATE', 'RULES', 'SEEN', 'REASON'], rows, io.columns);
    io.stdout(linesText([countText(answer, expected), ...(rest.length === 0 ? [] : table)]));
    if (answer['shared'] !== true)
      io.stderr('sluice check: only this instance was asked; those that share a Redis know of each other\n');
  }
  return isDone ? EXIT.done : EXIT.refused;
}

/** The instances that do not use the rules. */
function missing({ instances }: Json): readonly Json[] {
  return listOf(instances).filter(({ state }) => state !== 'applied');
}

/** How far it is: `2 of 3 instances use the rules b0b0b0b0b0b0b0b0`. */
function countText(answer: Json, expected: number): string {
  const count = listOf(answer['instances']).length;
  const applied = count - missing(answer).length;
  const digest = shortDigest(String(answer['digest']));
  const unknown = answer['complete'] === true ? '' : '; Redis does not tell of all instances';
  return `${applied} of ${Math.max(count, expected)} instances use the rules ${digest}${unknown}`;
}

/** Maximum number of instances that a line of progress names. */
const MAX_NAMED = 5;

/** The names of the first instances with their states; nothing without instances. */
function namesOf(instances: readonly Json[]): readonly string[] {
  if (instances.length === 0) return [];
  const named = instances.slice(0, MAX_NAMED).map(({ host, pid, state }) => `${host} (${pid}): ${state}`);
  const more = instances.length - named.length;
  return [printable([...named, ...(more > 0 ? [`${more} more`] : [])].join(', '))];
}

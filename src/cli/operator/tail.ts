import { setTimeout as pause } from 'node:timers/promises';
import { HOUR_MS } from '../../base/clock.ts';
import { printable } from '../../base/printable.ts';
import { duration, integer } from '../../settings/kinds/kinds.ts';
import {
  describeFlags,
  type FlagValues,
  parseFlags,
  readFlag,
  refuseArguments,
  textFlag,
} from '../terminal/flags.ts';
import { type CliIo, CommandFault, EXIT } from '../terminal/io.ts';
import { operatorEvents } from './event-stream.ts';
import { DEBUG_ADDRESS, type Json, listOf, reasonOf } from './operator-call.ts';

const FLAGS = {
  'debug-address': DEBUG_ADDRESS,
  domain: textFlag('NAME', 'only rejections in this domain'),
  limit: textFlag('PATH', 'only rejections by this limit'),
  search: textFlag('TEXT', 'only keys that contain this'),
  count: textFlag('N', 'end after N rejections; 0 for never', '0'),
  patience: textFlag('DURATION', 'end if the service is gone for this long; 0s at once', '1h'),
  json: { kind: 'switch', help: 'print each rejection as a line of JSON' },
} as const;

export const usage = `Usage: sluice tail [flags]

Prints the rejections of a running service as they happen, until it is
interrupted: time, limit, key, count and limit, and the address of the caller.
If the connection is lost, it connects again.

The service records at most a part of a flood; the decision log can have all.

Flags:
${describeFlags(FLAGS)}
Flags may start with one dash or two and may contain "_" instead of "-".

Exit status: 0 --count rejections were printed, 2 the service was gone.

Examples:
  sluice tail
  sluice tail --domain shop --json
  sluice tail --limit shop.user --search ann --count 1
`;

/** How long to wait before connecting again, at first and at most. */
const RETRY_MS = { first: 500, most: 10_000 };

/**
 * `sluice tail`: rejections as they happen.
 *
 * @throws CommandFault when the arguments are wrong, or the service is not there
 */
export async function run(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, FLAGS);
  refuseArguments(positionals);
  const most = readFlag('count', flags.count, integer({ min: 0, max: 1_000_000_000 }));
  const patienceMs = readFlag('patience', flags.patience, duration({ min: 0, max: 24 * HOUR_MS }));
  const printer = new Printer(flags, io);
  const address = flags['debug-address'];
  let goneMs = 0;
  let retryMs = RETRY_MS.first;
  for (;;) {
    try {
      for await (const { name, data } of operatorEvents(address)) {
        if (goneMs > 0)
          io.stderr(`sluice tail: connected to ${address} again; some rejections are missing\n`);
        goneMs = 0;
        retryMs = RETRY_MS.first;
        if (name === 'rejections') printer.print(data, most);
        if (io.isClosed?.() || (most > 0 && printer.printed >= most)) return EXIT.done;
      }
    } catch (failure) {
      if (failure instanceof CommandFault) throw failure;
      const reason = reasonOf(failure);
      if (goneMs >= patienceMs) {
        throw new CommandFault(
          `no events from ${address}: ${reason}. Is the service running, and is this its debug port? Change the ` +
            'address with --debug-address.',
          { cause: failure },
        );
      }
      if (goneMs === 0) io.stderr(`sluice tail: no events from ${address} (${reason}); trying again\n`);
    }
    await pause(retryMs);
    goneMs += retryMs;
    retryMs = Math.min(retryMs * 2, RETRY_MS.most);
  }
}

/** Prints the rejections that were asked for. */
class Printer {
  readonly #shown: FlagValues<typeof FLAGS>;
  readonly #io: CliIo;
  printed = 0;

  constructor(shown: FlagValues<typeof FLAGS>, io: CliIo) {
    this.#shown = shown;
    this.#io = io;
  }

  /** @param most number of rejections to print altogether; 0 for all */
  print({ refusals, left_out: leftOut }: Json, most: number): void {
    // The latest one is first.
    for (const rejection of listOf(refusals).toReversed()) {
      if (!this.#isAskedFor(rejection)) continue;
      if (most > 0 && this.printed >= most) return;
      this.printed++;
      this.#io.stdout(this.#shown.json ? `${JSON.stringify(rejection)}\n` : lineOf(rejection));
    }
    if (Number(leftOut) > 0) this.#io.stderr(`sluice tail: ${leftOut} more rejections\n`);
  }

  #isAskedFor({ domain, path, key }: Json): boolean {
    const shown = this.#shown;
    return (
      (shown.domain === '' || shown.domain === domain) &&
      (shown.limit === '' || shown.limit === path) &&
      String(key).includes(shown.search)
    );
  }
}

function lineOf(rejection: Json): string {
  const { time, domain, path, key, count, held, most, peer, trace_id: trace } = rejection;
  const leased = typeof held === 'number' && held > 0 ? `, ${held} held` : '';
  const isBanned = rejection['banned'] === true;
  const parts = [
    String(time),
    path === '' ? `${domain} (${isBanned ? 'no rule' : 'limit of the request'})` : String(path),
    String(key),
    isBanned ? 'banned' : count === null ? `over ${most}` : `${count} of ${most}${leased}`,
    ...(rejection['shadow_mode'] === true ? ['shadow'] : []),
    ...(rejection['penalized'] === true ? ['penalized'] : []),
    ...(peer === null ? [] : [`from ${peer}`]),
    ...(trace === null ? [] : [`trace ${trace}`]),
  ];
  return `${printable(parts.join('  '))}\n`;
}

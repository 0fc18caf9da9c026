import { HOUR_MS } from '../base/clock.ts';
import { asError } from '../base/fault.ts';
import { printable } from '../base/printable.ts';
import type { Explanation } from '../decision/explain/explain-descriptor.ts';
import type { RateLimitRequest } from '../messages/client-codec.ts';
import { duration } from '../settings/kinds/kinds.ts';
import { REQUEST_FLAGS, requestFromFlags } from './client/client-request.ts';
import { explanationText } from './explain-text.ts';
import { describeFlags, parseFlags, readFlag } from './terminal/flags.ts';
import { type CliIo, CommandFault, EXIT, UsageFault } from './terminal/io.ts';

/** Flags of `sluice explain`. */
const EXPLAIN_FLAGS = {
  'debug-address': {
    kind: 'text',
    placeholder: 'HOST:PORT',
    default: 'localhost:6070',
    help: 'address of the debug port of the service',
  },
  ...REQUEST_FLAGS,
  hits: { ...REQUEST_FLAGS.hits, help: 'number of hits of each descriptor' },
  timeout: { kind: 'text', placeholder: 'DURATION', default: '5s', help: 'how long to wait for the answer' },
  json: { kind: 'switch', help: 'print the explanation as one line of JSON' },
} as const;

export const EXPLAIN_USAGE = `Usage: sluice explain --domain NAME --descriptors K=V[,K2=V2...] [flags]

Asks a running service what it would answer to a request, and why: which rule
matches each descriptor, the key and the window, and the current count. Nothing
is counted.

Flags:
${describeFlags(EXPLAIN_FLAGS)}
Flags may start with one dash or two and may contain "_" instead of "-". In a
descriptor, a comma ends a pair and the first "=" ends a key.

Exit status: 0 the request was explained, 2 it was not.

Examples:
  sluice explain --domain shop --descriptors user=anna,path=/checkout
  sluice explain --debug-address host:6070 --domain shop --descriptors a=b
`;

/**
 * `sluice explain`: asks the debug port of a running service what a decision would be, and prints why.
 *
 * @throws CommandFault when the arguments are wrong or there is no explanation
 */
export async function runExplain(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, EXPLAIN_FLAGS);
  if (positionals.length > 0) {
    throw new UsageFault(`unexpected argument "${positionals[0]}". Give descriptors with --descriptors.`);
  }
  const request = requestFromFlags(flags);
  const timeoutMs = readFlag('timeout', flags.timeout, duration({ min: 1, max: HOUR_MS }));
  const explanation = await askForExplanation(flags['debug-address'], request, timeoutMs);
  io.stdout(flags.json ? `${JSON.stringify(explanation)}\n` : explanationText(explanation, io.columns));
  return EXIT.done;
}

async function askForExplanation(
  address: string,
  request: RateLimitRequest,
  timeoutMs: number,
): Promise<Explanation> {
  const url = `http://${address}/explain`;
  if (!URL.canParse(url)) {
    throw new UsageFault(
      `"${address}" is not a valid address. Write --debug-address as host:port, such as localhost:6070.`,
    );
  }
  const { status, text } = await post(url, requestJson(request), { address, timeoutMs });
  const body = parsed(text);
  if (status === 200 && isExplanation(body)) return body;
  const { error } = (body ?? {}) as { readonly error?: { readonly message?: unknown } };
  if (typeof error?.message === 'string' && status !== 405) {
    throw new CommandFault(`${address} refused the request: ${printable(error.message)}.`);
  }
  throw new CommandFault(
    `${address} answered with HTTP status ${status} instead of an explanation. Is it the debug port of the service? ` +
      'Change the address with --debug-address.',
  );
}

async function post(
  url: string,
  body: string,
  { address, timeoutMs }: { readonly address: string; readonly timeoutMs: number },
): Promise<{ readonly status: number; readonly text: string }> {
  try {
    const signal = AbortSignal.timeout(timeoutMs);
    const response = await fetch(url, { method: 'POST', body, signal, headers: { connection: 'close' } });
    return { status: response.status, text: await response.text() };
  } catch (failure) {
    const { cause } = asError(failure);
    const reason = printable(asError(cause ?? failure).message);
    throw new CommandFault(
      `no response from ${address}: ${reason}. Is the service running, and is this its debug port? Change the address ` +
        'with --debug-address.',
      { cause: failure },
    );
  }
}

/** The request for the debug port. Hits of 0 are sent with each descriptor, because a request with 0 hits counts 1. */
function requestJson({ domain, descriptors, hitsAddend }: RateLimitRequest): string {
  return JSON.stringify({
    domain,
    descriptors: descriptors.map(({ entries, hitsAddend: own, isNegativeHits }) => ({
      entries,
      ...(own === null ? {} : { hitsAddend: own }),
      ...(isNegativeHits === true ? { isNegativeHits } : {}),
    })),
    hitsAddend,
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function isExplanation(body: unknown): body is Explanation {
  const { descriptors, answer } = (body ?? {}) as {
    readonly descriptors?: unknown;
    readonly answer?: unknown;
  };
  return Array.isArray(descriptors) && typeof answer === 'object' && answer !== null;
}

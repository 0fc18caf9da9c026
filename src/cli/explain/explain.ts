import { HOUR_MS } from '../../base/clock.ts';
import { asError } from '../../base/fault.ts';
import { printable } from '../../base/printable.ts';
import type { Explanation } from '../../decision/explain/explain-descriptor.ts';
import type { RateLimitRequest } from '../../messages/client-codec.ts';
import { duration } from '../../settings/kinds/kinds.ts';
import { requestFromFlags } from '../client/client-request.ts';
import { CommandFault, UsageFault } from '../terminal/command-fault.ts';
import { parseFlags, readFlag } from '../terminal/flags.ts';
import { type CliIo, EXIT } from '../terminal/io.ts';
import { EXPLAIN_FLAGS } from './explain-flags.ts';
import { explanationText } from './explain-output.ts';

/**
 * `sluice explain`: asks the debug port of a running service what a decision would be, and prints why.
 *
 * @throws CommandFault when the arguments are wrong or there is no explanation
 */
export async function runExplain(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, EXPLAIN_FLAGS);
  if (positionals.length > 0) {
    throw new UsageFault(`"${positionals[0]}" belongs to no flag. A descriptor goes after --descriptors.`);
  }
  const request = requestFromFlags(flags);
  const timeoutMs = readFlag('timeout', flags.timeout, duration({ min: 1, max: HOUR_MS }));
  const explanation = await askForExplanation(flags['debug-address'], request, timeoutMs);
  io.stdout(flags.json ? `${JSON.stringify(explanation)}\n` : explanationText(explanation));
  return EXIT.done;
}

async function askForExplanation(
  address: string,
  request: RateLimitRequest,
  timeoutMs: number,
): Promise<Explanation> {
  const url = `http://${address}/explain`;
  if (!URL.canParse(url)) {
    throw new UsageFault(`"${address}" is no address: give --debug-address as host:port (localhost:6070).`);
  }
  const { status, text } = await post(url, requestJson(request), { address, timeoutMs });
  const body = parsed(text);
  if (status === 200 && isExplanation(body)) return body;
  const { error } = (body ?? {}) as { readonly error?: { readonly message?: unknown } };
  if (typeof error?.message === 'string' && status !== 405) {
    throw new CommandFault(`${address} refused the request: ${printable(error.message)}.`);
  }
  throw new CommandFault(
    `${address} answered with HTTP status ${status} and no explanation: is it the debug port of the service? ` +
      'Name another with --debug-address.',
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
      `no answer from ${address}: ${reason}. Is the service running, and is this its debug port? Name another with ` +
        '--debug-address.',
      { cause: failure },
    );
  }
}

/** The request as the debug port takes it; hits of 0 go with each descriptor, for a request with 0 counts 1. */
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

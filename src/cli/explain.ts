import { printable } from '../base/printable.ts';
import type { Explanation } from '../decision/explain/explain-descriptor.ts';
import type { RateLimitRequest } from '../messages/client-codec.ts';
import { REQUEST_FLAGS, requestFromFlags } from './client/client-request.ts';
import { explainBucket } from './explain-bucket.ts';
import { DESCRIBED_REQUEST_FLAGS, describedRequest } from './explain-request.ts';
import { explanationText } from './explain-text.ts';
import {
  askDebugPort,
  DEBUG_ADDRESS,
  type Json,
  parsedObject,
  printAnswer,
  timeoutOf,
} from './operator/operator-call.ts';
import { describeFlags, type FlagValues, parseFlags, refuseArguments, textFlag } from './terminal/flags.ts';
import { type CliIo, CommandFault, UsageFault } from './terminal/io.ts';

/** Flags of `sluice explain`. */
const EXPLAIN_FLAGS = {
  'debug-address': DEBUG_ADDRESS,
  ...REQUEST_FLAGS,
  hits: { ...REQUEST_FLAGS.hits, help: 'number of hits of each descriptor' },
  ...DESCRIBED_REQUEST_FLAGS,
  bucket: { kind: 'switch', help: 'what proxies that decide themselves would get of one bucket' },
  timeout: textFlag('DURATION', 'how long to wait for the answer', '5s'),
  json: { kind: 'switch', help: 'print the explanation as one line of JSON' },
} as const;

export const usage = `Usage: sluice explain --domain NAME --descriptors K=V[,K2=V2...] [flags]
       sluice explain --domain NAME --request "METHOD TARGET" [flags]

Asks a running service what it would answer to a request, and why: which rule
matches each descriptor, the key and the window, and the current count. Nothing
is counted. With --request, the rules turn an HTTP request into descriptors, as
they do for /check. With --bucket, the entries are those of a bucket that
proxies report with the rate limit quota protocol, in any order.

Flags:
${describeFlags(EXPLAIN_FLAGS)}
Flags may start with one dash or two and may contain "_" instead of "-". In a
descriptor, a comma ends a pair and the first "=" ends a key.

Exit status: 0 the request was explained, 2 it was not.

Examples:
  sluice explain --domain shop --descriptors user=anna,path=/checkout
  sluice explain --domain shop --request "GET /a?b=c" --header "x-user: anna"
  sluice explain --bucket --domain shop --descriptors plan=free,user=anna
  sluice explain --debug-address host:6070 --domain shop --descriptors a=b
`;

/**
 * `sluice explain`: asks the debug port of a running service what a decision would be, and prints why.
 *
 * @throws CommandFault when the arguments are wrong or there is no explanation
 */
export async function run(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, EXPLAIN_FLAGS);
  refuseArguments(positionals, ' Give descriptors with --descriptors.');
  const body = bodyFromFlags(flags);
  if (flags.bucket) return await explainBucket(requestFromFlags(flags), flags, io);
  const explanation = await askForExplanation(flags['debug-address'], body, timeoutOf(flags.timeout));
  return printAnswer(io, flags, explanation, () => explanationText(explanation, io.columns));
}

/** The body for the debug port: a request with descriptors, or an HTTP request. */
function bodyFromFlags(flags: FlagValues<typeof EXPLAIN_FLAGS>): string {
  const request = describedRequest(flags);
  if (request === null) return requestJson(requestFromFlags(flags));
  if (flags.descriptors.length > 0 || flags.bucket)
    throw new UsageFault('--request stands for the descriptors: remove --descriptors and --bucket.');
  if (flags.hits !== EXPLAIN_FLAGS.hits.default || flags.refund || flags.lease !== '')
    throw new UsageFault('--request explains one hit: remove --hits, --refund and --lease.');
  if (flags.domain === '')
    throw new UsageFault('--domain is missing: give the domain of the rules, such as --domain shop.');
  return JSON.stringify({ domain: flags.domain, request });
}

async function askForExplanation(
  address: string,
  body: string,
  timeoutMs: number,
): Promise<Json & Explanation> {
  const { status, text } = await askDebugPort(address, '/explain', {
    method: 'POST',
    body,
    signal: AbortSignal.timeout(timeoutMs),
    headers: { connection: 'close' },
  });
  const answer = parsedObject(text);
  if (status === 200 && isExplanation(answer)) return answer;
  const error = answer?.['error'] as { readonly message?: unknown } | undefined;
  if (typeof error?.message === 'string' && status !== 405) {
    throw new CommandFault(`${address} refused the request: ${printable(error.message)}.`);
  }
  throw new CommandFault(
    `${address} answered with HTTP status ${status} instead of an explanation. Is it the debug port of the service? ` +
      'Change the address with --debug-address.',
  );
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

function isExplanation(body: Json | null): body is Json & Explanation {
  return (
    Array.isArray(body?.['descriptors']) && typeof body['answer'] === 'object' && body['answer'] !== null
  );
}

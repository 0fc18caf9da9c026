import { HOUR_MS } from '../../base/clock.ts';
import {
  CODE_NAMES,
  decodeRateLimitResponse,
  encodeRateLimitRequest,
  type RateLimitResponse,
} from '../../messages/client-codec.ts';
import { WireFault } from '../../messages/wire.ts';
import { duration } from '../../settings/kinds/kinds.ts';
import {
  describeFlags,
  type FlagValues,
  parseFlags,
  readFlag,
  refuseArguments,
  textFlag,
} from '../terminal/flags.ts';
import { type CliIo, CommandFault, EXIT, UsageFault } from '../terminal/io.ts';
import { type CallTarget, callShouldRateLimit } from './client-call.ts';
import { responseJson, responseText } from './client-output.ts';
import { REQUEST_FLAGS, requestFromFlags } from './client-request.ts';

/** Flags of `sluice client`. The first three and the TLS ones are those of the reference implementation's client. */
const CLIENT_FLAGS = {
  'dial-string': textFlag(
    'ADDRESS',
    'gRPC address of the service: host:port, or unix:/path of a socket',
    'localhost:8081',
  ),
  ...REQUEST_FLAGS,
  timeout: textFlag('DURATION', 'how long to wait for the answer', '5s'),
  json: { kind: 'switch', help: 'print the response as one line of JSON' },
  'fail-over-limit': { kind: 'switch', help: 'exit with status 1 when the answer is OVER_LIMIT' },
  'grpc-use-tls': { kind: 'switch', help: 'connect with TLS' },
  'grpc-server-ca-file': textFlag(
    'FILE',
    'PEM file of the CA that signed the server certificate (default: the well-known CAs)',
  ),
  'grpc-cert-file': textFlag('FILE', 'PEM file of the client certificate, if the service requires one'),
  'grpc-key-file': textFlag('FILE', 'PEM file of the key of the client certificate'),
} as const;

export const usage = `Usage: sluice client --domain NAME --descriptors K=V[,K2=V2...] [flags]

Sends one rate limit request to a running service and prints the decision.

Flags:
${describeFlags(CLIENT_FLAGS)}
Flags may start with one dash or two and may contain "_" instead of "-":
-dial_string is --dial-string. In a descriptor, a comma ends a pair and the
first "=" ends a key, so a value can contain "=" but no comma.

Exit status: 0 a decision was made, 1 it is OVER_LIMIT and --fail-over-limit
was given, 2 no decision was made.

Examples:
  sluice client --domain shop --descriptors user=anna,path=/checkout
  sluice client --domain shop --descriptors user=anna --hits 0 --json
`;

/**
 * `sluice client`: asks a running service for one decision and prints it.
 *
 * @returns the exit status: `refused` only for OVER_LIMIT with `--fail-over-limit`
 * @throws CommandFault when the arguments are wrong or no decision was made
 */
export async function run(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, CLIENT_FLAGS);
  refuseArguments(positionals, ' Give descriptors with --descriptors.');
  const request = requestFromFlags(flags);
  const target = targetFromFlags(flags);
  const response = decodeResponse(target, await callShouldRateLimit(target, encodeRateLimitRequest(request)));
  io.stdout(flags.json ? responseJson(response) : responseText(request, response, io.columns));
  return exitStatus(target, response, flags['fail-over-limit']);
}

/** @throws UsageFault if a flag is invalid or would silently have no effect */
function targetFromFlags(flags: FlagValues<typeof CLIENT_FLAGS>): CallTarget {
  const tls = {
    caFile: flags['grpc-server-ca-file'],
    certFile: flags['grpc-cert-file'],
    keyFile: flags['grpc-key-file'],
  };
  const file = tls.caFile || tls.certFile || tls.keyFile;
  if (file !== '' && !flags['grpc-use-tls']) {
    throw new UsageFault(
      `${file} has no effect without --grpc-use-tls. Add that flag, or leave the file out.`,
    );
  }
  if ((tls.certFile === '') !== (tls.keyFile === '')) {
    throw new UsageFault(
      'a client certificate requires its key: give both --grpc-cert-file and --grpc-key-file.',
    );
  }
  return {
    address: flags['dial-string'],
    tls: flags['grpc-use-tls'] ? tls : null,
    timeoutMs: readFlag('timeout', flags.timeout, duration({ min: 1, max: HOUR_MS })),
  };
}

function decodeResponse(target: CallTarget, bytes: Uint8Array): RateLimitResponse {
  try {
    return decodeRateLimitResponse(bytes);
  } catch (failure) {
    if (!(failure instanceof WireFault)) throw failure;
    const text = `${target.address} answered with an invalid rate limit response: ${failure.message}.`;
    throw new CommandFault(text, { cause: failure });
  }
}

function exitStatus(target: CallTarget, response: RateLimitResponse, failOverLimit: boolean): number {
  const code = CODE_NAMES[response.overallCode];
  if (code === 'OK') return EXIT.done;
  if (code === 'OVER_LIMIT') return failOverLimit ? EXIT.refused : EXIT.done;
  throw new CommandFault(`${target.address} answered neither OK nor OVER_LIMIT. Is it a rate limit service?`);
}

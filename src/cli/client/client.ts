import { HOUR_MS } from '../../base/clock.ts';
import {
  CODE_NAMES,
  decodeRateLimitResponse,
  encodeRateLimitRequest,
  type RateLimitResponse,
} from '../../messages/client-codec.ts';
import { WireFault } from '../../messages/wire.ts';
import { duration } from '../../settings/kinds/kinds.ts';
import { CommandFault, UsageFault } from '../terminal/command-fault.ts';
import { type FlagValues, parseFlags, readFlag } from '../terminal/flags.ts';
import { type CliIo, EXIT } from '../terminal/io.ts';
import { callShouldRateLimit } from './client-call.ts';
import type { CallTarget } from './client-fault.ts';
import { CLIENT_FLAGS } from './client-flags.ts';
import { responseJson, responseText } from './client-output.ts';
import { requestFromFlags } from './client-request.ts';

/**
 * `sluice client`: asks a running service for one decision and prints it.
 *
 * @returns the exit status: `refused` only for OVER_LIMIT with `--fail-over-limit`
 * @throws CommandFault when the arguments are wrong or no decision was made
 */
export async function runClient(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, CLIENT_FLAGS);
  if (positionals.length > 0) {
    throw new UsageFault(`"${positionals[0]}" belongs to no flag. A descriptor goes after --descriptors.`);
  }
  const request = requestFromFlags(flags);
  const target = targetFromFlags(flags);
  const response = decodeResponse(target, await callShouldRateLimit(target, encodeRateLimitRequest(request)));
  io.stdout(flags.json ? responseJson(response) : responseText(request, response));
  return exitStatus(target, response, flags['fail-over-limit']);
}

/** @throws UsageFault when a flag is no such thing, or would silently have no effect */
function targetFromFlags(flags: FlagValues<typeof CLIENT_FLAGS>): CallTarget {
  const tls = {
    caFile: flags['grpc-server-ca-file'],
    certFile: flags['grpc-cert-file'],
    keyFile: flags['grpc-key-file'],
  };
  const file = tls.caFile || tls.certFile || tls.keyFile;
  if (file !== '' && !flags['grpc-use-tls']) {
    throw new UsageFault(`${file} is of no use without --grpc-use-tls: add it, or leave the file out.`);
  }
  if ((tls.certFile === '') !== (tls.keyFile === '')) {
    throw new UsageFault(
      'a client certificate needs its key: give both --grpc-cert-file and --grpc-key-file.',
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
    const text = `${target.address} answered with something else than a rate limit response: ${failure.message}.`;
    throw new CommandFault(text, { cause: failure });
  }
}

function exitStatus(target: CallTarget, response: RateLimitResponse, failOverLimit: boolean): number {
  const code = CODE_NAMES[response.overallCode];
  if (code === 'OK') return EXIT.done;
  if (code === 'OVER_LIMIT') return failOverLimit ? EXIT.refused : EXIT.done;
  throw new CommandFault(`${target.address} answered neither OK nor OVER_LIMIT: is it a rate limit service?`);
}

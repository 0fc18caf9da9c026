import { readFile } from 'node:fs/promises';
import { type ChannelCredentials, Client, connectivityState, credentials, Metadata } from '@grpc/grpc-js';
import { systemClock } from '../../base/clock.ts';
import { asError } from '../../base/fault.ts';
import { withOwnedSockets } from '../../base/owned-sockets.ts';
import { trustedCas } from '../../base/tls/trusted-cas.ts';
import { GRPC_STATUS } from '../../grpc/service.ts';
import { SHOULD_RATE_LIMIT_PATH } from '../../messages/client-codec.ts';
import { CommandFault } from '../terminal/command-fault.ts';
import { type CallTarget, describeFailedCall, type TlsFiles } from './client-fault.ts';

/**
 * Calls `ShouldRateLimit` once with an encoded request and returns the encoded response.
 *
 * @throws CommandFault when there is no answer, or the answer is an error
 */
export async function callShouldRateLimit(target: CallTarget, request: Uint8Array): Promise<Uint8Array> {
  const client = new Client(checkedAddress(target.address), await credentialsOf(target.tls), {
    // A limiter stands beside its callers; a proxy set for the web is never on the way to it.
    'grpc.enable_http_proxy': 0,
    // A retried call could count its hits twice.
    'grpc.enable_retries': 0,
  });
  try {
    return await withOwnedSockets(() => unaryCall(client, target, request));
  } finally {
    client.close();
  }
}

function unaryCall(client: Client, target: CallTarget, request: Uint8Array): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(
      SHOULD_RATE_LIMIT_PATH,
      Buffer.from,
      (response: Buffer) => response,
      request,
      new Metadata(),
      { deadline: systemClock.nowMs() + target.timeoutMs },
      (failure, response) => {
        if (response !== undefined) return resolve(response);
        const connected = client.getChannel().getConnectivityState(false) === connectivityState.READY;
        const { code = GRPC_STATUS.unknown, details = 'no reason given' } = failure ?? {};
        reject(new CommandFault(describeFailedCall(target, { code, details, connected })));
      },
    );
  });
}

/** Refuses what gRPC would misread: it takes a missing port for 443, and `http:` for the name of a host. */
function checkedAddress(address: string): string {
  if (/^(unix|dns|ipv4|ipv6):./.test(address)) return address;
  const port = /^(?:[^:/[\]]+|\[[^\]]+\]):(\d{1,5})$/.exec(address)?.[1];
  if (port !== undefined && Number(port) <= 65_535) return address;
  throw new CommandFault(
    `"${address}" is no address to connect to: give --dial-string as host:port (localhost:8081), or as unix:/path.`,
  );
}

async function credentialsOf(tls: TlsFiles | null): Promise<ChannelCredentials> {
  if (tls === null) return credentials.createInsecure();
  const ca = (await readPem('grpc-server-ca-file', tls.caFile))?.toString();
  const key = await readPem('grpc-key-file', tls.keyFile);
  const cert = await readPem('grpc-cert-file', tls.certFile);
  try {
    return credentials.createSsl(Buffer.from(trustedCas(ca).join('\n')), key, cert);
  } catch (failure) {
    const given = [tls.caFile, tls.keyFile, tls.certFile].filter(file => file !== '').join(', ');
    const reason = asError(failure).message;
    const text = `cannot use the TLS files ${given} (${reason}): they must be PEM, and key and certificate a pair.`;
    throw new CommandFault(text, { cause: failure });
  }
}

async function readPem(flag: string, file: string): Promise<Buffer | null> {
  if (file === '') return null;
  try {
    return await readFile(file);
  } catch (failure) {
    const text = `--${flag}: cannot read ${file} (${asError(failure).message}).`;
    throw new CommandFault(text, { cause: failure });
  }
}

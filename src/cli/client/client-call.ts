import { readFile } from 'node:fs/promises';
import { checkServerIdentity } from 'node:tls';
import {
  type ChannelCredentials,
  Client,
  connectivityState,
  credentials,
  Metadata,
  status,
} from '@grpc/grpc-js';
import { systemClock } from '../../base/clock.ts';
import { asError } from '../../base/fault.ts';
import { withOwnedSockets } from '../../base/owned-sockets.ts';
import { printable } from '../../base/printable.ts';
import { trustedCas } from '../../base/tls/trusted-cas.ts';
import { GRPC_STATUS } from '../../grpc/service.ts';
import { SHOULD_RATE_LIMIT_PATH } from '../../messages/client-codec.ts';
import { formatDuration } from '../../settings/kinds/go-numbers.ts';
import { CommandFault } from '../terminal/io.ts';

/**
 * Calls `ShouldRateLimit` once with an encoded request and returns the encoded response.
 *
 * @throws CommandFault when there is no answer, or the answer is an error
 */
export async function callShouldRateLimit(target: CallTarget, request: Uint8Array): Promise<Uint8Array> {
  let secured = false;
  const given = await credentialsOf(target.tls, () => {
    secured = true;
  });
  const client = new Client(checkedAddress(target.address), given, {
    // The service is in the same network; a proxy for the web must not be used.
    'grpc.enable_http_proxy': 0,
    // A retry could count the hits twice.
    'grpc.enable_retries': 0,
  });
  try {
    return await withOwnedSockets(() => unaryCall(client, target, request, () => secured));
  } finally {
    client.close();
  }
}

function unaryCall(
  client: Client,
  target: CallTarget,
  request: Uint8Array,
  isSecured: () => boolean,
): Promise<Uint8Array> {
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
        reject(
          new CommandFault(describeFailedCall(target, { code, details, connected, secured: isSecured() })),
        );
      },
    );
  });
}

/** Rejects addresses that gRPC would misread: it would use 443 for a missing port, and `http:` as a host name. */
function checkedAddress(address: string): string {
  if (/^(unix|dns|ipv4|ipv6):./.test(address)) return address;
  const port = /^(?:[^:/[\]]+|\[[^\]]+\]):(\d{1,5})$/.exec(address)?.[1];
  if (port !== undefined && Number(port) <= 65_535) return address;
  throw new CommandFault(
    `"${address}" is not a valid address. Write --dial-string as host:port, such as localhost:8081, or as unix:/path.`,
  );
}

/** @param secured called when a connection has accepted the certificate of the server */
async function credentialsOf(tls: TlsFiles | null, secured: () => void): Promise<ChannelCredentials> {
  if (tls === null) return credentials.createInsecure();
  const ca = (await readPem('grpc-server-ca-file', tls.caFile))?.toString();
  const key = await readPem('grpc-key-file', tls.keyFile);
  const cert = await readPem('grpc-cert-file', tls.certFile);
  try {
    return credentials.createSsl(Buffer.from(trustedCas(ca).join('\n')), key, cert, {
      checkServerIdentity: (host, certificate) => {
        const fault = checkServerIdentity(host, certificate);
        if (fault === undefined) secured();
        return fault;
      },
    });
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

/** Address of the service, and how to reach it. */
export interface CallTarget {
  /** As the user wrote it: `host:port`, `unix:/path`, or another scheme that gRPC knows. */
  readonly address: string;
  /** Null for a connection without TLS. */
  readonly tls: TlsFiles | null;
  readonly timeoutMs: number;
}

/** Paths of PEM files, each empty for none. */
interface TlsFiles {
  readonly caFile: string;
  readonly certFile: string;
  readonly keyFile: string;
}

/** The result of a failed call, from the gRPC library. */
interface FailedCall {
  readonly code: number;
  readonly details: string;
  /** Whether the client was connected when the call failed: only then does the status come from the service. */
  readonly connected: boolean;
  /**
   * Whether a TLS handshake ended with a certificate of the server that the client accepts. With TLS 1.3, the server
   * checks the certificate of the client after that.
   */
  readonly secured: boolean;
}

/** The message for a failed call: what went wrong and what to do. */
export function describeFailedCall(target: CallTarget, failed: FailedCall): string {
  const { address } = target;
  if (failed.code === GRPC_STATUS.deadlineExceeded) {
    const waited = formatDuration(target.timeoutMs);
    return failed.connected
      ? `no response from ${address} within ${waited}. Check the log of the service, or wait longer with --timeout.`
      : `no connection to ${address} within ${waited}. ${connectHint(target, failed)}`;
  }
  if (failed.code === GRPC_STATUS.unavailable && !failed.connected)
    return describeNoConnection(target, failed);
  if (failed.code === GRPC_STATUS.unimplemented) {
    return `${address} speaks gRPC but has no rate limit service (v3): is it the gRPC port of the service? Change the address with --dial-string.`;
  }
  return `${address} answered with ${status[failed.code] ?? `status ${failed.code}`}: ${printable(failed.details)}`;
}

/**
 * Reasons of a connection that the server closed or reset. Which of them appears depends on what the client was doing at
 * that moment.
 */
const CLOSED =
  /^(?:Failed to connect|Connection closed before starting HTTP\/2 handshake|(?:read|write) (?:ECONNRESET|EPIPE))$/;

function describeNoConnection(target: CallTarget, failed: FailedCall): string {
  const reason = connectFailure(failed.details);
  if (!failed.secured || !CLOSED.test(reason)) {
    return `no connection to ${target.address}: ${reason}. ${connectHint(target, failed)}`;
  }
  const certFile = target.tls?.certFile ?? '';
  const hint =
    certFile === ''
      ? 'If the service requires a client certificate, give --grpc-cert-file and --grpc-key-file.'
      : `The service may have rejected the client certificate ${certFile}: check its CA, its names and when it expires.`;
  return `no connection to ${target.address}: the server closed it after the TLS handshake. ${hint}`;
}

/** The reason without the sentence that `@grpc/grpc-js` wraps around it. */
function connectFailure(details: string): string {
  const wrapped =
    /Last error: (?:\w*Error(?: \[\w+\])?: )?(.*?)\s*(?:\(\d{4}-[^)]*Z\))?\. Resolution note: /s;
  const reason = wrapped.exec(details)?.[1] ?? details;
  // OpenSSL: thread, code, library, function, reason, and where in its sources.
  return /:SSL routines:[^:]*:([^:]+)/.exec(reason)?.[1] ?? printable(reason);
}

/** Advice for a reason. The first pattern that matches applies. */
const CONNECT_HINTS: readonly (readonly [RegExp, string])[] = [
  [
    /ECONNREFUSED|ENOENT/,
    'Is the service running there? Start it with "sluice serve", or give its address with --dial-string.',
  ],
  [/Name resolution failed/, 'Check the host in --dial-string.'],
  [/wrong version number/, 'The port does not use TLS: leave out --grpc-use-tls, or give another port.'],
  [
    // An alert comes from the server, so its certificate is that of the client.
    /alert (?:(?:bad |unsupported )?certificate|handshake failure|unknown ca|access denied)/,
    'The service requires a client certificate that it trusts: give --grpc-cert-file and --grpc-key-file.',
  ],
  [
    /certificate/i,
    'The server certificate must be signed by a known CA and name the host in --dial-string: give its CA with --grpc-server-ca-file.',
  ],
];

function connectHint(target: CallTarget, { details, secured }: FailedCall): string {
  const hint = CONNECT_HINTS.find(([pattern]) => pattern.test(details))?.[1];
  if (hint !== undefined) return hint;
  if (secured) return 'Is it the gRPC port of the service?';
  const tls = target.tls === null ? 'does it require --grpc-use-tls?' : 'does it use TLS?';
  return `Is it the gRPC port of the service, and ${tls}`;
}

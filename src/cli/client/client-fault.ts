import { status } from '@grpc/grpc-js';
import { printable } from '../../base/printable.ts';
import { GRPC_STATUS } from '../../grpc/service.ts';
import { formatDuration } from '../../settings/kinds/go-numbers.ts';

/** Where the service is, and how to reach it. */
export interface CallTarget {
  /** As the user wrote it: `host:port`, `unix:/path`, or another scheme that gRPC knows. */
  readonly address: string;
  /** Null for a connection without TLS. */
  readonly tls: TlsFiles | null;
  readonly timeoutMs: number;
}

/** Paths of PEM files, each empty for none. */
export interface TlsFiles {
  readonly caFile: string;
  readonly certFile: string;
  readonly keyFile: string;
}

/** How a call ended, as the gRPC library tells it. */
interface FailedCall {
  readonly code: number;
  readonly details: string;
  /** Whether a connection stood at the end: only then is the status the word of the service. */
  readonly connected: boolean;
}

/** What went wrong, and what to do about it. */
export function describeFailedCall(target: CallTarget, failed: FailedCall): string {
  const { address } = target;
  if (failed.code === GRPC_STATUS.deadlineExceeded) {
    const waited = formatDuration(target.timeoutMs);
    return failed.connected
      ? `no answer from ${address} within ${waited}: look at the log of the service, or wait longer with --timeout.`
      : `no connection to ${address} within ${waited}. ${connectHint(target, failed.details)}`;
  }
  if (failed.code === GRPC_STATUS.unavailable && !failed.connected) {
    return `no connection to ${address}: ${connectFailure(failed.details)}. ${connectHint(target, failed.details)}`;
  }
  if (failed.code === GRPC_STATUS.unimplemented) {
    return `${address} speaks gRPC but has no rate limit service (v3): is it the gRPC port of the service? Name another with --dial-string.`;
  }
  return `${address} answered with ${status[failed.code] ?? `status ${failed.code}`}: ${printable(failed.details)}`;
}

/** The reason within the sentence that `@grpc/grpc-js` wraps around it; the whole sentence when it is another. */
function connectFailure(details: string): string {
  const wrapped =
    /Last error: (?:\w*Error(?: \[\w+\])?: )?(.*?)\s*(?:\(\d{4}-[^)]*Z\))?\. Resolution note: /s;
  const reason = wrapped.exec(details)?.[1] ?? details;
  // OpenSSL: thread, code, library, function, reason, and where in its sources.
  return /:SSL routines:[^:]*:([^:]+)/.exec(reason)?.[1] ?? printable(reason);
}

/** What to do, by what the reason says; the first that fits. */
const CONNECT_HINTS: readonly (readonly [RegExp, string])[] = [
  [
    /ECONNREFUSED|ENOENT/,
    'Is the service running there? Start it with "sluice serve", or name its address with --dial-string.',
  ],
  [/Name resolution failed/, 'Check the host in --dial-string.'],
  [/wrong version number/, 'The port does not speak TLS: leave out --grpc-use-tls, or name another port.'],
  [
    /alert (?:certificate required|bad certificate|handshake failure|unknown ca)/,
    'The service wants a client certificate that it trusts: give --grpc-cert-file and --grpc-key-file.',
  ],
  [
    /certificate/i,
    'The server certificate must be signed by a known CA and name the host in --dial-string: give its CA with --grpc-server-ca-file.',
  ],
];

function connectHint(target: CallTarget, details: string): string {
  const hint = CONNECT_HINTS.find(([pattern]) => pattern.test(details))?.[1];
  if (hint !== undefined) return hint;
  const tls = target.tls === null ? 'does it need --grpc-use-tls?' : 'does it speak TLS?';
  return `Is it the gRPC port of the service, and ${tls}`;
}

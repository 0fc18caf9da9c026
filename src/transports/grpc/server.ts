import type { Clock } from '../../base/clock.ts';
import type { Service } from '../../base/lifecycle.ts';
import type { Logger } from '../../base/logger.ts';
import type { BidiMethod, GrpcService, StreamMethod, UnaryMethod } from '../../grpc/service.ts';
import { DEFAULT_LIMITS } from '../../http2/connection/limits.ts';
import type { ListenAddress } from './listener.ts';
import type { TlsHandshakes } from './tls/tls-handshakes.ts';

/**
 * A gRPC server, independent of its library. `test/exam/grpc-server.ts` checks every implementation.
 *
 * - `start` fails with an error that names the address, the cause and the setting to change.
 * - `stop` accepts no new connections, ends open streams with UNAVAILABLE, waits for unary calls in flight, and closes
 *   the remaining connections after `drainTimeoutMs`.
 * - If a method throws, the call is answered with INTERNAL and the error is logged.
 */
export interface GrpcServer extends Service {
  /** The address of the server. With port 0, the port is known after `start`. */
  readonly address: ListenAddress;
}

export interface GrpcServerOptions {
  readonly listen: ListenAddress;
  /** If set, all connections use TLS. */
  readonly tls?: TlsHandshakes | undefined;
  readonly service: GrpcService;
  /** Maximum size of a request message. A larger message is answered with RESOURCE_EXHAUSTED. */
  readonly maxMessageBytes: number;
  /** Maximum bytes of the header fields of a request. grpc-js ignores it and uses the limit of Node.js. */
  readonly maxMetadataBytes: number;
  /**
   * A connection gets GOAWAY after this time, which varies at random by up to a tenth, and its bidirectional calls end
   * with UNAVAILABLE. 0: never.
   */
  readonly maxConnectionAgeMs: number;
  /** Maximum time for calls in flight after GOAWAY. 0: no limit. */
  readonly maxConnectionAgeGraceMs: number;
  /** How long `stop` waits for calls in flight. */
  readonly drainTimeoutMs: number;
  readonly logger: Logger;
  /** Times the drain. */
  readonly clock: Clock;
}

/** The default of gRPC libraries for the maximum size of a request. */
export const DEFAULT_MAX_MESSAGE_BYTES = 4 * 1024 * 1024;

/** Twice the 64 KiB that callers of the reference implementation are known to send. */
export const DEFAULT_MAX_METADATA_BYTES = DEFAULT_LIMITS.maxHeaderListBytes;

/** The status message of streams that end because the server stops. */
export const STOPPING_MESSAGE = 'the server is shutting down; reconnect';

/** The status message of bidirectional calls that end because their connection has reached its age. */
export const MOVING_MESSAGE = 'the server is closing this connection; reconnect';

/** Returns one service with the methods of all `services`. */
export function joinServices(services: readonly GrpcService[]): GrpcService {
  const unary = new Map<string, UnaryMethod>();
  const serverStreaming = new Map<string, StreamMethod>();
  const bidiStreaming = new Map<string, BidiMethod>();
  for (const service of services) {
    for (const [path, method] of service.unary) unary.set(path, method);
    for (const [path, method] of service.serverStreaming) serverStreaming.set(path, method);
    for (const [path, method] of service.bidiStreaming) bidiStreaming.set(path, method);
  }
  return { unary, serverStreaming, bidiStreaming };
}

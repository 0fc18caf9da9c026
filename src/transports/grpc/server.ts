import type { Clock } from '../../base/clock.ts';
import type { Service } from '../../base/lifecycle.ts';
import type { Logger } from '../../base/logger.ts';
import type { GrpcService, StreamMethod, UnaryMethod } from '../../grpc/service.ts';
import { DEFAULT_LIMITS } from '../../http2/connection/limits.ts';
import type { ListenAddress } from './listener.ts';
import type { TlsHandshakes } from './tls/tls.ts';

/**
 * A gRPC server, whatever library is behind it; `test/exam/grpc-server.ts` holds what each must do.
 *
 * - `start` fails with a text that names the address, the cause and the setting to change.
 * - `stop` takes no new connections, ends open streams with UNAVAILABLE, lets unary calls that run finish,
 *   and cuts what is still open after `drainTimeoutMs`.
 * - A method that throws is answered with INTERNAL and logged.
 */
export interface GrpcServer extends Service {
  /** Where it listens. With port 0, the port that the system chose is known once started. */
  readonly address: ListenAddress;
}

export interface GrpcServerOptions {
  readonly listen: ListenAddress;
  /** Serves over TLS only. */
  readonly tls?: TlsHandshakes | undefined;
  readonly service: GrpcService;
  /** A longer request message is answered with RESOURCE_EXHAUSTED. */
  readonly maxMessageBytes: number;
  /** Bytes of the header fields of a request; for grpc-js those of Node.js hold. */
  readonly maxMetadataBytes: number;
  /** After this time, give or take a tenth at random, a connection is told to go away. 0: never. */
  readonly maxConnectionAgeMs: number;
  /** How long the calls of a connection that was told to go away may still run. 0: without end. */
  readonly maxConnectionAgeGraceMs: number;
  /** How long `stop` waits for calls that run. */
  readonly drainTimeoutMs: number;
  readonly logger: Logger;
  /** Times the drain. */
  readonly clock: Clock;
}

/** The request size that gRPC libraries accept unless told otherwise. */
export const DEFAULT_MAX_MESSAGE_BYTES = 4 * 1024 * 1024;

/** Lets in the 64 KiB that callers of the reference implementation are known to send, and as much again. */
export const DEFAULT_MAX_METADATA_BYTES = DEFAULT_LIMITS.maxHeaderListBytes;

/** The status message of streams that end because the server stops. */
export const STOPPING_MESSAGE = 'the server is shutting down; reconnect';

/** One service with the methods of all, for a server that serves them on one port. */
export function joinServices(services: readonly GrpcService[]): GrpcService {
  const unary = new Map<string, UnaryMethod>();
  const serverStreaming = new Map<string, StreamMethod>();
  for (const service of services) {
    for (const [path, method] of service.unary) unary.set(path, method);
    for (const [path, method] of service.serverStreaming) serverStreaming.set(path, method);
  }
  return { unary, serverStreaming };
}

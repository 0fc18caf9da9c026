import { Bound } from '../../base/threads/shared-bound.ts';
import { type OwnGrpcServer, serverLimitsOf } from '../../transports/grpc/own-server.ts';
import type { TlsHandshakes } from '../../transports/grpc/tls/tls-handshakes.ts';
import type { TlsMaterial } from '../../transports/grpc/tls/tls-material.ts';
import { createHandshakes, createOwnServer, type GrpcPortParts } from '../ports/grpc-port.ts';
import type { BoundSeats } from './serving-bounds.ts';

interface ThreadLimits {
  /** Number of serving threads. */
  readonly threads: number;
  readonly bounds: BoundSeats;
}

/** The listeners of a serving thread. Those of the other threads listen on the same ports. */
export class ThreadPorts {
  readonly #parts: GrpcPortParts;
  readonly #limits: ThreadLimits;
  readonly #handshakes: TlsHandshakes | null;
  #grpc: OwnGrpcServer | null = null;

  constructor(parts: GrpcPortParts, limits: ThreadLimits) {
    this.#parts = parts;
    this.#limits = limits;
    this.#handshakes = createHandshakes(parts);
  }

  /** Number of open connections. */
  get connections(): number {
    return this.#grpc?.connectionCount ?? 0;
  }

  useTls(material: TlsMaterial): void {
    this.#handshakes?.use(material);
  }

  /**
   * Opens the ports.
   *
   * @param grpcPort 0 takes any free port
   * @returns the gRPC port
   * @throws Error that names the setting to change, if a port cannot be opened
   */
  async open(grpcPort: number): Promise<number> {
    const listen = { host: this.#parts.settings.grpcHost, port: grpcPort, shared: true };
    const { threads, bounds } = this.#limits;
    const grpc = createOwnServer(this.#parts, listen, this.#handshakes, {
      limits: serverLimitsOf(threads),
      connections: Bound.at(bounds.grpcConnections),
    });
    this.#grpc = grpc;
    await grpc.start();
    return 'port' in grpc.address ? grpc.address.port : 0;
  }

  /** Accepts no more connections. Resolves when calls in progress have finished and all connections are closed. */
  async close(): Promise<void> {
    await this.#grpc?.stop();
  }
}

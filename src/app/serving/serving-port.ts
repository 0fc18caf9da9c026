import type { Settings } from '../../settings/table.ts';
import { checkPortIsFree, type ListenAddress } from '../../transports/grpc/listener.ts';
import type { GrpcServer } from '../../transports/grpc/server.ts';
import type { ServingThreads } from './serving-threads.ts';

/** The gRPC port that all serving threads listen on. */
export class ServingPort implements GrpcServer {
  readonly name = 'grpc';
  readonly #threads: ServingThreads;
  readonly #settings: Settings;
  #port: number;
  #stopped: Promise<void> | null = null;

  constructor(threads: ServingThreads, settings: Settings) {
    this.#threads = threads;
    this.#settings = settings;
    this.#port = settings.grpcPort;
  }

  get address(): ListenAddress {
    return { host: this.#settings.grpcHost, port: this.#port };
  }

  async start(): Promise<void> {
    const { grpcHost: host, grpcPort: port, sharePorts } = this.#settings;
    if (!sharePorts && port !== 0) await checkPortIsFree({ host, port });
    this.#port = await this.#threads.listen(port);
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#threads.close();
    return this.#stopped;
  }
}

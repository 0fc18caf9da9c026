import type { Settings } from '../../settings/table.ts';
import { checkPortIsFree, type ListenAddress } from '../../transports/grpc/listener.ts';
import type { GrpcServer } from '../../transports/grpc/server.ts';
import { checkHttpPort } from '../ports/http-port.ts';
import type { ServingPorts } from './messages.ts';
import type { ServingThreads } from './serving-threads.ts';

/** The gRPC port that all serving threads listen on, and their HTTP port if they serve HTTP. */
export class ServingPort implements GrpcServer {
  readonly name = 'grpc';
  readonly #threads: ServingThreads;
  readonly #settings: Settings;
  #ports: ServingPorts;
  #stopped: Promise<void> | null = null;

  constructor(threads: ServingThreads, settings: Settings) {
    this.#threads = threads;
    this.#settings = settings;
    this.#ports = { grpc: settings.grpcPort, http: threads.servesHttp ? settings.httpPort : null };
  }

  get address(): ListenAddress {
    return { host: this.#settings.grpcHost, port: this.#ports.grpc };
  }

  /** Null if the primary thread serves HTTP. */
  get httpPort(): number | null {
    return this.#ports.http;
  }

  async start(): Promise<void> {
    const { grpcHost: host, grpcPort: port, sharePorts } = this.#settings;
    if (!sharePorts && port !== 0) await checkPortIsFree({ host, port });
    if (this.#threads.servesHttp) await checkHttpPort(this.#settings);
    this.#ports = await this.#threads.listen(this.#ports);
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#threads.close();
    return this.#stopped;
  }
}

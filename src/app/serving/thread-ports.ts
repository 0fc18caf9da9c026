import { Bound } from '../../base/threads/shared-bound.ts';
import { type OwnGrpcServer, serverLimitsOf } from '../../transports/grpc/own-server.ts';
import type { TlsHandshakes } from '../../transports/grpc/tls/tls-handshakes.ts';
import type { TlsMaterial } from '../../transports/grpc/tls/tls-material.ts';
import { createHandshakes, createOwnServer, type DecisionsOnPort } from '../ports/grpc-port.ts';
import type { TasksConnection } from '../tasks/tasks-connection.ts';
import type { ServingPorts } from './messages.ts';
import type { BoundSeats } from './serving-bounds.ts';
import type { ThreadFigures } from './thread-figures.ts';
import type { ThreadHttp } from './thread-http.ts';

interface PortsSetup {
  /** Number of serving threads. */
  readonly threads: number;
  readonly bounds: BoundSeats;
  /** The load of all serving threads. */
  readonly loads: ThreadFigures;
  /** Null if the thread does not serve HTTP, or if the task service is disabled. */
  readonly tasks: TasksConnection | null;
}

/** The listeners of a serving thread. Those of the other threads listen on the same ports. */
export class ThreadPorts {
  readonly #decisions: DecisionsOnPort;
  readonly #setup: PortsSetup;
  readonly #handshakes: TlsHandshakes | null;
  readonly #grpcBound: Bound;
  readonly #httpBound: Bound;
  #grpc: OwnGrpcServer | null = null;
  #http: ThreadHttp | null = null;
  /** Settles when the ports are open or could not be opened. */
  #opening: Promise<unknown> = Promise.resolve();
  /** Set when the ports begin to close; milliseconds since the epoch. */
  #deadlineMs: number | null = null;

  constructor(decisions: DecisionsOnPort, setup: PortsSetup) {
    this.#decisions = decisions;
    this.#setup = setup;
    this.#handshakes = createHandshakes(decisions, setup.threads);
    this.#grpcBound = Bound.at(setup.bounds.grpcConnections);
    this.#httpBound = Bound.at(setup.bounds.httpConnections);
  }

  /** Number of open connections. */
  get connections(): number {
    return (this.#grpc?.connectionCount ?? 0) + (this.#http?.connections ?? 0);
  }

  useTls(material: TlsMaterial): void {
    this.#handshakes?.use(material);
  }

  /**
   * Opens the ports.
   *
   * @returns the ports that were opened
   * @throws Error that names the setting to change, if a port cannot be opened
   */
  async open(ports: ServingPorts): Promise<ServingPorts> {
    const opening = this.#openBoth(ports);
    this.#opening = opening.catch(() => {});
    return await opening;
  }

  async #openBoth({ grpc, http }: ServingPorts): Promise<ServingPorts> {
    const opened = await this.#openGrpc(grpc);
    try {
      return { grpc: opened, http: http === null ? null : await this.#openHttp(http) };
    } catch (failure) {
      await this.#grpc?.stop();
      throw failure;
    }
  }

  /** Time that is left for `close`, in milliseconds. */
  get closingMs(): number {
    const { settings, clock } = this.#decisions;
    const deadlineMs = this.#deadlineMs ?? clock.nowMs() + settings.shutdownTimeoutMs;
    return Math.max(deadlineMs - clock.nowMs(), 0);
  }

  /** Asks gRPC connections to reconnect. Returns their number. */
  moveSome(connections: number): number {
    return this.#grpc?.moveSome(connections) ?? 0;
  }

  /** Asks a gRPC connection to reconnect; see `OwnGrpcServer.moveOne`. */
  moveOne(mostShare: number): boolean {
    return this.#grpc?.moveOne(mostShare) ?? false;
  }

  /** Accepts no more gRPC connections. Existing connections are served until `close`. */
  closeGrpcPort(): void {
    this.#grpc?.closePort();
  }

  /**
   * Accepts no more connections. Resolves when calls in progress have finished and all connections are closed. HTTP is
   * stopped after gRPC, so that health checks still receive the answer that the process is unhealthy.
   */
  async close(): Promise<void> {
    const { settings, clock } = this.#decisions;
    this.#deadlineMs ??= clock.nowMs() + settings.shutdownTimeoutMs;
    await this.#opening;
    this.#http?.drain();
    try {
      await this.#grpc?.stop();
    } finally {
      await this.#http?.stop(this.closingMs);
    }
  }

  async #openGrpc(port: number): Promise<number> {
    const { threads } = this.#setup;
    const listen = { host: this.#decisions.settings.grpcHost, port, shared: true };
    const server = createOwnServer(this.#decisions, listen, this.#handshakes, {
      limits: serverLimitsOf(threads),
      connections: this.#grpcBound,
    });
    this.#grpc = server;
    await server.start();
    return 'port' in server.address ? server.address.port : 0;
  }

  async #openHttp(port: number): Promise<number> {
    // Loaded only when needed, because loading it takes memory and startup time.
    const { ThreadHttp } = await import('./thread-http.ts');
    const { threads, loads, tasks } = this.#setup;
    const connections = this.#httpBound;
    const http = new ThreadHttp(this.#decisions, tasks, loads, { port, threads, connections });
    this.#http = http;
    await http.start();
    return http.port;
  }
}

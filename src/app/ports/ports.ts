import { type Service, ServiceStack } from '../../base/lifecycle.ts';
import { NOT_COUNTED } from '../../mapping/mapping-counters.ts';
import { RequestMapper } from '../../mapping/request-mapper.ts';
import { DebugServer, type DebugServerOptions } from '../../transports/debug/debug-server.ts';
import type { GrpcServer } from '../../transports/grpc/server.ts';
import type { HttpEngine, HttpListener } from '../../transports/http/listener.ts';
import { ServingPort } from '../serving/serving-port.ts';
import type { ServingThreads } from '../serving/serving-threads.ts';
import type { TasksFront } from '../tasks/tasks-front.ts';
import {
  createGrpcServer,
  createHandshakes,
  createTlsSource,
  type DecisionsOnPort,
  grpcAddress,
} from './grpc-port.ts';
import { createHttpListener } from './http-port.ts';
import { OptionalPort } from './optional-port.ts';

/** Delay between two attempts to open the debug port. */
const DEBUG_RETRY_MS = 1_000;

/** What the debug port shows. */
type DebugPages = Pick<DebugServerOptions, 'dumpRules' | 'dumpResources' | 'explain' | 'operator'>;

/** Addresses of the service; `debug` is null if its port could not be opened. */
export interface Addresses {
  readonly http: string;
  readonly grpc: string;
  readonly debug: string | null;
}

/** The gRPC, HTTP and debug ports of the service. They open and close together, once. */
export class Ports implements Service {
  readonly name = 'ports';
  readonly #decisions: DecisionsOnPort;
  readonly #tasks: TasksFront | null;
  readonly #threads: ServingThreads | null;
  /** Null if the serving threads serve HTTP. */
  readonly #http: HttpListener | null;
  /** The port of the serving threads; null if this thread serves gRPC. */
  readonly #serving: ServingPort | null;
  /** Null before the start. */
  #grpc: GrpcServer | null = null;
  readonly #debugServer: DebugServer;
  readonly #debug: OptionalPort;
  readonly #opened = new ServiceStack();

  /**
   * @param tasks null if the task service is disabled
   * @param serving the threads that serve gRPC; null if this thread does
   */
  constructor(
    decisions: DecisionsOnPort,
    httpEngine: HttpEngine,
    tasks: TasksFront | null,
    serving: ServingThreads | null,
    pages: DebugPages,
  ) {
    this.#decisions = decisions;
    this.#tasks = tasks;
    this.#threads = serving;
    const { settings } = decisions;
    const { httpPort: port, sharePorts: shared } = settings;
    this.#serving = serving === null ? null : new ServingPort(serving, settings);
    const loads = serving?.figures ?? null;
    this.#http = serving?.servesHttp
      ? null
      : createHttpListener(decisions, tasks, loads, httpEngine, { port, shared, threads: 1 });
    const server = debugServer(decisions, httpEngine, pages);
    this.#debugServer = server;
    this.#debug = new OptionalPort('debug', server, DEBUG_RETRY_MS, decisions, isLate => {
      // The service logs the ports that it has opened at the start.
      if (isLate) decisions.logger.info('Debug server listening', { port: server.port });
    });
  }

  /**
   * @throws Error that names the setting to change, if the gRPC or HTTP port cannot be opened or a TLS file cannot be
   *   used; Error if `stop` is called meanwhile. In all cases, no port stays open.
   */
  async start(): Promise<void> {
    this.#warnOfCountsApart();
    const { settings } = this.#decisions;
    const serving = this.#threads;
    const tls = serving === null ? createHandshakes(this.#decisions) : null;
    const source = createTlsSource(this.#decisions, material => {
      if (serving !== null) serving.useTls(material);
      else tls?.use(material);
    });
    if (source !== null) await this.#opened.start(source);
    this.#grpc = this.#serving ?? (await createGrpcServer(this.#decisions, grpcAddress(settings), tls));
    await this.#opened.start(this.#grpc);
    await this.#opened.start(this.#debug);
    await this.#opened.start({
      name: 'http',
      start: async () => {
        await this.#http?.start();
        this.#tasks?.listeningOn(this.#httpPort);
      },
      stop: () => this.#stopHttpAfterGrpc(),
    });
  }

  get addresses(): Addresses {
    const { settings } = this.#decisions;
    const grpc = this.#grpc!.address;
    return {
      http: hostAndPort(settings.httpHost, this.#httpPort),
      grpc: 'path' in grpc ? `unix:${grpc.path}` : hostAndPort(settings.grpcHost, grpc.port),
      debug: this.#debug.isOpen ? hostAndPort(settings.debugHost, this.#debugServer.port) : null,
    };
  }

  get #httpPort(): number {
    return this.#http?.port ?? this.#serving?.httpPort ?? 0;
  }

  /** From now on, HTTP responses ask callers to close their connections. */
  drain(): void {
    this.#http?.drain();
  }

  /** Lets calls in progress finish within one timeout for all ports, then closes the ports. */
  stop(): Promise<void> {
    this.drain();
    return this.#opened.stop();
  }

  /**
   * HTTP is stopped after gRPC has drained, so that health checks still receive the answer that the service is
   * unhealthy.
   */
  async #stopHttpAfterGrpc(): Promise<void> {
    const { settings, clock } = this.#decisions;
    const deadlineMs = clock.nowMs() + settings.shutdownTimeoutMs;
    try {
      await this.#grpc?.stop();
    } finally {
      await this.#http?.stop(Math.max(deadlineMs - clock.nowMs(), 0));
    }
  }

  #warnOfCountsApart(): void {
    const { settings, logger } = this.#decisions;
    if (!settings.sharePorts || settings.backendType !== 'embedded') return;
    logger.warning(
      'SHARE_PORTS=true with the embedded store: each process counts separately, so several processes allow several ' +
        'times the limit. Set KVCACHE_URL to a Redis that all of them use',
    );
  }
}

function debugServer(
  { settings, stats, rules, clock, logger }: DecisionsOnPort,
  engine: HttpEngine,
  pages: DebugPages,
): DebugServer {
  return new DebugServer({
    ...pages,
    mapper: new RequestMapper({ rules, counters: NOT_COUNTED, clock, log: logger }),
    engine,
    host: settings.debugHost,
    port: settings.debugPort,
    // Statistics and profiles belong to one process.
    settings: { host: 'DEBUG_HOST', port: 'DEBUG_PORT', sharing: 'never' },
    hostNames: [...settings.debugHostNames, settings.debugHost],
    stats,
    // Pages and profiles are for people, who can retry, so a shutdown does not wait for them.
    drainMs: 0,
    clock,
    log: logger,
  });
}

function hostAndPort(host: string, port: number): string {
  const shown = host === '' ? '0.0.0.0' : host;
  return `${shown.includes(':') ? `[${shown}]` : shown}:${port}`;
}

import type { Clock } from '../../base/clock.ts';
import type { Health } from '../../base/health.ts';
import type { Service } from '../../base/lifecycle.ts';
import type { Logger } from '../../base/logger.ts';
import type { Bound } from '../../base/threads/shared-bound.ts';
import type { Decider } from '../../decision/decider.ts';
import type { Settings } from '../../settings/table.ts';
import type { StatsRegistry } from '../../stats/registry.ts';
import type { HttpListener } from '../../transports/http/listener.ts';
import { nodeEngine } from '../../transports/http/node/node-server.ts';
import type { ServingLoads } from '../../transports/http/routes/health-routes.ts';
import type { CallTracing } from '../../transports/tracing.ts';
import { createHttpListener } from '../ports/http-port.ts';
import { ConnectedTasks } from '../tasks/connected-tasks.ts';
import type { TasksConnection } from '../tasks/tasks-connection.ts';

interface ThreadHttpParts {
  readonly settings: Settings;
  /** The port that all serving threads listen on; 0 lets the system choose one. */
  readonly port: number;
  /** Number of serving threads. */
  readonly threads: number;
  /** The connections of the HTTP ports of all threads. */
  readonly connections: Bound;
  readonly decider: Decider;
  /** Null if tracing is disabled. */
  readonly tracing: CallTracing | null;
  /** Mirrors the health of the process. */
  readonly health: Health;
  /** The load of all serving threads. */
  readonly loads: ServingLoads;
  /** Null if the task service is disabled. */
  readonly tasks: TasksConnection | null;
  readonly stats: StatsRegistry;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The HTTP port of a serving thread, with the engine that works in threads. */
export class ThreadHttp implements Service {
  readonly name = 'http';
  readonly #listener: HttpListener;
  readonly #tasks: ConnectedTasks | null;

  constructor(parts: ThreadHttpParts) {
    const { settings, port, threads, connections, tasks, clock } = parts;
    this.#tasks = tasks === null ? null : new ConnectedTasks(tasks, settings, clock);
    const httpEngine = nodeEngine({ maxHeaderBytes: settings.httpMaxHeaderBytes });
    this.#listener = createHttpListener(
      { ...parts, httpEngine, tasks: this.#tasks },
      { port, shared: true, threads, connections },
    );
  }

  /** The port number; 0 while the port is closed. */
  get port(): number {
    return this.#listener.port;
  }

  /** Number of open connections. */
  get connections(): number {
    return this.#listener.connections;
  }

  /** @throws Error naming the address and the settings to change, if the port cannot be opened */
  start(): Promise<void> {
    return this.#listener.start();
  }

  /** From now on, responses ask callers to close their connections. */
  drain(): void {
    this.#listener.drain();
  }

  /** Lets requests in flight finish, for at most `drainMs` if given. */
  async stop(drainMs?: number): Promise<void> {
    await this.#listener.stop(drainMs);
    this.#tasks?.close();
  }
}

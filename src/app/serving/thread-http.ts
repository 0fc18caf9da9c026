import type { Service } from '../../base/lifecycle.ts';
import type { Bound } from '../../base/threads/shared-bound.ts';
import type { HttpListener } from '../../transports/http/listener.ts';
import { nodeEngine } from '../../transports/http/node/node-server.ts';
import type { ServingLoads } from '../../transports/http/routes/health-routes.ts';
import type { DecisionsOnPort } from '../ports/grpc-port.ts';
import { createHttpListener } from '../ports/http-port.ts';
import { ConnectedTasks } from '../tasks/connected-tasks.ts';
import type { TasksConnection } from '../tasks/tasks-connection.ts';

/** The port that all serving threads listen on. */
interface SharedPort {
  /** 0 lets the system choose one. */
  readonly port: number;
  /** Number of serving threads. */
  readonly threads: number;
  /** The connections of the HTTP ports of all threads. */
  readonly connections: Bound;
}

/** The HTTP port of a serving thread, with the engine that works in threads. */
export class ThreadHttp implements Service {
  readonly name = 'http';
  readonly #listener: HttpListener;
  readonly #tasks: ConnectedTasks | null;

  /**
   * @param tasks null if the task service is disabled
   * @param loads the load of all serving threads
   */
  constructor(
    decisions: DecisionsOnPort,
    tasks: TasksConnection | null,
    loads: ServingLoads,
    shared: SharedPort,
  ) {
    const { settings, clock } = decisions;
    this.#tasks = tasks === null ? null : new ConnectedTasks(tasks, settings, clock);
    const engine = nodeEngine({ maxHeaderBytes: settings.httpMaxHeaderBytes });
    this.#listener = createHttpListener(decisions, this.#tasks, loads, engine, { ...shared, shared: true });
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

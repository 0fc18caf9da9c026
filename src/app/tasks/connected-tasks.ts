import { randomBytes } from 'node:crypto';
import type { MessagePort } from 'node:worker_threads';
import type { Clock } from '../../base/clock.ts';
import type { Settings } from '../../settings/table.ts';
import { IdMaker } from '../../tasks/model/ids.ts';
import { RelayedCalls } from '../../tasks/rest/threads/relayed-calls.ts';
import { AskedReadiness } from '../../transports/http/routes/asked-readiness.ts';
import type { ReadinessChecks } from '../../transports/http/routes/health-routes.ts';
import type { FromTasks, TasksConnection, ToTasks } from './tasks-connection.ts';
import { restRoutes, type TasksOnPort, tenantNames } from './tasks-front.ts';

/** The task service as a serving thread uses it, over a connection to the primary thread. */
export class ConnectedTasks implements TasksOnPort {
  readonly routes: TasksOnPort['routes'];
  readonly readiness: ReadinessChecks;
  readonly #port: MessagePort;

  constructor({ port, checks }: TasksConnection, settings: Settings, clock: Clock) {
    const send = (message: ToTasks, transfer: Parameters<MessagePort['postMessage']>[1] = []): void =>
      port.postMessage(message, transfer);
    const ids = new IdMaker(() => clock.nowMs(), randomBytes);
    const calls = new RelayedCalls(tenantNames(settings), () => ids.next('request'), send);
    const readiness = new AskedReadiness(checks, () => send({ kind: 'check_readiness' }));
    port.on('message', (message: FromTasks) => {
      if (message.kind === 'turn') calls.heard(message);
      else readiness.heard(message.outcomes);
    });
    port.once('close', () => {
      calls.lost();
      readiness.lost();
    });
    this.#port = port;
    this.routes = restRoutes(settings, calls);
    this.readiness = readiness.checks;
  }

  /** Closes the connection. Calls in progress are answered with an error. */
  close(): void {
    this.#port.close();
  }
}

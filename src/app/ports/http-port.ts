import type { Bound } from '../../base/threads/shared-bound.ts';
import { mappingCounters } from '../../mapping/mapping-counters.ts';
import { RequestMapper } from '../../mapping/request-mapper.ts';
import type { Settings } from '../../settings/table.ts';
import { type HttpEngine, HttpListener } from '../../transports/http/listener.ts';
import { RouteStatistics } from '../../transports/http/route-statistics.ts';
import { checkRoute } from '../../transports/http/routes/check-route.ts';
import { jsonRoute } from '../../transports/http/routes/decision-routes.ts';
import {
  healthRoute,
  readinessRoutes,
  type ServingLoads,
} from '../../transports/http/routes/health-routes.ts';
import { jsonNotFound } from '../../transports/http/routes.ts';
import { type AddressSettings, listenFailure, listenProblem } from '../../transports/tcp-address.ts';
import { tracedDecider } from '../../transports/tracing.ts';
import { logsDecisions } from '../decision/engine-settings.ts';
import type { TasksOnPort } from '../tasks/tasks-front.ts';
import type { DecisionsOnPort } from './grpc-port.ts';

const PORT_SETTINGS: AddressSettings = { host: 'HOST', port: 'PORT', sharing: 'by SHARE_PORTS' };

/** The port that a listener opens on the host of the settings. */
interface HttpPort {
  readonly port: number;
  /** Whether other listeners, of this process or of others, may listen on the port as well. */
  readonly shared: boolean;
  /** Number of listeners of this process on the port. Each of them has an equal part of the memory. */
  readonly threads: number;
  /** The connections of all listeners; not given if there is only one. */
  readonly connections?: Bound;
}

/**
 * Creates the HTTP listener of a thread.
 *
 * @param tasks null if the task service is disabled
 * @param loads the load of the serving threads; null if the primary thread serves alone
 */
export function createHttpListener(
  decisions: DecisionsOnPort,
  tasks: TasksOnPort | null,
  loads: ServingLoads | null,
  engine: HttpEngine,
  { port, shared, threads, connections }: HttpPort,
): HttpListener {
  const { settings, health, tracing, stats, clock, logger } = decisions;
  const decider = tracedDecider(decisions.decider, tracing);
  const mapper = new RequestMapper({
    rules: decisions.rules,
    counters: mappingCounters(stats),
    clock,
    log: logger,
  });
  const parts = { decider, mapper, log: logger };
  const kept = { tracing, keepsOrigins: logsDecisions(settings), keepsPeers: settings.hotKeys };
  const decisionRoutes = [
    healthRoute(health, loads),
    ...readinessRoutes(health, tasks?.readiness ?? {}, clock),
    jsonRoute(parts, {
      ...kept,
      observer: new RouteStatistics(stats, 'json', ['200 OK', '429 Too Many Requests']),
    }),
    checkRoute(parts, {
      ...kept,
      observer: new RouteStatistics(stats, 'check', ['200 OK', '429 Too Many Requests']),
    }),
  ];
  const routes = [...decisionRoutes, ...(tasks?.routes(decisionRoutes, tracing) ?? [])];
  return new HttpListener({
    name: 'http',
    engine,
    host: settings.httpHost,
    port,
    shared,
    closesToDrain: settings.sharePorts,
    settings: PORT_SETTINGS,
    routes,
    unknown: jsonNotFound(routes),
    drainMs: settings.shutdownTimeoutMs,
    limits: {
      maxConnections: settings.httpMaxConnections,
      maxHeldBytes: Math.ceil(settings.httpMaxHeldBytes / threads),
    },
    ...(connections !== undefined && { connections }),
    clock,
    log: logger,
  });
}

/**
 * Call this before serving threads open the port. Their listeners share it, so without this check they would share it
 * with another process as well.
 *
 * @throws Error naming the address and the settings to change, if the port is in use and SHARE_PORTS is not set
 */
export async function checkHttpPort({ httpHost: host, httpPort: port, sharePorts }: Settings): Promise<void> {
  if (sharePorts || port === 0) return;
  const code = await listenProblem({ host, port });
  if (code !== null) throw new Error(listenFailure({ host, port }, code, PORT_SETTINGS));
}

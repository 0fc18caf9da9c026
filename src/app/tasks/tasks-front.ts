import type { Settings } from '../../settings/table.ts';
import { placeOf } from '../../tasks/rest/access/tenant-host.ts';
import type { RestCalls, RestHead } from '../../tasks/rest/http/http.ts';
import type { ReadinessChecks } from '../../transports/http/routes/health-routes.ts';
import { tasksRoutes } from '../../transports/http/routes/tasks-routes.ts';
import { jsonNotFound, type Route } from '../../transports/http/routes.ts';
import type { CallTracing } from '../../transports/tracing.ts';
import type { TasksConnection } from './tasks-connection.ts';

/** The task service as an HTTP port uses it. */
export interface TasksOnPort {
  /** Returns the routes of the task service. `others` are the other routes of the port. */
  routes(others: readonly Route[], tracing: CallTracing | null): readonly Route[];
  /** Checks that have to pass before this instance receives requests. */
  readonly readiness: ReadinessChecks;
}

/** The task service as the primary thread uses it. */
export interface TasksFront extends TasksOnPort {
  /** Opens a connection for the HTTP port of another thread. It closes when that thread ends. */
  connect(): TasksConnection;
  /** Sets the port for URLs in responses. */
  listeningOn(port: number): void;
}

/** Returns the routes of the task service. `calls` answers the requests. */
export function restRoutes({ serviceHost }: Settings, calls: RestCalls): TasksOnPort['routes'] {
  // Requests for other hosts than that of the service get the 404 of the decision service.
  return (others, tracing) => tasksRoutes({ calls, serviceHost, unknown: jsonNotFound(others), tracing });
}

/**
 * Returns a function that reads the tenant of a call from its head. Calls without a tenant share the quota of one
 * tenant.
 */
export function tenantNames(settings: Settings): (head: RestHead) => string {
  const config = {
    serviceHost: settings.serviceHost,
    tenantHeader: settings.tasksTenantHeader,
    jwt: { tenantClaim: settings.tasksJwtTenantClaim },
  };
  return head => {
    const place = placeOf(head, config);
    // The empty text is never a tenant, because domains of tenants are not empty.
    return place.kind === 'tenant' ? place.tenant : '';
  };
}

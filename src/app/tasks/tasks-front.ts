import type { Settings } from '../../settings/table.ts';
import { placeOf } from '../../tasks/rest/access/tenant-host.ts';
import type { RestCalls, RestHead } from '../../tasks/rest/http/http.ts';
import { textAnswer } from '../../transports/http/answer.ts';
import type { ReadinessChecks } from '../../transports/http/routes/health-routes.ts';
import { tasksRoutes } from '../../transports/http/routes/tasks-routes.ts';
import { type Handler, jsonNotFound, type Route } from '../../transports/http/routes.ts';
import { apiDocsRoutes } from '../../transports/page/api-docs.ts';
import { PageRoutes } from '../../transports/page/page-routes.ts';
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

/** For programs that request `/`; browsers get the console. */
const START = textAnswer(
  [
    'This is a Sluice service with tasks.',
    '  console    this address, in a browser',
    '  API        /api/v1, described at /api/docs and by /api/v1/openapi.json',
    '  health     /healthcheck, /readyz',
    '',
  ].join('\n'),
);

/** Returns the routes of the task service, of its documentation and of the console. `calls` answers the requests. */
export function restRoutes({ serviceHost }: Settings, calls: RestCalls): TasksOnPort['routes'] {
  const page = new PageRoutes('console');
  const docs = apiDocsRoutes();
  return (others, tracing) => {
    const unknown = jsonNotFound(others);
    const start = page.documentOr(exchange => exchange.answer(START));
    const root: Handler = (exchange, request) =>
      ['GET', 'HEAD'].includes(request.method) ? start(exchange, request) : unknown(exchange, request);
    return [page.files, ...docs, ...tasksRoutes({ calls, serviceHost, root, tracing })];
  };
}

/** Stands for the operator's API in queues of calls, so that callers without a tenant cannot delay it. */
const OPERATOR = '.operator';

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
    if (head.tenantAsk !== undefined) return OPERATOR;
    const place = placeOf(head, config);
    // The empty text is never a tenant, because domains of tenants are not empty.
    return place.kind === 'tenant' ? place.tenant : '';
  };
}

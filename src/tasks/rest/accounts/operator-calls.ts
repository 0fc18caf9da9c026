import { type SchemaCheck, schemaCheck } from '../../../base/schema/schema-check.ts';
import { isOperator, requireOperator } from '../access/authentication.ts';
import type { CallLimits } from '../http/call-limits.ts';
import type { RestRequest } from '../http/http.ts';
import { idempotencyOf, type RunningKeys } from '../http/idempotency.ts';
import { kindOf, OPERATOR, type RestParts } from '../http/parts.ts';
import { type OtherMethods, PathTable } from '../http/path-table.ts';
import { readJsonBody, readParams, readQuery } from '../http/read-request.ts';
import { requireJsonAccepted } from '../http/request-headers.ts';
import type { RestAnswer } from '../http/route.ts';
import { type OperatorRoute, operatorRoutes } from './operator-accounts.ts';

/** Calls of the operator have no tenant. API limits count them under this name, which is a reserved domain. */
const COUNTED_AS = 'accounts';

interface Prepared {
  readonly route: OperatorRoute;
  readonly query: ReadonlySet<string>;
  readonly check: SchemaCheck | null;
}

/** The route and the path parameters of a call. */
interface OperatorMatch {
  readonly entry: Prepared;
  readonly params: Readonly<Record<string, string>>;
}

/** Rejects all fields in the body of a route that has none. */
const NO_FIELDS = schemaCheck({ type: 'object', properties: {} });

/** Routes the calls of the operator API: checks the token of the operator and the request. */
export class OperatorCalls {
  readonly #parts: RestParts;
  readonly #limits: CallLimits;
  readonly #running: RunningKeys;
  readonly #paths = new PathTable<Prepared>();

  constructor(parts: RestParts, limits: CallLimits, running: RunningKeys) {
    this.#parts = parts;
    this.#limits = limits;
    this.#running = running;
    for (const route of operatorRoutes(parts)) {
      const { method, path, query = {}, body } = route;
      const hasBody = method === 'PATCH' || method === 'POST';
      const check = hasBody ? (body === undefined ? NO_FIELDS : schemaCheck(body)) : null;
      this.#paths.add(method, path, { route, query: new Set(Object.keys(query)), check });
    }
  }

  find(method: string, path: string): OperatorMatch | OtherMethods | null {
    return this.#paths.find(method === 'HEAD' ? 'GET' : method, path);
  }

  /** @throws Problem */
  async handle(
    request: RestRequest,
    { entry: { route, query, check }, params }: OperatorMatch,
    requestId: string,
  ): Promise<RestAnswer> {
    const { config } = this.#parts;
    const user = isOperator(request, config) ? OPERATOR : '';
    const counted = { tenant: COUNTED_AS, kind: kindOf(route.method), user };
    const headers = await this.#limits.count(counted, request);
    requireOperator(request, config);
    requireJsonAccepted(request);
    await request.takeBody?.();
    const idempotency = idempotencyOf(request, COUNTED_AS);
    const call = {
      path: request.path,
      params: readParams(params),
      query: readQuery(request.query, query),
      body: check === null ? {} : readJsonBody(request, check, route.body === undefined),
      requestId,
      idempotency,
      nowMs: this.#parts.clock.nowMs(),
    };
    const answer = await this.#running.during(COUNTED_AS, idempotency, () => route.handle(call));
    return { ...answer, headers: { ...headers, ...answer.headers } };
  }
}

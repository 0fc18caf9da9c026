import { GzippedJson } from '../../base/gzipped-json.ts';
import type { Logger } from '../../base/logger.ts';
import { type SchemaCheck, schemaCheck } from '../../base/schema/schema-check.ts';
import { isJwtText } from '../identity/json-web-token.ts';
import type { Account } from '../model/documents.ts';
import { type Authenticated, authenticate, bearerToken, LastUse } from './access/authentication.ts';
import { requireAccess } from './access/authorization.ts';
import { JwtLogin } from './access/jwt-login.ts';
import { ACCOUNTS_PATH, placeOf, unknownTenant } from './access/tenant-host.ts';
import { Accounts } from './accounts/accounts.ts';
import { OperatorCalls } from './accounts/operator-calls.ts';
import { Problem } from './checks/problem.ts';
import { CallLimits } from './http/call-limits.ts';
import type { RestHandler, RestRequest, RestResponse } from './http/http.ts';
import { idempotencyOf, RunningKeys } from './http/idempotency.ts';
import { type ApiLimits, type CallKind, kindOf, type RestParts } from './http/parts.ts';
import { PathTable } from './http/path-table.ts';
import { COMMON_HEADERS, problemOf, problemResponse } from './http/problem-answer.ts';
import { readJsonBody, readParams, readQuery } from './http/read-request.ts';
import { requestIdOf, requireJsonAccepted } from './http/request-headers.ts';
import { type Call, type Caller, type RestAnswer, type Route, TenantCall } from './http/route.ts';
import { openApiDocument } from './openapi/document.ts';
import { OperatorTenants } from './tenants/operator-tenants.ts';

/** Called for each response, for statistics. */
type AnswerListener = (operation: string, status: number) => void;

interface RestServiceOptions {
  readonly parts: RestParts;
  readonly limits: ApiLimits;
  readonly routes: readonly Route[];
  /** Shown in the OpenAPI document. */
  readonly version: string;
  readonly onAnswer?: AnswerListener;
}

/** A route with its compiled checks. */
interface Prepared {
  readonly route: Route;
  readonly query: ReadonlySet<string>;
  readonly check: SchemaCheck | null;
  readonly bodyOptional: boolean;
  readonly kind: CallKind;
}

/** State of a request that its response needs, even if the request fails. */
interface Passage {
  readonly requestId: string;
  /** The operation of the route, for statistics. */
  operation: string;
  limitHeaders: Readonly<Record<string, string>>;
}

/** The operation of requests without a route. */
const UNKNOWN = 'unknown';
const API_PREFIX = '/api';
const OPENAPI_PATH = '/api/v1/openapi.json';
const NO_FIELDS: Readonly<Record<string, string>> = {};
const NO_BODY: Readonly<Record<string, unknown>> = {};
/** Rejects all fields in the body of a route that has none. */
const NO_FIELDS_CHECK = schemaCheck({ type: 'object', properties: {} });

/**
 * The REST interface of tasks (specification 3). Finds the tenant and the route, authenticates and authorizes the caller,
 * counts the call against the API limits, checks the request, and renders the response or the problem.
 */
export class RestService implements RestHandler {
  readonly #parts: RestParts;
  readonly #log: Logger;
  readonly #paths = new PathTable<Prepared>();
  readonly #limits: CallLimits;
  readonly #accounts: Accounts;
  readonly #operator: OperatorCalls;
  readonly #tenants: OperatorTenants;
  readonly #running = new RunningKeys();
  readonly #lastUse: LastUse;
  readonly #logins: JwtLogin | null;
  readonly #openApi: GzippedJson;
  readonly #onAnswer: AnswerListener;

  constructor({ parts, limits, routes, version, onAnswer = () => {} }: RestServiceOptions) {
    this.#parts = parts;
    this.#log = parts.logger;
    this.#limits = new CallLimits(limits, parts.clock, parts.logger);
    this.#accounts = new Accounts(parts, this.#limits, this.#running);
    this.#operator = new OperatorCalls(parts, this.#limits, this.#running);
    this.#tenants = new OperatorTenants(parts);
    this.#lastUse = new LastUse(parts.store, parts.logger);
    this.#logins = parts.identities === null ? null : new JwtLogin(parts, parts.identities);
    this.#openApi = new GzippedJson(() => openApiDocument(routes, version));
    this.#onAnswer = onAnswer;
    for (const route of routes) this.#paths.add(route.method, route.path, prepare(route));
  }

  #requestIdOf(request: RestRequest): string {
    return requestIdOf(request, () => this.#parts.ids.next('request'));
  }

  async handle(request: RestRequest): Promise<RestResponse> {
    const passage: Passage = {
      requestId: this.#requestIdOf(request),
      operation: UNKNOWN,
      limitHeaders: NO_FIELDS,
    };
    let response: RestResponse;
    try {
      response = answerResponse(await this.#answer(request, passage), passage);
    } catch (thrown) {
      const problem = problemOf(thrown, passage.requestId, this.#log);
      response = problemResponse(problem, passage.requestId, passage.limitHeaders);
    }
    this.#onAnswer(passage.operation, response.status);
    return response;
  }

  #answer(request: RestRequest, passage: Passage): RestAnswer | Promise<RestAnswer> {
    if (request.tenantAsk !== undefined) {
      passage.operation = 'operatorTenants';
      return this.#tenants.handle(request.tenantAsk, passage.requestId);
    }
    if (request.path === OPENAPI_PATH) return this.#document(request, passage);
    const { config } = this.#parts;
    const place = placeOf(request, config);
    switch (place.kind) {
      case 'accounts':
        return this.#forAccounts(request, passage, '/');
      case 'service':
        return this.#forAccounts(request, passage, ACCOUNTS_PATH);
      case 'tenant':
        return this.#forTenant(request, passage, place.tenant);
      case 'unknown':
        throw unknownTenant(config);
    }
  }

  #document(request: RestRequest, passage: Passage): RestAnswer {
    passage.operation = 'openApi';
    if (!isMethod(request, 'GET')) throw wrongMethod(request.method, ['GET']);
    return { status: 200, ...this.#openApi.bodyFor(request.headers['accept-encoding'] ?? '') };
  }

  #forAccounts(
    request: RestRequest,
    passage: Passage,
    root: '/' | typeof ACCOUNTS_PATH,
  ): Promise<RestAnswer> {
    const { method, path } = request;
    const found = this.#operator.find(method, path === root ? ACCOUNTS_PATH : path);
    const isElsewhere = path !== root && path === ACCOUNTS_PATH && method === 'POST';
    if (found === null || isElsewhere) {
      if (root === ACCOUNTS_PATH) throw unknownTenant(this.#parts.config);
      throw unknownPath(path);
    }
    if (path === root && method === 'POST') {
      passage.operation = 'createAccount';
      return this.#accounts.create(request, passage.requestId);
    }
    if ('allowed' in found) {
      throw wrongMethod(method, path === root ? [...found.allowed, 'POST'] : found.allowed);
    }
    passage.operation = found.entry.route.operation;
    return this.#operator.handle(request, found, passage.requestId);
  }

  async #forTenant(request: RestRequest, passage: Passage, tenant: string): Promise<RestAnswer> {
    const { prepared, params } = this.#find(request);
    passage.operation = prepared.route.operation;
    const account = await this.#accountOf(tenant);
    const nowMs = this.#parts.clock.nowMs();
    const { caller } = await this.#admit(request, passage, account, prepared.kind, nowMs);
    if (account.body.status === 'suspended' && prepared.kind === 'write') throw suspended();
    requireAccess(caller, prepared.route.access);
    requireJsonAccepted(request);
    if (prepared.check !== null) await request.takeBody?.();
    const idempotency = idempotencyOf(request, scopeOf(caller));
    const call = new TenantCall({
      request,
      tenant,
      account,
      caller,
      params: readParams(params),
      query: readQuery(request.query, prepared.query),
      body: bodyOf(request, prepared),
      requestId: passage.requestId,
      idempotency,
      nowMs,
      checkAgain: () => this.#checkAgain(request, tenant, prepared),
    });
    if (idempotency === null) return prepared.route.handle(call);
    return this.#running.during(tenant, idempotency, () => prepared.route.handle(call));
  }

  /** @throws Problem `tenant_not_found` */
  async #accountOf(tenant: string): Promise<Call['account']> {
    const account = await this.#parts.directory.account(tenant);
    if (account === null || isGone(account.body)) {
      throw unknownTenant(this.#parts.config);
    }
    return account;
  }

  /** Checks account, token and role as {@link #forTenant} does, without counting the call again. */
  async #checkAgain(request: RestRequest, tenant: string, { route, kind }: Prepared): Promise<void> {
    const account = await this.#accountOf(tenant);
    const { caller } = await this.#authenticate(request, account, this.#parts.clock.nowMs(), null);
    if (account.body.status === 'suspended' && kind === 'write') throw suspended();
    requireAccess(caller, route.access);
  }

  #find(request: RestRequest): { prepared: Prepared; params: Readonly<Record<string, string>> } {
    const { path } = request;
    if (!path.startsWith('/api/')) throw unknownPath(path);
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    const found = this.#paths.find(method, path.slice(API_PREFIX.length));
    if (found === null) throw unknownPath(path);
    if ('allowed' in found) throw wrongMethod(request.method, found.allowed);
    return { prepared: found.entry, params: found.params };
  }

  /** Authenticates and counts a call. Calls without a valid token are counted separately, so they cannot use up limits. */
  async #admit(
    request: RestRequest,
    passage: Passage,
    account: Call['account'],
    kind: CallKind,
    nowMs: number,
  ): Promise<Authenticated> {
    const tenant = account.body.domain;
    let authenticated: Authenticated;
    try {
      authenticated = await this.#authenticate(request, account, nowMs, passage.requestId);
    } catch (thrown) {
      if (thrown instanceof Problem) await this.#limits.count({ tenant, kind, user: '' }, request);
      throw thrown;
    }
    const { caller } = authenticated;
    const user = caller.kind === 'user' ? caller.userId : caller.workerId;
    passage.limitHeaders = await this.#limits.count({ tenant, kind, user }, request);
    this.#lastUse.used(tenant, authenticated, nowMs);
    return authenticated;
  }

  /** @param requestId the id of a request that may create a user; null if it may not */
  #authenticate(
    { headers: { authorization } }: RestRequest,
    account: Call['account'],
    nowMs: number,
    requestId: string | null,
  ): Promise<Authenticated> {
    const tenant = account.body.domain;
    const token = this.#logins === null ? null : bearerToken(authorization);
    if (this.#logins === null || token === null || !isJwtText(token)) {
      return authenticate(this.#parts.directory, tenant, authorization, nowMs);
    }
    const mayCreate = account.body.status === 'active';
    return this.#logins.authenticate({
      ...{ tenant, account, nowMs, token },
      requestId: mayCreate ? requestId : null,
    });
  }
}

/** The scope of idempotency keys. For logins it is the user, because the provider renews tokens frequently. */
function scopeOf(caller: Caller): string {
  return caller.kind === 'user' ? (caller.tokenId ?? caller.userId) : caller.secretId;
}

function prepare(route: Route): Prepared {
  const hasBody = route.method !== 'GET' && route.method !== 'DELETE';
  const check = route.body === undefined ? NO_FIELDS_CHECK : schemaCheck(route.body);
  return {
    route,
    query: new Set(Object.keys(route.query ?? {})),
    check: hasBody ? check : null,
    bodyOptional: route.body === undefined || route.bodyOptional === true,
    kind: kindOf(route.method),
  };
}

function bodyOf(request: RestRequest, { check, bodyOptional }: Prepared): Readonly<Record<string, unknown>> {
  return check === null ? NO_BODY : readJsonBody(request, check, bodyOptional);
}

function answerResponse(answer: RestAnswer, { requestId, limitHeaders }: Passage): RestResponse {
  const { status, headers, json, encoded } = answer;
  const body = answer.text ?? (json === undefined ? '' : JSON.stringify(json));
  return {
    status,
    headers: {
      ...((body !== '' || encoded !== undefined) && JSON_TYPE),
      'X-Request-Id': requestId,
      ...COMMON_HEADERS,
      ...limitHeaders,
      ...headers,
    },
    body,
    ...(encoded !== undefined && { encoded }),
  };
}

const JSON_TYPE = { 'Content-Type': 'application/json' } as const;

function isMethod(request: RestRequest, method: 'GET'): boolean {
  return request.method === method || request.method === 'HEAD';
}

/** Whether the account is deleted or being deleted. Callers see neither. */
function isGone({ status }: Account): boolean {
  return status === 'deleting' || status === 'deleted';
}

function unknownPath(path: string): Problem {
  return new Problem(
    'not_found',
    `There is no path ${JSON.stringify(path.slice(0, 100))}. ${OPENAPI_PATH} describes all paths.`,
  );
}

function wrongMethod(method: string, allowed: readonly string[]): Problem {
  const methods = allowed.includes('GET') ? [...allowed, 'HEAD'] : allowed;
  return new Problem(
    'method_not_allowed',
    `${method} is not allowed for this path. Allowed methods: ${methods.join(', ')}.`,
    {
      headers: { Allow: methods.join(', ') },
    },
  );
}

function suspended(): Problem {
  return new Problem(
    'tenant_suspended',
    'The account is suspended, so nothing can be changed. Contact the operator.',
  );
}

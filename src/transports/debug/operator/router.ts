import type { Clock } from '../../../base/clock.ts';
import { asError } from '../../../base/fault.ts';
import { GzippedJson } from '../../../base/gzipped-json.ts';
import type { AuditLogger } from '../../../base/logger.ts';
import type { Answer } from '../../http/answer.ts';
import { readBody } from '../../http/body.ts';
import type { Exchange } from '../../http/exchange.ts';
import type { RequestHead, Route } from '../../http/routes.ts';
import { Authorization, type Credentials, type ReadAdminToken, refuseOtherSites } from './authorization.ts';
import { openApiDocument } from './openapi.ts';
import { API_HEADERS, OperatorProblem, problemAnswer, problemOf } from './problem.ts';
import { CallChecks, MAX_API_BODY_BYTES, requireJson } from './read-call.ts';
import { type OperatorAnswer, type OperatorCall, type OperatorRoute, reads } from './route.ts';

/** Where the paths of the routes begin. */
const API_PREFIX = '/api/v1';

/** Maximum number of requests in progress. Further requests are refused. */
const MAX_CONCURRENT_CALLS = 32;

/** Maximum number of characters of a reason in the log. */
const MAX_REASON_CHARACTERS = 256;

function tooLarge({ bodyBytes = MAX_API_BODY_BYTES }: OperatorRoute): Answer {
  return problemAnswer(new OperatorProblem('body_too_large', `The body is larger than ${bodyBytes} bytes.`));
}

interface OperatorApiParts {
  /** All routes except that of the OpenAPI document. */
  readonly routes: readonly OperatorRoute[];
  readonly token: ReadAdminToken;
  /** The version of the service, for the OpenAPI document. */
  readonly version: string;
  readonly clock: Clock;
  readonly log: AuditLogger;
}

interface Entry {
  readonly route: OperatorRoute;
  readonly segments: readonly string[];
  readonly checks: CallChecks;
}

/** What is left of a request when its head is no longer valid. */
interface Accepted {
  readonly entry: Entry;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, unknown>>;
  /** Null for a route that reads. */
  readonly credentials: Credentials | null;
  /** The value of `Accept-Encoding`. */
  readonly encodings: string;
}

/**
 * The operator's API below {@link API_PREFIX}: finds the route of a request, checks the request against its description,
 * and answers. A change needs the token of the operator, and each one is an audit line in the log.
 */
export class OperatorApi {
  readonly #parts: OperatorApiParts;
  readonly #entries: readonly Entry[];
  readonly #authorization: Authorization;
  #running = 0;

  constructor(parts: OperatorApiParts) {
    this.#parts = parts;
    this.#authorization = new Authorization(parts);
    const document = new GzippedJson(() =>
      openApiDocument([...parts.routes, described], API_PREFIX, parts.version),
    );
    const described: OperatorRoute = {
      ...reads('/openapi.json', 'getOpenApi', 'This document'),
      answer: { description: 'An OpenAPI 3.1 document.', schema: { type: 'object', properties: {} } },
      handle: () => ({ json: document }),
    };
    this.#entries = [...parts.routes, described].map(route => ({
      route,
      segments: route.path.split('/').slice(1),
      checks: new CallChecks(route),
    }));
  }

  /** The route of the debug port. */
  get route(): Route {
    return {
      path: `${API_PREFIX}/*`,
      method: 'any',
      help: `the operator's API; ${API_PREFIX}/openapi.json describes it`,
      handle: (exchange, request) => this.#handle(exchange, request),
    };
  }

  stop(): void {
    this.#authorization.stop();
    for (const { route } of this.#entries) if ('stream' in route) route.stop();
  }

  #handle(exchange: Exchange, request: RequestHead): void {
    let accepted: Accepted;
    try {
      refuseOtherSites(request);
      accepted = this.#accept(request);
      if (accepted.entry.checks.takesBody) requireJson(request.header('content-type'));
      const { route } = accepted.entry;
      if ('stream' in route) {
        route.stream(exchange);
        return;
      }
    } catch (thrown) {
      // The body, if there is one, is small enough to be received, or the connection is closed.
      exchange.refuseBody(problemAnswer(problemOf(thrown, this.#parts.log)), MAX_API_BODY_BYTES);
      return;
    }
    if (!accepted.entry.checks.takesBody) void this.#answer(exchange, accepted, null);
    else {
      readBody(exchange, body => void this.#answer(exchange, accepted, body.slice()), {
        bytes: accepted.entry.route.bodyBytes ?? MAX_API_BODY_BYTES,
        tooLarge: tooLarge(accepted.entry.route),
      });
    }
  }

  /** @throws OperatorProblem */
  #accept(request: RequestHead): Accepted {
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    const path = request.path.slice(API_PREFIX.length + 1).split('/', 9);
    const found = this.#entries.flatMap(entry => {
      const params = paramsOf(entry.segments, path);
      return params === null ? [] : [{ entry, params }];
    });
    if (found.length === 0) {
      throw new OperatorProblem('not_found', `There is no such path; see ${API_PREFIX}/openapi.json.`);
    }
    const match = found.find(({ entry }) => entry.route.method === method);
    if (match === undefined) {
      const allowed = found.map(({ entry }) => entry.route.method);
      const headers = { Allow: (allowed.includes('GET') ? ['HEAD', ...allowed] : allowed).join(', ') };
      throw new OperatorProblem('method_not_allowed', `The path serves ${headers.Allow} only.`, { headers });
    }
    const isChange = match.entry.route.access === 'change';
    return {
      ...match,
      query: match.entry.checks.query(request.query),
      credentials: isChange
        ? { authorization: request.header('authorization'), remoteAddress: request.remoteAddress }
        : null,
      encodings: request.header('accept-encoding'),
    };
  }

  async #answer(exchange: Exchange, accepted: Accepted, body: Uint8Array | null): Promise<void> {
    let answer: Answer;
    try {
      if (this.#running >= MAX_CONCURRENT_CALLS) throw tooMany();
      this.#running++;
      try {
        answer = await this.#run(accepted, body);
      } finally {
        this.#running--;
      }
    } catch (thrown) {
      answer = problemAnswer(problemOf(thrown, this.#parts.log));
    }
    exchange.answer(answer);
  }

  async #run(
    { entry, params, query, credentials, encodings }: Accepted,
    bytes: Uint8Array | null,
  ): Promise<Answer> {
    const by = credentials === null ? null : await this.#authorization.check(credentials);
    const body = bytes === null ? {} : entry.checks.body(bytes);
    const call: OperatorCall = { params, query, body, by, nowMs: this.#parts.clock.nowMs() };
    const { status = 200, json } = await (by === null ? handled(entry, call) : this.#change(entry, call, by));
    const {
      headers,
      text = '',
      encoded = text,
    } = json instanceof GzippedJson ? json.bodyFor(encodings) : { headers: {}, text: JSON.stringify(json) };
    return {
      status: status === 200 ? '200 OK' : '201 Created',
      contentType: 'application/json',
      headers: { ...API_HEADERS, ...headers },
      body: encoded,
    };
  }

  /** Makes a change and writes its audit line. A change that fails may have been made in part. */
  async #change(entry: Entry, call: OperatorCall, by: string): Promise<OperatorAnswer> {
    const reason = String(call.query['reason'] ?? call.body['reason'] ?? '').slice(0, MAX_REASON_CHARACTERS);
    const common = { operation: entry.route.operation, by, ...(reason !== '' && { reason }) };
    try {
      const answer = await handled(entry, call);
      this.#parts.log.audit('Operator change', { ...common, ...answer.audit });
      return answer;
    } catch (thrown) {
      this.#parts.log.audit('Operator change failed', { ...common, error: asError(thrown).message });
      throw thrown;
    }
  }
}

/** Streams have been answered before. */
async function handled({ route }: Entry, call: OperatorCall): Promise<OperatorAnswer> {
  if ('handle' in route) return await route.handle(call);
  throw new OperatorProblem('method_not_allowed', 'The path serves events only.');
}

function tooMany(): OperatorProblem {
  return new OperatorProblem(
    'overloaded',
    `${MAX_CONCURRENT_CALLS} requests to the API are already in progress. Retry when one of them has finished.`,
    { headers: { 'Retry-After': '1' } },
  );
}

/** The named segments of a path, decoded; null if the path is another one. */
function paramsOf(segments: readonly string[], path: readonly string[]): Record<string, string> | null {
  if (segments.length !== path.length) return null;
  const params: Record<string, string> = {};
  for (const [i, segment] of segments.entries()) {
    if (!segment.startsWith(':')) {
      if (segment !== path[i]) return null;
      continue;
    }
    const value = decoded(path[i]);
    if (value === null || value === '') return null;
    params[segment.slice(1)] = value;
  }
  return params;
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

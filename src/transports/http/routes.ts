import type { Exchange } from './exchange.ts';
import type { RequestHead } from './request-head.ts';
import { errorAnswer } from './status.ts';

/** Handles one request. `request` is only valid until the handler returns. */
export type Handler = (exchange: Exchange, request: RequestHead) => void;

/** One path and what it serves. */
export interface Route {
  /** Compared exactly. A path that ends with `/*` matches every path that starts with the part before the `*`. */
  readonly path: string;
  /** `GET` serves HEAD as well. */
  readonly method: 'GET' | 'POST' | 'GET or POST' | 'any';
  /** What the path is for, in a few words. */
  readonly help: string;
  readonly handle: Handler;
}

/** All routes of a listener. */
export interface RouteTable {
  readonly routes: readonly Route[];
  /** Answers paths that match no route. */
  readonly unknown: Handler;
}

/** The methods of a path as the `Allow` field has them. */
const ALLOWED = { GET: 'GET, HEAD', POST: 'POST', 'GET or POST': 'GET, HEAD, POST' } as const;

/** The methods that a route serves; null if it serves all methods. */
export function methodsOf({ method }: Route): readonly string[] | null {
  return method === 'any' ? null : ALLOWED[method].split(', ');
}

/** The answer of a route to methods that it does not serve (RFC 9110, 15.5.6). */
export function methodNotAllowed({ path, method }: Route): Handler {
  const allowed = method === 'any' ? '' : ALLOWED[method];
  const message = `${path} serves ${allowed} only`;
  const answer = errorAnswer({ code: 'method_not_allowed', message }, { Allow: allowed });
  return exchange => exchange.answer(answer);
}

/** Runs a handler. If the handler throws, the request is answered with 500. */
export function run(handle: Handler, exchange: Exchange, request: RequestHead): void {
  try {
    handle(exchange, request);
  } catch (thrown) {
    exchange.fail(thrown);
  }
}

/** A path that is none of the routes: 404 with a JSON body that lists those there are. */
export function jsonNotFound(routes: readonly Route[]): Handler {
  const paths = routes.map(({ method, path }) => (method === 'any' ? path : `${method} ${path}`)).join(', ');
  const answer = errorAnswer({ code: 'not_found', message: `no such path; the paths here are: ${paths}` });
  return exchange => exchange.answer(answer);
}

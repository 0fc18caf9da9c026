import type { HttpRequest, HttpResponse, TemplatedApp } from 'uWebSockets.js';
import { Exchange, type ExchangeContext } from './exchange.ts';
import { errorAnswer } from './status.ts';

/** Handles one request. `request` is only valid until the handler returns. */
export type Handler = (exchange: Exchange, request: HttpRequest) => void;

/** One path and what it serves. */
export interface Route {
  readonly path: string;
  /** `GET` serves HEAD as well. */
  readonly method: 'GET' | 'POST' | 'GET or POST' | 'any';
  /** What the path is for, in a few words. */
  readonly help: string;
  readonly handle: Handler;
}

/** The methods of a path as the `Allow` field has them. */
const ALLOWED = { GET: 'GET, HEAD', POST: 'POST', 'GET or POST': 'GET, HEAD, POST' } as const;

/**
 * Puts the routes into a uWebSockets.js app. Paths are compared exactly, queries left aside; other methods of a
 * route's path get 405, and all other paths go to `unknown`.
 */
export function mountRoutes(
  app: TemplatedApp,
  table: { readonly routes: readonly Route[]; readonly unknown: Handler },
  context: ExchangeContext,
): void {
  for (const { path, method, handle } of table.routes) {
    const served = guarded(handle, context);
    if (method === 'any') app.any(path, served);
    else {
      if (method !== 'GET') app.post(path, served);
      if (method !== 'POST') app.get(path, served).head(path, served);
      app.any(path, guarded(methodNotAllowed(path, ALLOWED[method]), context));
    }
  }
  app.any('/*', guarded(table.unknown, context));
}

/** What a path answers to methods other than its own (RFC 9110, 15.5.6). */
function methodNotAllowed(path: string, allowed: string): Handler {
  const message = `${path} serves ${allowed} only`;
  const answer = errorAnswer({ code: 'method_not_allowed', message }, { Allow: allowed });
  return exchange => exchange.answer(answer);
}

/** A path that is none of the routes: 404 with a JSON body that lists those there are. */
export function jsonNotFound(routes: readonly Route[]): Handler {
  const paths = routes.map(({ method, path }) => (method === 'any' ? path : `${method} ${path}`)).join(', ');
  const answer = errorAnswer({ code: 'not_found', message: `no such path; the paths here are: ${paths}` });
  return exchange => exchange.answer(answer);
}

function guarded(handle: Handler, context: ExchangeContext) {
  return (res: HttpResponse, request: HttpRequest): void => {
    const exchange = new Exchange(res, request.getMethod(), context);
    try {
      handle(exchange, request);
    } catch (thrown) {
      exchange.fail(thrown);
    }
  };
}

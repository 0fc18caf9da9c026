import { errorAnswer, problemAnswer } from './answer.ts';
import type { Exchange } from './exchange.ts';

/** The head of a request. It is valid only until the handler returns, because engines reuse the object. */
export interface RequestHead {
  /** As sent: methods are compared exactly (RFC 9110, 9.1). */
  readonly method: string;
  /** As sent, including percent-encoding, without the query. */
  readonly path: string;
  /** The part of the target after the `?`, as sent. Empty without a query. */
  readonly query: string;
  /**
   * Whether each character of a path, a query or a value stands for one byte, as Node.js passes them on. Otherwise, they are
   * decoded from UTF-8.
   */
  readonly isBinary: boolean;
  /** The address of the caller as text. IPv6 addresses have no brackets. */
  readonly remoteAddress: string;
  /**
   * The value of a header field, or of the first one if it is repeated; empty if it is missing. `name` in lower case.
   */
  header(name: string): string;
  /** Calls this for each header field, in their order, with its name in lower case. A value may be empty. */
  each(field: (name: string, value: string) => void): void;
}

/** Handles one request. `request` is only valid until the handler returns. */
export type Handler = (exchange: Exchange, request: RequestHead) => void;

/** One path and what it serves. */
export interface Route {
  /** Compared exactly. A path that ends with `/*` matches every path that starts with the part before the `*`. */
  readonly path: string;
  /** `GET` serves HEAD as well. */
  readonly method: 'GET' | 'POST' | 'GET or POST' | 'any';
  /** The purpose of the path, in a few words. */
  readonly help: string;
  readonly handle: Handler;
}

/** All routes of a listener. */
export interface RouteTable {
  readonly routes: readonly Route[];
  /** Answers paths that match no route. */
  readonly unknown: Handler;
}

/** Methods of a path, in the form of the `Allow` field. */
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

/** Answers unknown paths with a problem (RFC 9457) that lists the available paths. */
export function jsonNotFound(routes: readonly Route[]): Handler {
  const paths = routes.map(({ method, path }) => (method === 'any' ? path : `${method} ${path}`)).join(', ');
  const detail = `There is no such path. Available paths: ${paths}.`;
  const answer = problemAnswer('404 Not Found', detail);
  return exchange => exchange.answer(answer);
}

/** Handlers of a path by method, and the handler for all other methods. */
interface PathHandlers {
  readonly byMethod: ReadonlyMap<string, Handler>;
  readonly other: Handler;
}

/** Finds the handler of a request, for engines whose library has no router. */
export class Dispatch {
  readonly #exact = new Map<string, PathHandlers>();
  /** Routes that match a path prefix, the longest prefix first. */
  readonly #prefixes: (readonly [prefix: string, handlers: PathHandlers])[] = [];
  readonly #unknown: Handler;

  constructor({ routes, unknown }: RouteTable) {
    this.#unknown = unknown;
    for (const route of routes) {
      const { path } = route;
      if (path.endsWith('/*')) this.#prefixes.push([path.slice(0, -1), handlersOf(route)]);
      else this.#exact.set(path, handlersOf(route));
    }
    this.#prefixes.sort(([a], [b]) => b.length - a.length);
  }

  /** Methods and paths are compared exactly (RFC 9110, 9.1; RFC 3986, 6.2.2). */
  handler(method: string, path: string): Handler {
    const handlers = this.#exact.get(path) ?? this.#prefixes.find(([prefix]) => path.startsWith(prefix))?.[1];
    if (handlers === undefined) return this.#unknown;
    return handlers.byMethod.get(method) ?? handlers.other;
  }
}

function handlersOf(route: Route): PathHandlers {
  const methods = methodsOf(route);
  if (methods === null) return { byMethod: new Map(), other: route.handle };
  return {
    byMethod: new Map(methods.map(method => [method, route.handle])),
    other: methodNotAllowed(route),
  };
}

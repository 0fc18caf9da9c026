import { type Handler, methodNotAllowed, methodsOf, type Route, type RouteTable } from './routes.ts';

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

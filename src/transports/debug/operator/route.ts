import type { GzippedJson } from '../../../base/gzipped-json.ts';
import type { LogFields } from '../../../base/logger.ts';
import type { NumberSchema, ObjectSchema, StringSchema } from '../../../base/schema/schema.ts';
import type { Exchange } from '../../http/exchange.ts';
import type { OperatorProblemCode } from './problem.ts';

/** A validated request to the operator's API. */
export interface OperatorCall {
  /** The decoded named segments of the path. */
  readonly params: Readonly<Record<string, string>>;
  /** The query parameters that were given, numbers as numbers. */
  readonly query: Readonly<Record<string, unknown>>;
  /** The body that the schema of the route has accepted; empty if the route has none. */
  readonly body: Readonly<Record<string, unknown>>;
  /** Who makes the change: the fingerprint of the token and the address of the caller. Null for a route that reads. */
  readonly by: string | null;
  readonly nowMs: number;
}

/** What a handler answers. */
export interface OperatorAnswer {
  /** 200 if absent. */
  readonly status?: 200 | 201;
  /** Serialized as the body. A {@link GzippedJson} is sent compressed to callers that accept it. */
  readonly json: unknown;
  /** What was changed, for the audit line of a route that changes; the router adds who, where and the reason. */
  readonly audit?: LogFields;
}

/** Values that a segment of the path or a query parameter can have. */
type ParameterSchema = StringSchema | NumberSchema;

interface Described {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** The path below `/api/v1`, such as `/limits/:number`. */
  readonly path: string;
  /** A unique name, such as `listLimits`. */
  readonly operation: string;
  readonly summary: string;
  /** Reading needs no credentials, as on all pages of the debug port. A change needs the token of the operator. */
  readonly access: 'read' | 'change';
  /** The schemas of query parameters; each one is optional if its schema is. */
  readonly query?: Readonly<Record<string, ParameterSchema>>;
  /** Only for POST and PUT. */
  readonly body?: ObjectSchema;
  /** Maximum size of the body; `MAX_API_BODY_BYTES` if absent. */
  readonly bodyBytes?: number;
  readonly answer: {
    readonly status?: 200 | 201;
    readonly description: string;
    readonly schema: ObjectSchema;
  };
  /** Codes of problems of this route, in addition to those that all routes have. */
  readonly problems?: readonly OperatorProblemCode[];
}

/** A method of a path that answers with JSON: who may call it, what it accepts and answers, and its handler. */
interface JsonRoute extends Described {
  /**
   * @throws OperatorProblem, or Fault of the counter store or the rules; the router answers both
   */
  handle(call: OperatorCall): OperatorAnswer | Promise<OperatorAnswer>;
}

/** A path that answers with server-sent events, whose data are described by the schema of the answer. Read only. */
interface EventsRoute extends Described {
  /**
   * Answers the request, for as long as the caller stays connected.
   * @throws OperatorProblem
   */
  stream(exchange: Exchange): void;
  /** Ends all streams, when the port closes. */
  stop(): void;
}

export type OperatorRoute = JsonRoute | EventsRoute;

/** What a route is, without what it accepts and answers. */
type RouteName = Pick<Described, 'method' | 'path' | 'operation' | 'summary' | 'access'>;

/** Names a route that reads. */
export function reads(path: string, operation: string, summary: string): RouteName {
  return { method: 'GET', path, operation, summary, access: 'read' };
}

/** Names a route that makes a change. */
export function changes(
  method: 'POST' | 'PUT' | 'DELETE',
  path: string,
  operation: string,
  summary: string,
): RouteName {
  return { method, path, operation, summary, access: 'change' };
}

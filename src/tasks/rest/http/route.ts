import type { ObjectSchema } from '../../../base/schema/schema.ts';
import type { Role, Scope } from '../../model/documents.ts';
import type { Actor } from '../../model/task.ts';
import type { StoredDocument } from '../../store/documents.ts';
import type { Idempotency } from '../../store/requests.ts';
import type { ProblemCode } from '../checks/problem-list.ts';
import type { ReadHeader, RestRequest, RestResponse } from './http.ts';

/** The caller of a request: a user with a token or a login at the identity provider, or a pull worker with its token. */
export type Caller =
  | {
      readonly kind: 'user';
      readonly userId: string;
      /** Null for a user who has logged in at the identity provider. */
      readonly tokenId: string | null;
      readonly role: Role;
      /** Null for everything that the role allows. */
      readonly scopes: readonly Scope[] | null;
      readonly actor: Actor;
    }
  | { readonly kind: 'worker'; readonly workerId: string; readonly secretId: string; readonly actor: Actor };

/** Permissions for a route: the lowest role, and the scope that a token with scopes needs; null for any. */
export interface Access {
  readonly role: Role;
  readonly scope: Scope | null;
  /** Whether pull workers can use their own token. The handler checks that the call is about this worker. */
  readonly workers?: true;
}

/** A validated request. */
export interface Call {
  readonly tenant: string;
  readonly account: StoredDocument<'account'>;
  readonly caller: Caller;
  /** The path as received, without the query: `/api/v1/tasks`. */
  readonly path: string;
  /** The decoded named segments of the path. */
  readonly params: Readonly<Record<string, string>>;
  /** The query parameters that the route declares. */
  readonly query: Readonly<Record<string, string>>;
  /** The body that the schema of the route has accepted; empty if the route has none. */
  readonly body: Readonly<Record<string, unknown>>;
  /** Size of the body as received. */
  readonly bodyBytes: number;
  readonly headers: Readonly<Partial<Record<ReadHeader, string>>>;
  readonly requestId: string;
  /** The idempotency record for the store, with an empty note; null if the request has no `Idempotency-Key`. */
  readonly idempotency: Idempotency | null;
  readonly nowMs: number;
  readonly gone: AbortSignal;
  /**
   * Checks the caller again, for calls that have waited.
   * @throws (rejects with) Problem if the account, the token, the user or the role no longer allows the call
   */
  readonly stillAllowed: () => Promise<void>;
}

/** The response of a handler. {@link RestService} adds the common header fields. */
export interface RestAnswer extends Pick<RestResponse, 'status' | 'encoded'> {
  readonly headers?: Readonly<Record<string, string>>;
  /** The body, to be serialized as JSON; undefined for no body. */
  readonly json?: unknown;
  /** The body as JSON text, in place of `json`. */
  readonly text?: string;
}

/** A response of a route, for the OpenAPI document and for tests that check responses against it. */
export interface AnswerDescription {
  readonly description: string;
  /** Absent for a response without a body. */
  readonly schema?: ObjectSchema;
}

/** A method of a path: its schema, access rules, handler and documentation. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The path below `/api`, such as `/v1/tasks/:id`. */
  readonly path: string;
  /** A unique name, such as `createTask`. */
  readonly operation: string;
  readonly summary: string;
  readonly access: Access;
  /** The query parameters and their descriptions. The handler checks the values. */
  readonly query?: Readonly<Record<string, string>>;
  /** Only for methods with a body. */
  readonly body?: ObjectSchema;
  /** Whether an empty body stands for `{}`. */
  readonly bodyOptional?: true;
  readonly answers: Readonly<Record<number, AnswerDescription>>;
  /**
   * Problem codes of this route, in addition to those that follow from its method, its body and its query (see
   * `openapi/document.ts`).
   */
  readonly problems?: readonly ProblemCode[];
  handle(call: Call): RestAnswer | Promise<RestAnswer>;
}

/** A route about accounts, without its handler. Paths are relative to the host of the service. */
export type OperatorDescription = Omit<Route, 'access' | 'handle'>;

/** The routes of `PUT`, and of its alias `PATCH`. In a request of either, fields that are left out stay unchanged. */
export function changeRoutes(noun: string, route: Omit<Route, 'method' | 'operation'>): readonly Route[] {
  const alias = `Change a ${noun.toLowerCase()}, as PUT does`;
  return [
    { ...route, method: 'PUT', operation: `update${noun}` },
    { ...route, method: 'PATCH', operation: `patch${noun}`, summary: alias },
  ];
}

interface TenantCallParts
  extends Pick<
    Call,
    'tenant' | 'account' | 'caller' | 'params' | 'query' | 'body' | 'requestId' | 'idempotency' | 'nowMs'
  > {
  readonly request: RestRequest;
  readonly checkAgain: Call['stillAllowed'];
}

/**
 * A validated request of a tenant. It is a class because each object literal with a getter gets its own hidden class,
 * which only a full garbage collection frees.
 */
export class TenantCall implements Call {
  readonly tenant: Call['tenant'];
  readonly account: Call['account'];
  readonly caller: Call['caller'];
  readonly path: string;
  readonly params: Call['params'];
  readonly query: Call['query'];
  readonly body: Call['body'];
  readonly bodyBytes: number;
  readonly headers: Call['headers'];
  readonly requestId: string;
  readonly idempotency: Call['idempotency'];
  readonly nowMs: number;
  readonly stillAllowed: Call['stillAllowed'];
  readonly #request: RestRequest;

  constructor(parts: TenantCallParts) {
    const { request } = parts;
    this.tenant = parts.tenant;
    this.account = parts.account;
    this.caller = parts.caller;
    this.path = request.path;
    this.params = parts.params;
    this.query = parts.query;
    this.body = parts.body;
    this.bodyBytes = request.body.length;
    this.headers = request.headers;
    this.requestId = parts.requestId;
    this.idempotency = parts.idempotency;
    this.nowMs = parts.nowMs;
    this.stillAllowed = parts.checkAgain;
    this.#request = request;
  }

  /** Only calls that wait should read it, because reading it makes the connection be watched for a disconnect. */
  get gone(): AbortSignal {
    return this.#request.gone;
  }
}

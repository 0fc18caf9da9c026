import type { Role, Scope } from '../../model/documents.ts';
import type { Actor } from '../../model/task.ts';
import type { StoredDocument } from '../../store/documents.ts';
import type { Idempotency } from '../../store/requests.ts';
import type { ProblemCode } from '../checks/problem.ts';
import type { ObjectSchema } from '../checks/schema.ts';
import type { ReadHeader, RestRequest, RestResponse } from './http.ts';

/** Who asks: a user by a token or by a login with the identity provider, or a pull worker by a token of its own. */
export type Caller =
  | {
      readonly kind: 'user';
      readonly userId: string;
      /** Null for a user who has logged in with the identity provider. */
      readonly tokenId: string | null;
      readonly role: Role;
      /** Null: all that the role allows. */
      readonly scopes: readonly Scope[] | null;
      readonly actor: Actor;
    }
  | { readonly kind: 'worker'; readonly workerId: string; readonly secretId: string; readonly actor: Actor };

/** Who may call: the least role, and the scope that a narrowed token must have. */
export interface Access {
  readonly role: Role;
  readonly scope: Scope;
  /** Pull workers may call with their own token; the handler sees to it that it is about this worker. */
  readonly workers?: true;
}

/** A checked request, as handlers get it. */
export interface Call {
  readonly tenant: string;
  readonly account: StoredDocument<'account'>;
  readonly caller: Caller;
  /** As it came, without the query: `/api/v1/tasks`. */
  readonly path: string;
  /** Decoded segments of the path, by their names. */
  readonly params: Readonly<Record<string, string>>;
  /** The parameters that the route declares; each at most once. */
  readonly query: Readonly<Record<string, string>>;
  /** What the schema of the route has accepted; empty where the route has none. */
  readonly body: Readonly<Record<string, unknown>>;
  /** Of the body as it came. */
  readonly bodyBytes: number;
  readonly headers: Readonly<Partial<Record<ReadHeader, string>>>;
  readonly requestId: string;
  /** What to give the store, when the request has an `Idempotency-Key`; with an empty note. */
  readonly idempotency: Idempotency | null;
  readonly nowMs: number;
  readonly gone: AbortSignal;
  /**
   * Lets the caller in again, for calls that wait.
   * @throws (rejects with) Problem as a new call would be answered: the account, the token, the user or the role has changed
   */
  readonly stillAllowed: () => Promise<void>;
}

/** What a handler answers; the router adds what every answer has. */
export interface RestAnswer extends Pick<RestResponse, 'status'> {
  readonly headers?: Readonly<Record<string, string>>;
  /** Becomes JSON; undefined for no body. */
  readonly json?: unknown;
  /** JSON text that is ready, in place of `json`. */
  readonly text?: string;
}

/** One answer of a route, for the OpenAPI document and the tests that check answers against it. */
export interface AnswerDescription {
  readonly description: string;
  /** Absent for an answer without a body. */
  readonly schema?: ObjectSchema;
}

/** One method of one path: how it is checked, who may call it, what it does, and how it is documented. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below `/api`: `/v1/tasks/:id`. */
  readonly path: string;
  /** Unique: `createTask`. */
  readonly operation: string;
  readonly summary: string;
  readonly access: Access;
  /** Names of query parameters, and what each accepts. The handler checks their texts. */
  readonly query?: Readonly<Record<string, string>>;
  /** Only for methods with a body. */
  readonly body?: ObjectSchema;
  /** A body may be left out: it is taken as `{}`. */
  readonly bodyOptional?: true;
  readonly answers: Readonly<Record<number, AnswerDescription>>;
  /** Codes of its own; those that every route has are not listed. */
  readonly problems: readonly ProblemCode[];
  handle(call: Call): RestAnswer | Promise<RestAnswer>;
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
 * A checked request of a tenant. It is a class because an object literal with a getter gets a hidden class of its own
 * each time, which only a full garbage collection frees.
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

  /** Read only by calls that wait, since the connection is then watched. */
  get gone(): AbortSignal {
    return this.#request.gone;
  }
}

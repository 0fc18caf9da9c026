import type { RestRequest } from './http.ts';
import type { Call } from './route.ts';

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

import type { Problem } from '../checks/problem.ts';
import type { ApiLimitVerdict } from './parts.ts';
import type { TenantAsk } from './tenant-ask.ts';

/** The head of a request, without sockets or library objects. It can be sent to another thread. */
export interface RestHead {
  /** Upper case. */
  readonly method: string;
  /** The `Host` field in lower case, without the port and the dot at the end of a whole name. */
  readonly host: string;
  /** From the first slash, without the query, still percent-encoded. */
  readonly path: string;
  /** Behind the question mark, without it; empty for none. */
  readonly query: string;
  /**
   * By names in lower case; only those that {@link READ_HEADERS} names. A value may be empty. Bytes that are not ASCII
   * are read as Latin-1 or as UTF-8, depending on the engine.
   */
  readonly headers: Readonly<Partial<Record<ReadHeader, string>>>;
  /** The address of the caller, as text; empty for calls with a tenant, and for those that a proxy has forwarded. */
  readonly remoteAddress: string;
  /** Only for calls that the operator's API in this process makes; the other fields are then empty. */
  readonly tenantAsk?: TenantAsk;
}

/** A request as handlers see it. */
export interface RestRequest extends RestHead {
  /** Empty until {@link takeBody} has resolved, if that is present. */
  readonly body: Uint8Array;
  /**
   * Receives a large body. The caller keeps it until the caller has been identified. Absent if the body is already
   * here.
   * @throws (rejects with) Problem if the caller disconnects before the body has arrived
   */
  takeBody?(): Promise<void>;
  /** The verdict of the API limits, if it was asked for before the caller was identified. */
  readonly askedLimit?: AskedLimit | null;
  /** Aborts when the caller has gone away. */
  readonly gone: AbortSignal;
}

/** A verdict of the API limits about a request whose caller has not been identified. */
export interface AskedLimit {
  /** The user that the request was counted for; null if no limits apply to any user. */
  readonly user: string | null;
  /** @throws Error (also as a rejection) if there is no verdict */
  get(): ApiLimitVerdict | Promise<ApiLimitVerdict>;
}

/** The header fields that are read. */
export const READ_HEADERS = [
  'authorization',
  'content-type',
  'accept',
  'accept-encoding',
  'idempotency-key',
  'if-match',
  'x-request-id',
  'x-tenant-domain',
  'traceparent',
  'tracestate',
] as const;
export type ReadHeader = (typeof READ_HEADERS)[number];

export interface RestResponse {
  readonly status: number;
  /** Names as they are written. */
  readonly headers: Readonly<Record<string, string>>;
  /** Empty for no body. Text is sent as UTF-8. */
  readonly body: string;
  /** The body as it is sent, in place of `body`, if it is encoded. */
  readonly encoded?: Uint8Array;
}

/** An answer whose body is already rendered, by another thread. */
export interface RenderedResponse extends Pick<RestResponse, 'status' | 'headers'> {
  readonly body: string | Uint8Array;
}

/** Answers requests. */
export interface RestHandler {
  /** Never rejects. */
  handle(request: RestRequest): Promise<RestResponse>;
}

/** Notifications to the owner of the connection about a call. */
export interface RestReply {
  /** The caller has been identified, so the body may be received. Only for calls that began without a body. */
  admitted(): void;
  /** The call waits for an event. From now on {@link RestCall.gone} must be called when the caller disconnects. */
  waits(): void;
  /** Called once, as the last notification. If the body has not been received, it is no longer needed. */
  answered(response: RenderedResponse): void;
}

/** A call that is handled in another thread. */
export interface RestCall {
  /**
   * Passes on the body of an admitted call. Its memory is transferred, so nothing else may access the pieces
   * afterwards.
   */
  body(pieces: readonly Uint8Array[]): void;
  /** The caller has disconnected, so no answer is needed. */
  gone(): void;
}

/** A large body, of at most `atMost` bytes, that the caller keeps until the caller has been identified. */
export interface HeldBody {
  readonly atMost: number;
}

/** Handles calls in other threads. The calling thread does no work that grows with the size of a body. */
export interface RestCalls {
  /** @param body as in {@link RestCall.body}, if it is already here */
  begin(head: RestHead, body: readonly Uint8Array[] | HeldBody, reply: RestReply): RestCall;
  /** The answer to a request whose body is not received at all, because it is too large or its chunks are too small. */
  refused(head: RestHead, problem: Problem): RenderedResponse;
}

import type { Problem } from './problem.ts';

/** The head of a request: no sockets, no library. It can be sent to another thread. */
export interface RestHead {
  /** Upper case. */
  readonly method: string;
  /** The `Host` field, without the port, in lower case. */
  readonly host: string;
  /** From the first slash, without the query, still percent-encoded. */
  readonly path: string;
  /** Behind the question mark, without it; empty for none. */
  readonly query: string;
  /** By names in lower case; only those that {@link READ_HEADERS} names. */
  readonly headers: Readonly<Partial<Record<ReadHeader, string>>>;
  /** The address of the caller, as text. */
  readonly remoteAddress: string;
}

/** A request as it is handled. */
export interface RestRequest extends RestHead {
  /** Empty until {@link takeBody} has resolved, where there is one. */
  readonly body: Uint8Array;
  /**
   * Takes in a large body, which is left with the caller until it is known who that is. Absent where the body is there.
   * @throws (rejects with) Problem when the caller goes away before the body has come
   */
  takeBody?(): Promise<void>;
  /** Aborts when the caller has gone away. */
  readonly gone: AbortSignal;
}

/** The header fields that are read. */
export const READ_HEADERS = [
  'authorization',
  'content-type',
  'accept',
  'idempotency-key',
  'if-match',
  'x-request-id',
  'x-tenant-domain',
] as const;
export type ReadHeader = (typeof READ_HEADERS)[number];

export interface RestResponse {
  readonly status: number;
  /** Names as they are written. */
  readonly headers: Readonly<Record<string, string>>;
  /** Empty for none. Text goes out as UTF-8. */
  readonly body: string;
}

/** An answer whose body is rendered: what another thread has made. */
export interface RenderedResponse extends Omit<RestResponse, 'body'> {
  readonly body: string | Uint8Array;
}

/** Whatever answers requests. */
export interface RestHandler {
  /** Never rejects. */
  handle(request: RestRequest): Promise<RestResponse>;
}

/** How whoever has the connection is told what becomes of a call. */
export interface RestReply {
  /** The caller is known: the body may be taken in. Only for calls that began without it. */
  admitted(): void;
  /** The call waits for something to happen: {@link RestCall.gone} matters from now on. */
  waits(): void;
  /** Once, and the last that is heard. A body that has not been taken in is not wanted any more. */
  answered(response: RenderedResponse): void;
}

/** A call that runs elsewhere. */
export interface RestCall {
  /** Hands over the body of a call that was admitted. Its pieces change hands: nobody else may touch their memory. */
  body(pieces: readonly Uint8Array[]): void;
  /** The caller has gone: nobody waits for an answer any more. */
  gone(): void;
}

/** A large body, of at most so many bytes, that is left with its caller until it is known who that is. */
export interface HeldBody {
  readonly atMost: number;
}

/** Has calls answered in other threads. The thread that asks does no work that grows with a body. */
export interface RestCalls {
  /** @param body as in {@link RestCall.body}, where it is there */
  begin(head: RestHead, body: readonly Uint8Array[] | HeldBody, reply: RestReply): RestCall;
  /** The answer to a request whose body is not taken in at all: it is too large, or comes in absurdly small chunks. */
  refused(head: RestHead, problem: Problem): RenderedResponse;
}

/** A request as the front hands it over: no sockets, no library. */
export interface RestRequest {
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
  readonly body: Uint8Array;
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
  /** Empty for none. */
  readonly body: string;
}

/** Whatever answers requests. */
export interface RestHandler {
  /** The answer to a request whose body is too large to be read: it comes without one. */
  tooLarge(request: RestRequest): RestResponse;
  /** Never rejects. */
  handle(request: RestRequest): Promise<RestResponse>;
}

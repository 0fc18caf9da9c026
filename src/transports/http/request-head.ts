/** The head of a request. Only valid until the handler that got it returns: engines use one object again. */
export interface RequestHead {
  /** As sent: methods are compared exactly (RFC 9110, 9.1). */
  readonly method: string;
  /** As sent, percent-encoding included, without the query. */
  readonly path: string;
  /** What follows the `?` of the target, as sent; empty when there is none. */
  readonly query: string;
  /** The address of the caller as text. IPv6 addresses have no brackets. */
  readonly remoteAddress: string;
  /** The value of a header field, of the first one where it is repeated; empty when there is none. `name` in lower case. */
  header(name: string): string;
}

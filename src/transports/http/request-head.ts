/** The head of a request. It is valid only until the handler returns, because engines reuse the object. */
export interface RequestHead {
  /** As sent: methods are compared exactly (RFC 9110, 9.1). */
  readonly method: string;
  /** As sent, including percent-encoding, without the query. */
  readonly path: string;
  /** The part of the target after the `?`, as sent. Empty without a query. */
  readonly query: string;
  /** The address of the caller as text. IPv6 addresses have no brackets. */
  readonly remoteAddress: string;
  /**
   * The value of a header field, or of the first one if it is repeated; empty if it is missing. `name` in lower case.
   */
  header(name: string): string;
  /** Calls this for each header field, in their order, with its name in lower case. A value may be empty. */
  each(field: (name: string, value: string) => void): void;
}

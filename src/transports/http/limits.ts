/** Limits on what the connections of one HTTP port may use. */
export interface HttpLimits {
  /** Maximum number of connections. Further connections are answered with 503 and closed. */
  readonly maxConnections: number;
  /** Maximum number of bytes of incomplete bodies and unread answers; see `HeldMemory`. */
  readonly maxHeldBytes: number;
}

export const DEFAULT_HTTP_LIMITS: HttpLimits = { maxConnections: 10_000, maxHeldBytes: 64 * 1_048_576 };

/** What the connections of one HTTP port may take of the process. */
export interface HttpLimits {
  /** Connections beyond these are answered 503 and closed. */
  readonly maxConnections: number;
  /** Bytes of bodies that are not complete and of answers that are not read; see `HeldMemory`. */
  readonly maxHeldBytes: number;
}

export const DEFAULT_HTTP_LIMITS: HttpLimits = { maxConnections: 10_000, maxHeldBytes: 64 * 1_048_576 };

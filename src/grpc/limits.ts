import { DEFAULT_LIMITS } from '../http2/connection/limits.ts';

/** What the calls of a connection may take of us. Each bound has a test that shows the peer's end. */
export interface CallLimits {
  /** The message of a request must be complete within this time after the headers. */
  readonly requestMs: number;
  /** Bytes of unfinished requests, frames and header sections of one connection. */
  readonly maxHeldBytes: number;
  /** Bytes of one stream of answers that may wait for its caller; once there are more, it ends. */
  readonly maxStreamQueuedBytes: number;
  /** Bytes of answers of a connection that wait for its peer; once there are more, further answers fail their calls. */
  readonly maxQueuedBytes: number;
  /**
   * Calls of a connection that were reset, or whose deadline passed, while their methods go on; once there are more, its
   * further calls are refused. Such calls have left their streams, so the limit on those does not hold them.
   */
  readonly maxAbandoned: number;
}

export const DEFAULT_CALL_LIMITS: CallLimits = {
  requestMs: 60_000,
  maxHeldBytes: 16 * 1_048_576,
  maxStreamQueuedBytes: 65_536,
  // A peer that is slow to read gets no more answers long before it loses its connection.
  maxQueuedBytes: DEFAULT_LIMITS.maxQueuedBytes / 2,
  maxAbandoned: 10_000,
};

/**
 * A bound on bytes that several holders keep at the same time. It may be part of a wider one: what a connection holds
 * counts towards what all connections hold.
 */
export class HeldBytes {
  readonly #max: number;
  readonly #within: HeldBytes | null;
  #held = 0;

  constructor(maxBytes: number, within: HeldBytes | null = null) {
    this.#max = maxBytes;
    this.#within = within;
  }

  get held(): number {
    return this.#held;
  }

  get max(): number {
    return this.#max;
  }

  /** Takes room for `bytes`; false, and nothing taken, when there is not enough. */
  take(bytes: number): boolean {
    if (this.#held + bytes > this.#max) return false;
    if (this.#within !== null && !this.#within.take(bytes)) return false;
    this.#held += bytes;
    return true;
  }

  /** Counts bytes that are held already, whether or not there is room for them. */
  add(bytes: number): void {
    this.#held += bytes;
    this.#within?.add(bytes);
  }

  release(bytes: number): void {
    this.#held -= bytes;
    this.#within?.release(bytes);
  }
}

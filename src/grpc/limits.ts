import { DEFAULT_LIMITS } from '../http2/connection/limits.ts';

/** Limits on the calls of one connection. Every limit has a test that shows what a peer that exceeds it sees. */
export interface CallLimits {
  /**
   * The request message must be complete within this time after the headers, in milliseconds. In a stream of requests,
   * each message has this time from its first octet.
   */
  readonly requestMs: number;
  /** Maximum bytes of unfinished requests, frames and header sections of one connection. */
  readonly maxHeldBytes: number;
  /** Response bytes of a call with a stream of responses that may wait for the caller. With more, the call fails. */
  readonly maxStreamQueuedBytes: number;
  /** Response bytes of a connection that may wait for the peer. Further calls fail if there are more. */
  readonly maxQueuedBytes: number;
  /**
   * Maximum number of calls of a connection that were reset or expired while their methods are still running. Further
   * calls are refused. The limit on streams does not bound such calls, because their streams are closed.
   */
  readonly maxAbandoned: number;
}

export const DEFAULT_CALL_LIMITS: CallLimits = {
  requestMs: 60_000,
  maxHeldBytes: 16 * 1_048_576,
  maxStreamQueuedBytes: 65_536,
  // Calls of a peer that reads slowly fail long before the peer loses its connection.
  maxQueuedBytes: DEFAULT_LIMITS.maxQueuedBytes / 2,
  maxAbandoned: 10_000,
};

/**
 * A limit on the bytes that several holders use together. It can be part of a wider limit: the bytes of one connection
 * also count towards the limit of all connections.
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

  /** Reserves `bytes`. Returns false and reserves nothing if that would exceed the limit. */
  take(bytes: number): boolean {
    if (this.#held + bytes > this.#max) return false;
    if (this.#within !== null && !this.#within.take(bytes)) return false;
    this.#held += bytes;
    return true;
  }

  /** Counts bytes that are already in use, even if they exceed the limit. */
  add(bytes: number): void {
    this.#held += bytes;
    this.#within?.add(bytes);
  }

  release(bytes: number): void {
    this.#held -= bytes;
    this.#within?.release(bytes);
  }
}

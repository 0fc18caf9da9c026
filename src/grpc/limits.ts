/** What the calls of a connection may take of us. Each bound has a test that shows the peer's end. */
export interface CallLimits {
  /** The message of a request must be complete within this time after the headers. */
  readonly requestMs: number;
  /** Bytes of unfinished requests of one connection. */
  readonly maxHeldBytes: number;
  /** Bytes of one stream of answers that may wait for its caller; once there are more, it ends. */
  readonly maxStreamQueuedBytes: number;
  /** Bytes of answers of a connection that wait for its peer; once there are more, further answers fail their calls. */
  readonly maxQueuedBytes: number;
}

export const DEFAULT_CALL_LIMITS: CallLimits = {
  requestMs: 60_000,
  maxHeldBytes: 16 * 1_048_576,
  maxStreamQueuedBytes: 65_536,
  maxQueuedBytes: 16 * 1_048_576,
};

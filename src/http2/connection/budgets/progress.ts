/** How far a connection has come. */
export interface Progress {
  /**
   * The time at which it is told something, in milliseconds since it began: the transport reads the clock once for each
   * read of the socket, and numbers as small as these are kept without memory of their own.
   */
  nowMs: number;
  /** Well formed requests so far. */
  requests: number;
  /** Work of the frames of the last read; see `LEAST_FRAME_WORK`. */
  work: number;
}

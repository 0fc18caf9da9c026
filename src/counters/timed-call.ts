/** A call of a store for one batch, as its span describes it. Plain data. */
export interface TimedCall {
  /** When it began, in milliseconds since the epoch. */
  readonly beganMs: number;
  /** With fractions. */
  readonly durationMs: number;
  /** Number of keys, and how many of them are counted in the separate store for limits per second. */
  readonly keys: number;
  readonly keysPerSecond: number;
  /** Null if all keys were counted. */
  readonly failure: CallFailure | null;
}

/** Why keys of a batch were not counted. */
export interface CallFailure {
  /** `timeout`, `partial` if some keys were counted, or the code of the fault. */
  readonly type: string;
  readonly message: string;
}

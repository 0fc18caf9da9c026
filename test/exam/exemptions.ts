/** What a counter store cannot do by its nature, each with the reason. */
export interface Exemptions {
  /** Keys of any bytes and any length. */
  readonly anyKey?: string;
  /** Counts that are exact for batches in flight together. */
  readonly concurrently?: string;
  /** Counts that are exact up to 2^53 - 1, and not only up to 2^53 - 49. */
  readonly lastCounts?: string;
  /** Sliding windows and token buckets, where only the hits of requests that fit are added. */
  readonly admission?: string;
  /** Hits that are held for a holder. */
  readonly leases?: string;
  /** Leases that end by the time of the batch, and not by a clock of the store. */
  readonly batchClock?: string;
  /** Requests of one batch with several limits, one of them with leases, that are decided as if each were alone. */
  readonly leaseBatches?: string;
}

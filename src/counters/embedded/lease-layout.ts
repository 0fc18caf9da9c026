/**
 * The layout of a book of leases, from an offset that is a multiple of 8. Numbers of accounts and leases are stored plus
 * one, so that memory that was never written says "none":
 *
 *     header            Int32 × 16, see HEADER
 *     account buckets   Int32 × size
 *     lease buckets     Int32 × size
 *     accounts          Int32 × 12, see ACCOUNT
 *     leases            Int32 × 12, see RECORD
 *     account numbers   Float64 × 2: hits that are held in the window of the account, end of that window in seconds
 *     lease numbers     Float64 × 3: hits, end in milliseconds, end of the window in which the lease began, in seconds
 *     names             128 bytes for each lease
 */

/** The words of the header. */
export const HEADER = {
  lock: 0,
  /** The first place that was given back + 1, and the number of places that were ever used. */
  freeLease: 1,
  usedLeases: 2,
  freeAccount: 3,
  usedAccounts: 4,
  count: 5,
  cursor: 6,
  numbered: 7,
  words: 16,
} as const;

/** Records that are chained in buckets, and when they are free. */
export interface Chained {
  readonly words: number;
  readonly next: number;
}

/** The words of an account. The first three are the fingerprint of the key. */
export const ACCOUNT = {
  next: 3,
  /** Number of leases. */
  count: 4,
  /** For each state of `LEASE`, except none: the first and the last lease + 1. */
  heads: 5,
  /** Number of live leases. */
  live: 11,
  words: 12,
} as const;

/** The words of a lease. */
export const RECORD = {
  account: 0,
  /** The fingerprint of the name of the holder: three words. */
  print: 1,
  state: 4,
  next: 5,
  /** The leases before and after it in the list of its state, + 1. */
  sooner: 6,
  later: 7,
  nameLength: 8,
  words: 12,
} as const;

/** Removes a record from the chain of a bucket. */
export function unlink(
  buckets: Int32Array,
  bucket: number,
  records: Int32Array,
  { words, next }: Chained,
  record: number,
): void {
  const following = records[record * words + next];
  let at = buckets[bucket] - 1;
  if (at === record) {
    buckets[bucket] = following;
    return;
  }
  while (at >= 0) {
    const link = at * words + next;
    at = records[link] - 1;
    if (at === record) records[link] = following;
  }
}

import type { Columns } from './columns.ts';
import { TEXT_BYTES } from './key-text.ts';

/** Number of entries of a bucket. */
export const WAYS = 16;

/** A key with the hits of one sample. */
export interface KeySample {
  /** Identifies the key among those of its rule: two words of a keyed hash. */
  tag: number;
  check: number;
  /** Identifies the rule, in all loads that have it: two words of a keyed hash of its path. */
  ruleA: number;
  ruleB: number;
  /** Number of the limit; -1 for an override. */
  limit: number;
  /** Hits, and those of them that were over the limit, times the sampling interval. */
  hits: number;
  refused: number;
  /** Variance of `hits` due to sampling. */
  variance: number;
  /** The text of the key, of `TEXT_BYTES`. */
  readonly text: Uint8Array;
}

/**
 * A summary of the keys with the most hits: Space-Saving (Metwally, Agrawal, El Abbadi: "Efficient computation of frequent
 * and top-k elements in data streams", ICDT 2005) in buckets of {@link WAYS} entries each. A key that is not in its bucket
 * replaces the one with the smallest count, and takes over the count as its possible error. So the hits of a key are
 * between `hits` and `hits + over`, and a key that is not in a full bucket has at most the smallest count of the bucket,
 * which is at most 1/16 of the hits of the bucket.
 */
export class KeyTable {
  readonly buckets: number;
  readonly tag: Int32Array;
  readonly check: Int32Array;
  readonly ruleA: Int32Array;
  readonly ruleB: Int32Array;
  readonly limit: Int32Array;
  /** Hits since the key entered the table; 0 for an unused entry. */
  readonly hits: Float64Array;
  readonly refused: Float64Array;
  /** Count of the key that was replaced. */
  readonly over: Float64Array;
  readonly variance: Float64Array;
  readonly text: Uint8Array;

  constructor(columns: Columns, buckets: number) {
    const entries = buckets * WAYS;
    this.buckets = buckets;
    this.tag = columns.int32(entries);
    this.check = columns.int32(entries);
    this.ruleA = columns.int32(entries);
    this.ruleB = columns.int32(entries);
    this.limit = columns.int32(entries);
    this.hits = columns.float64(entries);
    this.refused = columns.float64(entries);
    this.over = columns.float64(entries);
    this.variance = columns.float64(entries);
    this.text = columns.bytes(entries * TEXT_BYTES);
  }

  clear(): void {
    this.hits.fill(0);
    this.over.fill(0);
    this.tag.fill(0);
  }

  /** Adds the hits of a sample, which are more than 0, to its key in a bucket. */
  add(bucket: number, sample: KeySample): void {
    const first = bucket * WAYS;
    const end = first + WAYS;
    for (let entry = first; entry < end; entry++) {
      if (this.tag[entry] === sample.tag && this.isKey(entry, sample)) {
        this.hits[entry] += sample.hits;
        this.refused[entry] += sample.refused;
        this.variance[entry] += sample.variance;
        this.limit[entry] = sample.limit;
        return;
      }
    }
    this.#replace(this.leastOf(bucket), sample);
  }

  /** Whether an entry whose tag is that of the key belongs to the key. */
  isKey(entry: number, { check, ruleA, ruleB }: Pick<KeySample, 'check' | 'ruleA' | 'ruleB'>): boolean {
    if (this.check[entry] !== check || this.hits[entry] === 0) return false;
    return this.ruleA[entry] === ruleA && this.ruleB[entry] === ruleB;
  }

  /** The entry of a bucket with the smallest count, or an unused one. */
  leastOf(bucket: number): number {
    const first = bucket * WAYS;
    let least = first;
    let leastCount = this.hits[first] + this.over[first];
    for (let entry = first + 1; entry < first + WAYS && leastCount > 0; entry++) {
      const count = this.hits[entry] + this.over[entry];
      if (count >= leastCount) continue;
      least = entry;
      leastCount = count;
    }
    return least;
  }

  #replace(entry: number, sample: KeySample): void {
    const isUsed = this.hits[entry] > 0;
    this.over[entry] += this.hits[entry];
    this.variance[entry] = sample.variance + (isUsed ? this.variance[entry] : 0);
    this.tag[entry] = sample.tag;
    this.check[entry] = sample.check;
    this.ruleA[entry] = sample.ruleA;
    this.ruleB[entry] = sample.ruleB;
    this.limit[entry] = sample.limit;
    this.hits[entry] = sample.hits;
    this.refused[entry] = sample.refused;
    this.text.set(sample.text, entry * TEXT_BYTES);
  }
}

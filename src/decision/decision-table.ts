import { doubled } from '../base/columns.ts';

const INITIAL_ROWS = 64;

/** What a descriptor turned out to be. A rule that another rule of the request replaces counts as none. */
export const KIND = { none: 0, limited: 1, unlimited: 2 } as const;

/** `RateLimitResponse.Code`. */
export const CODE = { ok: 1, overLimit: 2 } as const;

/**
 * What is known of each descriptor of a batch, in columns; rows are those of the `RequestTable`.
 * `plan` fills the left half before the store is asked, `settle` the right half afterwards.
 */
export class DecisionTable {
  /** {@link KIND}. */
  kind = new Uint8Array(INITIAL_ROWS);
  /** Number of the rule's limit; -1 for an override. */
  limit = new Int32Array(INITIAL_ROWS);
  requestsPerUnit = new Float64Array(INITIAL_ROWS);
  unit = new Uint8Array(INITIAL_ROWS);
  /** `LIMIT_FLAG` bits of the rule; 0 for an override. */
  flags = new Int32Array(INITIAL_ROWS);
  hits = new Float64Array(INITIAL_ROWS);
  /** Where the cache key lies in the batch's keys. */
  keyStart = new Int32Array(INITIAL_ROWS);
  keyEnd = new Int32Array(INITIAL_ROWS);
  /** The op that counts this descriptor; -1 when the local cache knows it to be over its limit. */
  op = new Int32Array(INITIAL_ROWS);
  /** What `RefundMarks` said of the key before the store was asked; only where there is a local cache. */
  mark = new Int32Array(INITIAL_ROWS);
  /** The row of statistics: totals (see `shared-totals.ts`) and the slot that the row begins at. */
  statistics: Int32Array[] = [];
  statisticsBase = new Int32Array(INITIAL_ROWS);

  /** {@link CODE} of the status. */
  code = new Uint8Array(INITIAL_ROWS);
  remaining = new Float64Array(INITIAL_ROWS);

  /** Makes room for `rows` rows; what is there is not kept. */
  reserve(rows: number): void {
    while (this.kind.length < rows) {
      this.kind = doubled(this.kind, Uint8Array);
      this.limit = doubled(this.limit, Int32Array);
      this.requestsPerUnit = doubled(this.requestsPerUnit, Float64Array);
      this.unit = doubled(this.unit, Uint8Array);
      this.flags = doubled(this.flags, Int32Array);
      this.hits = doubled(this.hits, Float64Array);
      this.keyStart = doubled(this.keyStart, Int32Array);
      this.keyEnd = doubled(this.keyEnd, Int32Array);
      this.op = doubled(this.op, Int32Array);
      this.mark = doubled(this.mark, Int32Array);
      this.statisticsBase = doubled(this.statisticsBase, Int32Array);
      this.code = doubled(this.code, Uint8Array);
      this.remaining = doubled(this.remaining, Float64Array);
    }
  }
}

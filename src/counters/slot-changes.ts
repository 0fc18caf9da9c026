import { doubleColumns } from '../base/bytes.ts';

/** The most hits that are added to a count at once. All whole numbers up to this one are exact. */
export const MOST_HITS = Number.MAX_SAFE_INTEGER;

/**
 * The changes to the count of each slot: `refunds` are subtracted from the stored count, which stops at 0, then `amounts`
 * are added. These two numbers represent any sequence of hits and refunds: a refund first takes back earlier hits of the
 * sequence, and only its rest reaches the stored count.
 */
export class SlotChanges {
  /** Hits to add. */
  amounts: Float64Array<ArrayBuffer>;
  /** Hits to subtract from the stored count. */
  refunds: Float64Array<ArrayBuffer>;
  /** 1 if hits are added, even 0 hits. A key that is only refunded is not created. */
  opens: Uint8Array<ArrayBuffer>;

  constructor(slots: number) {
    this.amounts = new Float64Array(slots);
    this.refunds = new Float64Array(slots);
    this.opens = new Uint8Array(slots);
  }

  /** Whether the slot needs more than an addition. */
  givesBack(slot: number): boolean {
    return this.refunds[slot] > 0 || this.opens[slot] === 0;
  }

  /** Appends hits to the changes of a slot, up to {@link MOST_HITS}. */
  add(slot: number, hits: number): void {
    const amount = this.amounts[slot] + hits;
    this.amounts[slot] = amount < MOST_HITS ? amount : MOST_HITS;
    this.opens[slot] = 1;
  }

  /** Appends a refund to the changes of a slot. */
  giveBack(slot: number, hits: number): void {
    const fromHere = Math.min(this.amounts[slot], hits);
    this.amounts[slot] -= fromHere;
    this.refunds[slot] += hits - fromHere;
  }

  clear(slot: number): void {
    this.amounts[slot] = 0;
    this.refunds[slot] = 0;
    this.opens[slot] = 0;
  }

  grow(): void {
    doubleColumns(this, ['amounts', 'refunds', 'opens']);
  }
}

/** The count after a refund, which never goes below 0. */
export function afterRefund(count: number, hits: number): number {
  return count - Math.min(hits, Math.max(count, 0));
}

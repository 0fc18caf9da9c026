import { doubled } from '../base/columns.ts';

/**
 * What is to be done to the count of each slot: `refunds` come off the count that is there, which stops at 0, and then
 * `amounts` are added. Any sequence of hits and refunds comes down to these two numbers: a refund takes back hits that
 * came before it in the sequence first, and only the rest of it reaches what was there before.
 */
export class SlotChanges {
  /** Hits to add. */
  amounts: Float64Array<ArrayBuffer>;
  /** Hits to take off what is there before. */
  refunds: Float64Array<ArrayBuffer>;
  /** 1 when there are hits to add, be it 0 of them. A key that is only refunded stays absent when it is. */
  opens: Uint8Array<ArrayBuffer>;

  constructor(slots: number) {
    this.amounts = new Float64Array(slots);
    this.refunds = new Float64Array(slots);
    this.opens = new Uint8Array(slots);
  }

  /** True when the slot needs more than an addition. */
  givesBack(slot: number): boolean {
    return this.refunds[slot] > 0 || this.opens[slot] === 0;
  }

  /** Appends hits to what is done to a slot. */
  add(slot: number, hits: number): void {
    this.amounts[slot] += hits;
    this.opens[slot] = 1;
  }

  /** Appends a refund to what is done to a slot. */
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
    this.amounts = doubled(this.amounts, Float64Array);
    this.refunds = doubled(this.refunds, Float64Array);
    this.opens = doubled(this.opens, Uint8Array);
  }
}

/** The count after a refund: it never takes more than there is. */
export function afterRefund(count: number, hits: number): number {
  return count - Math.min(hits, Math.max(count, 0));
}

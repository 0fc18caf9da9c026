import { ByteWriter, doubled, grownCapacity } from '../base/bytes.ts';
import { Fingerprinter, type FingerprintKey } from './fingerprint.ts';
import { SECOND } from './window.ts';

const INITIAL_OPS = 256;

/** Changes the identity of a key, so that a limit per second and another one do not share a slot. */
const APART = 0x5ec0_11d5;

/** What is to be counted under a key. */
export interface CounterOp {
  readonly hits: number;
  /** The hits are given back: they come off the count, which stops at 0. */
  readonly isRefund: boolean;
  /** `requests_per_unit` of the limit. */
  readonly limit: number;
  /** Unit of the limit. */
  readonly unit: number;
  readonly ttlS: number;
  readonly expiryS: number;
}

/**
 * The counting of one batch of requests, as columns.
 *
 * An *op* is one descriptor that counts: a key, hits, a limit. Ops of equal keys share one *slot*, so the store sees
 * each key once, with what all its ops change; the count after each op follows from its place in the batch, as if the
 * requests had come one after the other. The ops of one request are a *group* (needed only for holding back).
 */
export class CounterBatch {
  /** Whole seconds since the epoch; one reading for the whole batch. */
  nowS = 0;

  slotCount = 0;
  /** Keys of all slots, one after the other: slot `s` is `keys.bytes[keyEnds[s - 1], keyEnds[s])`. */
  readonly keys = new ByteWriter(16_384);
  keyEnds = new Int32Array(INITIAL_OPS);
  /** What all ops do to each slot, in order. */
  readonly changes = new SlotChanges(INITIAL_OPS);
  /** Seconds that the store keeps the count; the largest that an op asked for. */
  ttls = new Int32Array(INITIAL_OPS);
  /** Last second, exclusive, in which the count matters: the end of the window. */
  expiries = new Float64Array(INITIAL_OPS);
  /** Identity of the key: three 32-bit words a slot. */
  prints = new Int32Array(INITIAL_OPS * 3);
  /** Unit of the window that ends last; numbers as in `window.ts`. */
  units = new Uint8Array(INITIAL_OPS);
  /** Filled by the store: the count before the batch; NaN when this key could not be counted. */
  counts = new Float64Array(INITIAL_OPS);

  opCount = 0;
  opSlots = new Int32Array(INITIAL_OPS);
  opHits = new Float64Array(INITIAL_OPS);
  /** 1 when the op gives its hits back. */
  opRefunds = new Uint8Array(INITIAL_OPS);
  /** How many ops give hits back. */
  refundCount = 0;
  /** `requests_per_unit` of the op's limit. */
  opLimits = new Float64Array(INITIAL_OPS);
  /** The count right after this op; NaN when its key could not be counted. */
  opAfters = new Float64Array(INITIAL_OPS);
  /** 1 when holding back kept the op's hits from being added. */
  opHeld = new Uint8Array(INITIAL_OPS);

  groupCount = 0;
  /** Ops of group `g` are `[groupEnds[g - 1], groupEnds[g])`. */
  groupEnds = new Int32Array(INITIAL_OPS);
  /** 1 when a descriptor of the request is known to be over its limit, so that nothing of the group is added. */
  groupHeld = new Uint8Array(INITIAL_OPS);

  /** True when limits per second have a store of their own, where equal keys are others. */
  secondsApart = false;

  /** Filled by the store: why a key could not be counted, in its own words; of several keys the first. Else empty. */
  failureText = '';

  /** Open addressing over slots: slot + 1, 0 for free. Twice as large as the number of slots can be. */
  #index = new Int32Array(INITIAL_OPS * 4);
  readonly #print: Fingerprinter;

  constructor(key: FingerprintKey) {
    this.#print = new Fingerprinter(key);
  }

  reset(nowS: number): void {
    this.nowS = nowS;
    this.#clearIndex();
    this.slotCount = 0;
    this.opCount = 0;
    this.refundCount = 0;
    this.groupCount = 0;
    this.failureText = '';
    this.keys.reset();
  }

  /** Adds an op for the key `bytes[start, end)` and returns its number. */
  addOp(bytes: Uint8Array, range: { readonly start: number; readonly end: number }, op: CounterOp): number {
    if (this.opCount === this.opSlots.length) this.#growOps();
    this.#print.take(bytes, range.start, range.end);
    if (this.secondsApart && op.unit === SECOND) this.#print.a ^= APART;
    const slot = this.#slotOf(bytes, range.start, range.end);
    if (op.isRefund) {
      this.changes.giveBack(slot, op.hits);
      this.refundCount++;
    } else this.changes.add(slot, op.hits);
    if (op.ttlS > this.ttls[slot]) this.ttls[slot] = op.ttlS;
    if (op.expiryS > this.expiries[slot]) {
      this.expiries[slot] = op.expiryS;
      this.units[slot] = op.unit;
    }
    const number = this.opCount++;
    this.opSlots[number] = slot;
    this.opHits[number] = op.hits;
    this.opRefunds[number] = op.isRefund ? 1 : 0;
    this.opLimits[number] = op.limit;
    this.opHeld[number] = 0;
    return number;
  }

  /** Closes the group of the ops added since the last one. */
  endGroup(held: boolean): void {
    if (this.groupCount === this.groupEnds.length) {
      this.groupEnds = doubled(this.groupEnds, Int32Array);
      this.groupHeld = doubled(this.groupHeld, Uint8Array);
    }
    this.groupEnds[this.groupCount] = this.opCount;
    this.groupHeld[this.groupCount++] = held ? 1 : 0;
  }

  keyStart(slot: number): number {
    return slot === 0 ? 0 : this.keyEnds[slot - 1];
  }

  /** The key of a slot as text; keys are valid UTF-8. */
  keyText(slot: number): string {
    const bytes = this.keys.bytes;
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString(
      'utf8',
      this.keyStart(slot),
      this.keyEnds[slot],
    );
  }

  /** Works out `opAfters` from `counts`, op by op; `counts` then hold what the batch leaves. For stores that change whole slots. */
  spreadCounts(): void {
    const { counts, opSlots, opHits, opAfters } = this;
    if (this.refundCount > 0) {
      for (let op = 0; op < this.opCount; op++) this.spreadOp(op);
      return;
    }
    for (let op = 0; op < this.opCount; op++) {
      const slot = opSlots[op];
      counts[slot] += opHits[op];
      opAfters[op] = counts[slot];
    }
  }

  /** A word of the fingerprint of an op's key, by which `RefundMarks` know it. */
  markWord(op: number): number {
    return this.prints[this.opSlots[op] * 3 + 1];
  }

  /** Lets an op change the count of its slot, and fills in its `opAfters`. */
  spreadOp(op: number): void {
    const slot = this.opSlots[op];
    const hits = this.opHits[op];
    const count = this.counts[slot];
    this.counts[slot] = this.opRefunds[op] === 1 ? afterRefund(count, hits) : count + hits;
    this.opAfters[op] = this.counts[slot];
  }

  #slotOf(bytes: Uint8Array, start: number, end: number): number {
    const print = this.#print;
    const mask = this.#index.length - 1;
    for (let at = print.a & mask; ; at = (at + 1) & mask) {
      const slot = this.#index[at] - 1;
      if (slot < 0) return this.#addSlot(bytes, start, end, at);
      const base = slot * 3;
      if (
        this.prints[base] === print.a &&
        this.prints[base + 1] === print.b &&
        this.prints[base + 2] === print.c
      ) {
        return slot;
      }
    }
  }

  #addSlot(bytes: Uint8Array, start: number, end: number, at: number): number {
    const slot = this.slotCount++;
    this.#index[at] = slot + 1;
    this.keys.copy(bytes, start, end);
    this.keyEnds[slot] = this.keys.length;
    this.prints[slot * 3] = this.#print.a;
    this.prints[slot * 3 + 1] = this.#print.b;
    this.prints[slot * 3 + 2] = this.#print.c;
    this.changes.clear(slot);
    this.ttls[slot] = 0;
    this.expiries[slot] = 0;
    return slot;
  }

  /** Takes every slot out of the index: by its own place, because the index may be far larger than this batch was. */
  #clearIndex(): void {
    const mask = this.#index.length - 1;
    for (let slot = 0; slot < this.slotCount; slot++) {
      let at = this.prints[slot * 3] & mask;
      while (this.#index[at] !== slot + 1) at = (at + 1) & mask;
      this.#index[at] = 0;
    }
  }

  #growOps(): void {
    this.opSlots = doubled(this.opSlots, Int32Array);
    this.opHits = doubled(this.opHits, Float64Array);
    this.opRefunds = doubled(this.opRefunds, Uint8Array);
    this.opLimits = doubled(this.opLimits, Float64Array);
    this.opAfters = doubled(this.opAfters, Float64Array);
    this.opHeld = doubled(this.opHeld, Uint8Array);
    this.keyEnds = doubled(this.keyEnds, Int32Array);
    this.changes.grow();
    this.ttls = doubled(this.ttls, Int32Array);
    this.expiries = doubled(this.expiries, Float64Array);
    this.units = doubled(this.units, Uint8Array);
    this.counts = doubled(this.counts, Float64Array);
    this.prints = doubled(this.prints, Int32Array);
    this.#index = new Int32Array(grownCapacity(this.#index.length, this.opSlots.length * 4));
    const mask = this.#index.length - 1;
    for (let slot = 0; slot < this.slotCount; slot++) {
      let at = this.prints[slot * 3] & mask;
      while (this.#index[at] !== 0) at = (at + 1) & mask;
      this.#index[at] = slot + 1;
    }
  }
}

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

/** Requests of a batch that have something to count. */
export function callsOf(batch: CounterBatch): number {
  let calls = 0;
  let first = 0;
  for (let group = 0; group < batch.groupCount; group++) {
    const end = batch.groupEnds[group];
    if (end > first) calls++;
    first = end;
  }
  return calls;
}

/** Requests of a batch with a key that has no count. */
export function callsWithoutCount(batch: CounterBatch): number {
  let calls = 0;
  let first = 0;
  for (let group = 0; group < batch.groupCount; group++) {
    const end = batch.groupEnds[group];
    for (let op = first; op < end; op++) {
      if (!Number.isNaN(batch.counts[batch.opSlots[op]])) continue;
      calls++;
      break;
    }
    first = end;
  }
  return calls;
}

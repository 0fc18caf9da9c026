import { createHash } from 'node:crypto';
import { ByteWriter, grownCapacity } from '../../base/bytes.ts';
import { ACTION, type LeaseTerms, STEP } from './lease.ts';

/** Maximum number of bytes of the name of a holder. Longer names are cut, and end with a digest of the whole name. */
export const LONGEST_NAME = 128;
const LONGEST_HEAD = 64;
const DIGEST_DIGITS = 32;

/** What an op says about the lease that it takes or ends. */
export interface OpLease {
  /** {@link ACTION}. */
  readonly action: number;
  /** The name of the holder is `bytes[start, end)`; empty for none. */
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
}

/**
 * The leases of the ops and slots of a batch, in columns with the numbers of the batch. Ops with equal keys and different
 * holders share a slot.
 */
export class OpLeases {
  /** Number of ops with a lease. While it is 0, no column has to be read, and none has memory. */
  count = 0;

  /** By op: {@link ACTION}. */
  actions = new Uint8Array(0);
  /** By op: the name of the holder is `holders.bytes[holderStarts[op], holderEnds[op])`; empty for none. */
  holderStarts = new Int32Array(0);
  holderEnds = new Int32Array(0);
  readonly holders = new ByteWriter();

  /** Set by the store, by op: {@link STEP}, what the op has done, or would have done if it was refused. */
  steps = new Uint8Array(0);
  /** Set by the store, by op: the hits to hold, to spend, to free or to give back. */
  hits = new Float64Array(0);
  /** Set by the store, by op: the hits that it spent, or would have spent if the window of its lease had not ended. */
  spent = new Float64Array(0);
  /** Set by the store, by op: the hits that it held in addition, or those of the lease that it settled. */
  held = new Float64Array(0);

  /** Set by the store, by slot: the hits that are held, a part of the level. */
  slotHeld = new Float64Array(0);
  /** Set by the store, by slot: milliseconds until the first of its leases ends; 0 without leases. */
  slotEndsMs = new Float64Array(0);
  /** Set by the store, by slot: the hits of leases that it found to have expired without being settled. */
  slotExpired = new Float64Array(0);

  /** For a store, by slot: the hits that ops of the present request are going to add. */
  slotPending = new Float64Array(0);

  readonly #terms: LeaseTerms[] = [];

  reset(): void {
    this.count = 0;
    this.holders.reset();
  }

  /** Sets the terms of a new slot. */
  open(slot: number, terms: LeaseTerms): void {
    while (this.#terms.length < slot) this.#terms.push(terms);
    this.#terms[slot] = terms;
    if (slot >= this.slotHeld.length) this.#growSlots(slot + 1);
    this.slotHeld[slot] = 0;
    this.slotEndsMs[slot] = 0;
    this.slotExpired[slot] = 0;
  }

  /** The terms of a slot with leases. */
  of(slot: number): LeaseTerms {
    return this.#terms[slot];
  }

  /** Sets the lease of an op. Ops without one, between those with one, have the action `any` and no holder. */
  add(op: number, { action, bytes, start, end }: OpLease): void {
    if (op >= this.actions.length) this.#growOps(op + 1);
    this.count++;
    this.actions[op] = action;
    this.holderStarts[op] = this.holders.length;
    if (end - start <= LONGEST_NAME) this.holders.copy(bytes, start, end);
    else this.#addLong(bytes.subarray(start, end));
    this.holderEnds[op] = this.holders.length;
    this.steps[op] = STEP.nothing;
    this.hits[op] = 0;
    this.spent[op] = 0;
    this.held[op] = 0;
  }

  /** The lease of an op as it was added, for another batch. */
  leaseOf(op: number): OpLease {
    const { bytes } = this.holders;
    return { action: this.actions[op], bytes, start: this.holderStarts[op], end: this.holderEnds[op] };
  }

  /** Whether an op names the holder of its lease. */
  isNamed(op: number): boolean {
    return this.holderEnds[op] > this.holderStarts[op];
  }

  /** Whether an op can be refused: it holds or spends hits only if they fit. Valid once the step is set. */
  isRefusable(op: number): boolean {
    const step = this.steps[op];
    return step === STEP.take || step === STEP.spend || step === STEP.ask;
  }

  /** The first characters of a long name, `~`, and the first digits of its SHA-256. */
  #addLong(name: Uint8Array): void {
    let end = LONGEST_HEAD;
    // The following bytes of a character in UTF-8 begin with the bits 10.
    while ((name[end] & 0xc0) === 0x80) end--;
    this.holders.copy(name, 0, end);
    this.holders.text(`~${createHash('sha256').update(name).digest('hex').slice(0, DIGEST_DIGITS)}`);
  }

  #growOps(least: number): void {
    const capacity = grownCapacity(this.actions.length, least);
    this.actions = grown(this.actions, new Uint8Array(capacity));
    this.steps = grown(this.steps, new Uint8Array(capacity));
    this.holderStarts = grown(this.holderStarts, new Int32Array(capacity));
    this.holderEnds = grown(this.holderEnds, new Int32Array(capacity));
    this.hits = grown(this.hits, new Float64Array(capacity));
    this.spent = grown(this.spent, new Float64Array(capacity));
    this.held = grown(this.held, new Float64Array(capacity));
  }

  #growSlots(least: number): void {
    const capacity = grownCapacity(this.slotHeld.length, least);
    this.slotHeld = grown(this.slotHeld, new Float64Array(capacity));
    this.slotEndsMs = grown(this.slotEndsMs, new Float64Array(capacity));
    this.slotPending = grown(this.slotPending, new Float64Array(capacity));
    this.slotExpired = grown(this.slotExpired, new Float64Array(capacity));
  }
}

function grown<C extends Uint8Array | Int32Array | Float64Array>(column: C, larger: C): C {
  larger.set(column);
  return larger;
}

import { ByteWriter, doubleColumns, grownCapacity } from '../base/bytes.ts';
import { ADMISSION, type AdmissionTerms, levelAfterRefund, REFUSED } from './admission/admission.ts';
import { AdmissionSlots } from './admission/admission-slots.ts';
import { Fingerprinter, type FingerprintKey } from './fingerprint.ts';
import { type OpLease, OpLeases } from './leases/op-leases.ts';
import { afterRefund, SlotChanges } from './slot-changes.ts';
import type { TimedCall } from './timed-call.ts';
import { SECOND } from './window.ts';

const INITIAL_OPS = 256;

/** Changes the fingerprint of a key with a per-second limit, so that it does not share a slot with other limits. */
const APART = 0x5ec0_11d5;

/** The limit of an op that never holds back the others of its request: more than every count. */
export const NEVER_FULL = Number.POSITIVE_INFINITY;

/** The hits to count under a key. */
export interface CounterOp {
  readonly hits: number;
  /** The hits are given back: they are subtracted from the count, which stops at 0. */
  readonly isRefund: boolean;
  /** `requests_per_unit` of the limit; {@link NEVER_FULL} if the limit holds nothing back. */
  readonly limit: number;
  /** Unit of the limit; 0 if its key is never that of a limit of another window. */
  readonly unit: number;
  readonly ttlS: number;
  readonly expiryS: number;
  /** The terms under which the store admits the hits; null, the default, if it adds all of them. */
  readonly terms?: AdmissionTerms | null;
  /** Only for terms with leases. */
  readonly lease?: OpLease | null;
}

/**
 * The counter operations of one batch of requests, in columns.
 *
 * An *op* is one descriptor to count: a key, hits, a limit. Ops with equal keys share one *slot*, so the store sees each
 * key once, with the changes of all its ops. The count after each op follows from its position in the batch, as if the
 * requests had arrived one after the other. The ops of one request are a *group*, which matters only for holding back.
 */
export class CounterBatch {
  /** Seconds since the epoch, the same for the whole batch. */
  nowS = 0;
  /** The same time in milliseconds. */
  nowMs = 0;

  slotCount = 0;
  /** Keys of all slots. The key of slot `s` is `keys.bytes[keyEnds[s - 1], keyEnds[s])`. */
  readonly keys = new ByteWriter(16_384);
  keyEnds = new Int32Array(INITIAL_OPS);
  /** The changes of all ops to each slot. */
  readonly changes = new SlotChanges(INITIAL_OPS);
  /** Time to live of the count, in seconds: the maximum of the ops. */
  ttls = new Int32Array(INITIAL_OPS);
  /** End of the window, in seconds since the epoch. */
  expiries = new Float64Array(INITIAL_OPS);
  /** Fingerprint of the key: three 32-bit words per slot. */
  prints = new Int32Array(INITIAL_OPS * 3);
  /** Unit of the window that ends last; see `window.ts`. */
  units = new Uint8Array(INITIAL_OPS);
  /** The slots whose hits the store admits. */
  readonly admissions = new AdmissionSlots(INITIAL_OPS);
  /** The leases of the ops and slots. */
  readonly leases = new OpLeases();
  /** Set by the store: the count or the level before the batch; NaN if the key could not be counted. */
  counts = new Float64Array(INITIAL_OPS);

  opCount = 0;
  opSlots = new Int32Array(INITIAL_OPS);
  opHits = new Float64Array(INITIAL_OPS);
  /** 1 if the op gives its hits back. */
  opRefunds = new Uint8Array(INITIAL_OPS);
  /** Number of ops that give hits back. */
  refundCount = 0;
  /** `requests_per_unit` of the limit of the op, or {@link NEVER_FULL}. */
  opLimits = new Float64Array(INITIAL_OPS);
  /** The count or the level after the op; NaN if the key could not be counted. */
  opAfters = new Float64Array(INITIAL_OPS);
  /** {@link REFUSED}: whether the store did not admit the hits of the op. Set only for slots of `admissions`. */
  opRefused = new Uint8Array(INITIAL_OPS);
  /** Units that the op leaves free; see `AdmissionTerms.reserve`. Set only for slots of `admissions`. */
  opReserves = new Float64Array(INITIAL_OPS);
  /** 1 if the hits of the op were held back. */
  opHeld = new Uint8Array(INITIAL_OPS);

  groupCount = 0;
  /** The ops of group `g` are `[groupEnds[g - 1], groupEnds[g])`. */
  groupEnds = new Int32Array(INITIAL_OPS);
  /** 1 if a descriptor of the request is already known to be over its limit, so that all hits are held back. */
  groupHeld = new Uint8Array(INITIAL_OPS);

  /** True if per-second limits are counted in a separate store, where equal keys are different counters. */
  secondsApart = false;

  /** Set by the store: the reason why the first of the uncounted keys could not be counted. Else empty. */
  failureText = '';

  /** Set by the store: keys were counted in this process instead, so their counts hold only until the store is available. */
  countedElsewhere = false;
  /** 1 if the key of the op is one of them. Set only if `countedElsewhere`. */
  opElsewhere = new Uint8Array(INITIAL_OPS);

  /** Set by the store if tracing is enabled: the call for this batch. Else null. */
  timedCall: TimedCall | null = null;

  /** Open addressing table of slots: slot + 1, 0 for free. At most half full. */
  #index = new Int32Array(INITIAL_OPS * 4);
  readonly #print: Fingerprinter;

  constructor(key: FingerprintKey) {
    this.#print = new Fingerprinter(key);
  }

  /** @param nowMs milliseconds since the epoch, a whole number */
  reset(nowMs: number): void {
    this.nowMs = nowMs;
    this.nowS = Math.floor(nowMs / 1_000);
    this.#clearIndex();
    this.slotCount = 0;
    this.opCount = 0;
    this.refundCount = 0;
    this.groupCount = 0;
    this.failureText = '';
    this.countedElsewhere = false;
    this.timedCall = null;
    this.admissions.reset();
    if (this.leases.count > 0) this.leases.reset();
    this.keys.reset();
  }

  /** Adds an op for the key `bytes[start, end)` and returns its number. */
  addOp(bytes: Uint8Array, range: { readonly start: number; readonly end: number }, op: CounterOp): number {
    if (this.opCount === this.opSlots.length) this.#growOps();
    this.#print.take(bytes, range.start, range.end);
    if (this.secondsApart && op.unit === SECOND) this.#print.a ^= APART;
    const slot = this.#slotOf(bytes, range, op.terms ?? null);
    if (this.admissions.isLeased(slot)) {
      this.leases.add(this.opCount, op.lease!);
      this.opReserves[this.opCount] = 0;
    } else if (this.admissions.kinds[slot] !== ADMISSION.count) {
      const reserve = op.terms?.reserve ?? 0;
      this.admissions.addRequest(slot, op.hits, op.isRefund, reserve);
      this.opReserves[this.opCount] = reserve;
      if (op.isRefund) this.refundCount++;
    } else if (op.isRefund) {
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
    this.opRefused[number] = 0;
    return number;
  }

  /** Ends the group of the ops added since the last group. */
  endGroup(held: boolean): void {
    if (this.groupCount === this.groupEnds.length) doubleColumns(this, ['groupEnds', 'groupHeld']);
    this.groupEnds[this.groupCount] = this.opCount;
    this.groupHeld[this.groupCount++] = held ? 1 : 0;
  }

  keyStart(slot: number): number {
    return slot === 0 ? 0 : this.keyEnds[slot - 1];
  }

  /**
   * An op for the key of a slot, with its window and terms.
   * @param reserve see `AdmissionTerms.reserve`
   */
  opFor(slot: number, op: Pick<CounterOp, 'hits' | 'isRefund' | 'limit' | 'lease'>, reserve = 0): CounterOp {
    const times = { unit: this.units[slot], ttlS: this.ttls[slot], expiryS: this.expiries[slot] };
    const { terms } = this.admissions.termsOf(slot, reserve);
    if (terms === undefined) return { ...op, ...times };
    if (terms.admission !== ADMISSION.leased) return { ...op, ...times, terms };
    return { ...op, ...times, terms: { ...terms, lease: this.leases.of(slot) } };
  }

  /** The lease of an op, for {@link opFor}; null for a slot without leases. */
  leaseOf(op: number): OpLease | null {
    return this.admissions.isLeased(this.opSlots[op]) ? this.leases.leaseOf(op) : null;
  }

  /** The fingerprint of the holder of an op; valid until the next fingerprint is taken. */
  holderPrint(op: number): { readonly a: number; readonly b: number; readonly c: number } {
    const { holders, holderStarts, holderEnds } = this.leases;
    this.#print.take(holders.bytes, holderStarts[op], holderEnds[op]);
    return this.#print;
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

  /**
   * Computes `opAfters` from `counts`, op by op. Afterwards, `counts` are the counts after the batch. For stores that
   * change whole slots.
   */
  spreadCounts(): void {
    const { counts, opSlots, opHits, opAfters } = this;
    if (this.refundCount > 0 || this.admissions.count > 0) {
      for (let op = 0; op < this.opCount; op++) this.spreadOp(op);
      return;
    }
    for (let op = 0; op < this.opCount; op++) {
      const slot = opSlots[op];
      counts[slot] += opHits[op];
      opAfters[op] = counts[slot];
    }
  }

  /** Whether the key of an op was counted in this process instead of the store. */
  isCountedElsewhere(op: number): boolean {
    return this.countedElsewhere && this.opElsewhere[op] === 1;
  }

  /** The word of the fingerprint of an op that selects its bucket in `RefundMarks`. */
  markWord(op: number): number {
    return this.prints[this.opSlots[op] * 3 + 1];
  }

  /**
   * Whether an op holds back the others of its request: its hits exceed the limit at the present count or level of its slot.
   * False if that is unknown.
   */
  isFull(op: number): boolean {
    if (this.opLimits[op] === NEVER_FULL) return false;
    const slot = this.opSlots[op];
    const count = this.counts[slot];
    if (this.admissions.kinds[slot] === ADMISSION.count) return count + this.opHits[op] > this.opLimits[op];
    if (Number.isNaN(count)) return false;
    const { penalties } = this.admissions;
    if (penalties.of(slot) !== null && penalties.isActive(slot, this.nowMs)) return true;
    return !this.admissions.fits(slot, count, this.opHits[op], this.opReserves[op]);
  }

  /** The end of the window of a slot with a fixed window that the store admits, in seconds since the epoch. Else 0. */
  windowEndS(slot: number): number {
    const kind = this.admissions.kinds[slot];
    return kind === ADMISSION.fixedWindow || kind === ADMISSION.leased ? this.expiries[slot] : 0;
  }

  /** Applies an op to the count or level of its slot, and sets `opAfters` of the op. */
  spreadOp(op: number): void {
    const slot = this.opSlots[op];
    const hits = this.opHits[op];
    const count = this.counts[slot];
    const isRefund = this.opRefunds[op] === 1;
    if (this.admissions.kinds[slot] !== ADMISSION.count) this.counts[slot] = this.#levelAfter(op, count);
    else this.counts[slot] = isRefund ? afterRefund(count, hits) : count + hits;
    this.opAfters[op] = this.counts[slot];
  }

  /** The level after an op of a slot of `admissions`. Sets `opRefused`. */
  #levelAfter(op: number, level: number): number {
    const { admissions } = this;
    const slot = this.opSlots[op];
    const hits = this.opHits[op];
    const units = hits * admissions.scales[slot];
    if (this.opRefunds[op] === 1) return levelAfterRefund(level, admissions.floors[slot], units);
    const fits = admissions.fits(slot, level, hits, this.opReserves[op]);
    this.opRefused[op] = fits || Number.isNaN(level) ? REFUSED.no : REFUSED.full;
    if (admissions.penalties.of(slot) !== null && !Number.isNaN(level)) {
      const request = { fits, hits, nowMs: this.nowMs, endS: this.windowEndS(slot) };
      if (admissions.penalties.decide(slot, request)) {
        this.opRefused[op] = REFUSED.penalized;
        return level;
      }
    }
    return fits ? level + units : level;
  }

  #slotOf(
    bytes: Uint8Array,
    { start, end }: { readonly start: number; readonly end: number },
    terms: AdmissionTerms | null,
  ): number {
    const print = this.#print;
    const mask = this.#index.length - 1;
    for (let at = print.a & mask; ; at = (at + 1) & mask) {
      const slot = this.#index[at] - 1;
      if (slot < 0) {
        const added = this.#addSlot(bytes, start, end, at);
        this.admissions.open(added, terms);
        if (terms !== null && terms.admission === ADMISSION.leased) this.leases.open(added, terms.lease!);
        return added;
      }
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

  /** Removes slot by slot, because the index can be much larger than the batch. */
  #clearIndex(): void {
    const mask = this.#index.length - 1;
    for (let slot = 0; slot < this.slotCount; slot++) {
      let at = this.prints[slot * 3] & mask;
      while (this.#index[at] !== slot + 1) at = (at + 1) & mask;
      this.#index[at] = 0;
    }
  }

  #growOps(): void {
    doubleColumns(this, ['opSlots', 'opHits', 'opRefunds', 'opLimits', 'opAfters', 'opHeld', 'opRefused']);
    doubleColumns(this, ['opReserves', 'opElsewhere']);
    doubleColumns(this, ['keyEnds', 'ttls', 'expiries', 'units', 'counts', 'prints']);
    this.admissions.grow();
    this.changes.grow();
    this.#index = new Int32Array(grownCapacity(this.#index.length, this.opSlots.length * 4));
    const mask = this.#index.length - 1;
    for (let slot = 0; slot < this.slotCount; slot++) {
      let at = this.prints[slot * 3] & mask;
      while (this.#index[at] !== 0) at = (at + 1) & mask;
      this.#index[at] = slot + 1;
    }
  }
}

/** Number of requests in a batch that have ops. */
export function callsOf(batch: CounterBatch): number {
  return callsWith(batch, () => true);
}

/** Number of requests in a batch with a key that could not be counted. */
export function callsWithoutCount(batch: CounterBatch): number {
  return callsWith(batch, op => Number.isNaN(batch.counts[batch.opSlots[op]]));
}

/** Number of requests in a batch that have such an op. */
function callsWith({ groupCount, groupEnds }: CounterBatch, isSuch: (op: number) => boolean): number {
  let calls = 0;
  for (let group = 0, op = 0; group < groupCount; group++) {
    while (op < groupEnds[group] && !isSuch(op)) op++;
    if (op < groupEnds[group]) calls++;
    op = groupEnds[group];
  }
  return calls;
}

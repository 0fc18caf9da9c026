import { ADMISSION, REFUSED } from '../admission/admission.ts';
import { type CounterBatch, NEVER_FULL } from '../batch.ts';
import { STEP } from '../leases/lease.ts';
import type { CounterStore, SlotLeases } from '../store.ts';
import { AdmittedCells } from './admitted-cells.ts';
import { type CounterTable, NONE_KEPT } from './counter-table.ts';
import { LeaseLooks } from './lease-looks.ts';
import { LeasedCells } from './leased-cells.ts';

/** The embedded store: counters in memory that the threads of the process share. Synchronous. */
export class EmbeddedCounterStore implements CounterStore {
  readonly name = 'embedded';
  readonly #table: CounterTable;
  readonly #admitted: AdmittedCells;
  readonly #leased: LeasedCells;
  readonly #looks: LeaseLooks;
  readonly #print = { a: 0, b: 0, c: 0 };
  /** Cells and regions of the current group. A cell is -1 if the table has no room for its key. */
  #cells: number[] = [];
  #regions: number[] = [];
  /** Without meaning; see `CounterTable.touch`. */
  readonly #touched = new Int32Array(1);

  constructor(table: CounterTable) {
    this.#table = table;
    this.#admitted = new AdmittedCells(table);
    this.#leased = new LeasedCells(table);
    this.#looks = new LeaseLooks(table);
  }

  async start(): Promise<void> {}

  async stop(): Promise<void> {}

  increment(batch: CounterBatch): void {
    const table = this.#table;
    const { kinds } = batch.admissions;
    if (batch.slotCount > 1) this.#touched[0] = this.#touchAll(batch);
    for (let slot = 0; slot < batch.slotCount; slot++) {
      this.#readPrint(batch, slot);
      const region = table.regionOf(this.#print.a);
      table.lock(region);
      if (kinds[slot] === ADMISSION.count) this.#countSlot(batch, slot);
      else this.#admitted.admit(batch, slot, this.#print);
      table.unlock(region);
    }
    batch.spreadCounts();
  }

  incrementHoldingBack(batch: CounterBatch): void {
    let first = 0;
    for (let group = 0; group < batch.groupCount; group++) {
      const end = batch.groupEnds[group];
      this.#countGroup(batch, { first, end, held: batch.groupHeld[group] === 1 });
      first = end;
    }
  }

  read(batch: CounterBatch): void {
    this.#readEach(batch, () => {});
  }

  preview(batch: CounterBatch): void {
    const table = this.#table;
    for (const [slot, ops] of leasedOps(batch)) {
      this.#readPrint(batch, slot);
      const region = table.regionOf(this.#print.a);
      table.lock(region);
      table.leases.lock();
      this.#looks.load(batch, slot, this.#print);
      this.#looks.preview(batch, ops);
      table.leases.unlock();
      table.unlock(region);
    }
  }

  leases(batch: CounterBatch, most: number): (SlotLeases | null)[] {
    const lists: (SlotLeases | null)[] = new Array(batch.slotCount).fill(null);
    this.#readEach(batch, slot => {
      if (batch.admissions.isLeased(slot)) lists[slot] = this.#looks.list(most);
    });
    return lists;
  }

  reset(batch: CounterBatch): void {
    const table = this.#table;
    this.#readEach(batch, (slot, cell) => {
      if (batch.admissions.isLeased(slot)) this.#leased.remove(this.#print, batch.nowS);
      else if (cell >= 0) table.remove(cell);
      if (batch.admissions.penalties.of(slot) !== null) this.#admitted.removePenalty(this.#print, batch.nowS);
    });
  }

  /** Reads the counts and levels. Calls `then` with the cell of each slot, -1 for none, while its region is locked. */
  #readEach(batch: CounterBatch, then: (slot: number, cell: number) => void): void {
    const table = this.#table;
    for (let slot = 0; slot < batch.slotCount; slot++) {
      const kind = batch.admissions.kinds[slot];
      this.#readPrint(batch, slot);
      const region = table.regionOf(this.#print.a);
      table.lock(region);
      const cell = table.find(this.#print, batch.nowS);
      if (kind === ADMISSION.leased) table.leases.lock();
      if (kind === ADMISSION.count) batch.counts[slot] = cell < 0 ? 0 : table.count(cell);
      else if (kind === ADMISSION.leased) this.#looks.load(batch, slot, this.#print);
      else this.#admitted.load(batch, slot, this.#print);
      then(slot, cell);
      if (kind === ADMISSION.leased) table.leases.unlock();
      table.unlock(region);
    }
  }

  /** What reads and writes slots of a kind that are not plain counts. */
  #cellsOf(kind: number): AdmittedCells | LeasedCells {
    return kind === ADMISSION.leased ? this.#leased : this.#admitted;
  }

  /** Loads the memory of all slots into the cache of the processor. */
  #touchAll({ prints, slotCount }: CounterBatch): number {
    let touched = 0;
    for (let at = 0; at < slotCount * 3; at += 3)
      touched ^= this.#table.touch(prints[at], prints[at + 1], prints[at + 2]);
    return touched;
  }

  /** Applies the changes of the slot in `#print`. */
  #countSlot({ changes, counts, expiries, nowS }: CounterBatch, slot: number): void {
    const table = this.#table;
    // A key that is only refunded is not created.
    const cell =
      changes.opens[slot] === 1
        ? table.claim(this.#print, nowS, expiries[slot])
        : table.find(this.#print, nowS);
    counts[slot] = cell < 0 ? 0 : table.count(cell);
    if (cell < 0) return;
    if (changes.refunds[slot] > 0) table.giveBack(cell, changes.refunds[slot]);
    table.add(cell, changes.amounts[slot]);
  }

  /**
   * Applies the refunds of the group and what it says about leases that it has, reads all its counters, then adds its hits:
   * to all counters, or only to those that would exceed their limit.
   */
  #countGroup(batch: CounterBatch, group: { first: number; end: number; held: boolean }): void {
    const { first, end, held } = group;
    if (first === end) return;
    const { kinds } = batch.admissions;
    const hasLeases = batch.leases.count > 0;
    if (hasLeases && end - first === 1 && batch.admissions.isLeased(batch.opSlots[first])) {
      this.#leaseAlone(batch, first, held);
      return;
    }
    this.#lockRegions(batch, first, end);
    if (hasLeases) this.#table.leases.lock();
    this.#cells.length = 0;
    if (hasLeases) this.#leaseGroup(batch, first, end);
    if (batch.refundCount > 0) this.#refundGroup(batch, first, end);
    let anyFull = false;
    for (let op = first; op < end; op++) {
      if (isApplied(batch, op)) {
        this.#cells.push(-1);
        continue;
      }
      const slot = batch.opSlots[op];
      this.#readPrint(batch, slot);
      const exceeds = kinds[slot] === ADMISSION.count ? this.#claim(batch, op) : this.#exceeds(batch, op);
      const full = exceeds && !held;
      batch.opHeld[op] = full ? 0 : 1;
      anyFull ||= full;
    }
    const holdBack = held || anyFull;
    for (let op = first; op < end; op++) {
      if (isApplied(batch, op)) continue;
      if (!holdBack) batch.opHeld[op] = 0;
      if (kinds[batch.opSlots[op]] !== ADMISSION.count) {
        this.#cells[op - first] = this.#admitUnlessHeld(batch, op, holdBack);
        continue;
      }
      const cell = this.#cells[op - first];
      const added = batch.opHeld[op] === 1 ? 0 : batch.opHits[op];
      batch.opAfters[op] = cell < 0 ? Number.NaN : this.#table.add(cell, added);
    }
    if (hasLeases) this.#table.leases.unlock();
    this.#unlockRegions();
  }

  /** Claims the cell of an op with the fingerprint in `#print`. Returns whether the hits exceed the limit. */
  #claim(batch: CounterBatch, op: number): boolean {
    const expiryS = batch.expiries[batch.opSlots[op]];
    const cell = this.#table.claim(this.#print, batch.nowS, expiryS, this.#cells);
    this.#cells.push(cell);
    return cell >= 0 && this.#table.count(cell) + batch.opHits[op] > batch.opLimits[op];
  }

  /** Returns whether the hits of an op with the fingerprint in `#print` do not fit. It needs no cell yet. */
  #exceeds(batch: CounterBatch, op: number): boolean {
    this.#cells.push(-1);
    const slot = batch.opSlots[op];
    if (batch.admissions.isLeased(slot)) {
      const { slotPending, hits, steps } = batch.leases;
      this.#leased.load(batch, slot, this.#print);
      const fits = this.#leased.fits(batch, op, steps[op] === STEP.ask ? 0 : slotPending[slot]);
      slotPending[slot] += hits[op];
      return batch.opLimits[op] !== NEVER_FULL && !fits;
    }
    this.#admitted.load(batch, slot, this.#print);
    return batch.isFull(op);
  }

  /**
   * Adds the hits of an op if they fit and are not held back. Returns its cell, -1 for none. The level is read again,
   * because the request may have the same key twice, and because its other counters may have taken the cell. If a request
   * is held back, its ops that are not are full.
   */
  #admitUnlessHeld(batch: CounterBatch, op: number, isRefused: boolean): number {
    const slot = batch.opSlots[op];
    this.#readPrint(batch, slot);
    const kind = batch.admissions.kinds[slot];
    this.#cellsOf(kind).load(batch, slot, this.#print);
    if (batch.opHeld[op] === 0 && kind !== ADMISSION.leased) return this.#admitOp(batch, op);
    if (batch.opHeld[op] === 0 && !isRefused) return this.#leased.apply(batch, op, this.#cells);
    if (batch.opHeld[op] === 0) batch.opRefused[op] = REFUSED.full;
    batch.opAfters[op] = batch.counts[slot];
    return -1;
  }

  /** Applies an op to the level that was loaded. Returns its cell, -1 for none. */
  #admitOp(batch: CounterBatch, op: number): number {
    batch.spreadOp(op);
    const after = batch.opAfters[op];
    const cell = this.#admitted.save(batch, batch.opSlots[op], after, this.#cells);
    if (cell < 0 && after > 0) batch.opAfters[op] = Number.NaN;
    return cell;
  }

  /** Applies the only op of a group, which has a lease. Nothing but the local cache can hold it back. */
  #leaseAlone(batch: CounterBatch, op: number, held: boolean): void {
    const table = this.#table;
    const slot = batch.opSlots[op];
    this.#readPrint(batch, slot);
    const region = table.regionOf(this.#print.a);
    table.lock(region);
    table.leases.lock();
    this.#leased.begin(batch.nowMs, 1);
    this.#leased.load(batch, slot, this.#print);
    this.#leased.choose(batch, op);
    const isHeld = held && batch.leases.isRefusable(op);
    batch.opHeld[op] = isHeld ? 1 : 0;
    if (isHeld) batch.opAfters[op] = batch.counts[slot];
    else this.#leased.apply(batch, op, NONE_KEPT);
    table.leases.unlock();
    table.unlock(region);
  }

  /** Applies the steps to leases of the group that cannot be refused. */
  #leaseGroup(batch: CounterBatch, first: number, end: number): void {
    this.#leased.begin(batch.nowMs, end - first);
    for (let op = first; op < end; op++) {
      const slot = batch.opSlots[op];
      if (!batch.admissions.isLeased(slot)) continue;
      this.#readPrint(batch, slot);
      this.#leased.load(batch, slot, this.#print);
      this.#leased.choose(batch, op);
      batch.leases.slotPending[slot] = 0;
      batch.opHeld[op] = 0;
      if (!batch.leases.isRefusable(op)) this.#leased.apply(batch, op, this.#cells);
    }
  }

  #refundGroup(batch: CounterBatch, first: number, end: number): void {
    for (let op = first; op < end; op++) {
      const slot = batch.opSlots[op];
      if (batch.opRefunds[op] === 0 || batch.admissions.isLeased(slot)) continue;
      this.#readPrint(batch, slot);
      batch.opHeld[op] = 0;
      if (batch.admissions.kinds[slot] !== ADMISSION.count) {
        this.#admitted.load(batch, slot, this.#print);
        this.#admitOp(batch, op);
        continue;
      }
      const cell = this.#table.find(this.#print, batch.nowS);
      batch.opAfters[op] = cell < 0 ? 0 : this.#table.giveBack(cell, batch.opHits[op]);
    }
  }

  /** Locks each region once, in ascending order, which prevents deadlocks between threads. */
  #lockRegions(batch: CounterBatch, first: number, end: number): void {
    const regions = this.#regions;
    regions.length = 0;
    for (let op = first; op < end; op++) {
      regions.push(this.#table.regionOf(batch.prints[batch.opSlots[op] * 3]));
    }
    regions.sort((a, b) => a - b);
    regions.forEach((region, i) => {
      if (region !== regions[i - 1]) this.#table.lock(region);
    });
  }

  #unlockRegions(): void {
    this.#regions.forEach((region, i, regions) => {
      if (region !== regions[i - 1]) this.#table.unlock(region);
    });
  }

  #readPrint(batch: CounterBatch, slot: number): void {
    this.#print.a = batch.prints[slot * 3];
    this.#print.b = batch.prints[slot * 3 + 1];
    this.#print.c = batch.prints[slot * 3 + 2];
  }
}

/** The ops with leases, by slot. */
function leasedOps(batch: CounterBatch): Map<number, number[]> {
  const found = new Map<number, number[]>();
  for (let op = 0; op < batch.opCount; op++) {
    const slot = batch.opSlots[op];
    if (found.has(slot)) found.get(slot)!.push(op);
    else if (batch.admissions.isLeased(slot)) found.set(slot, [op]);
  }
  return found;
}

/** Whether an op has been applied before the hits of its group: refunds, and steps to leases that cannot be refused. */
function isApplied({ admissions, leases, opSlots, opRefunds }: CounterBatch, op: number): boolean {
  if (leases.count > 0 && admissions.isLeased(opSlots[op])) return !leases.isRefusable(op);
  return opRefunds[op] === 1;
}

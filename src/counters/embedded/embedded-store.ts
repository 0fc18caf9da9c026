import type { CounterBatch } from '../batch.ts';
import type { CounterStore } from '../store.ts';
import type { CounterTable } from './counter-table.ts';

/** The embedded store: counters in memory that the threads of the process share. Synchronous. */
export class EmbeddedCounterStore implements CounterStore {
  readonly name = 'embedded';
  readonly #table: CounterTable;
  readonly #print = { a: 0, b: 0, c: 0 };
  /** Cells and regions of the current group. A cell is -1 if the table has no room for its key. */
  #cells: number[] = [];
  #regions: number[] = [];

  constructor(table: CounterTable) {
    this.#table = table;
  }

  async start(): Promise<void> {}

  async stop(): Promise<void> {}

  increment(batch: CounterBatch): void {
    const table = this.#table;
    const { changes } = batch;
    for (let slot = 0; slot < batch.slotCount; slot++) {
      this.#readPrint(batch, slot);
      const region = table.regionOf(this.#print.a);
      table.lock(region);
      const cell = this.#cellOf(batch, slot);
      batch.counts[slot] = cell < 0 ? 0 : table.count(cell);
      if (cell >= 0) {
        if (changes.refunds[slot] > 0) table.giveBack(cell, changes.refunds[slot]);
        table.add(cell, changes.amounts[slot]);
      }
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
    const table = this.#table;
    for (let slot = 0; slot < batch.slotCount; slot++) {
      this.#readPrint(batch, slot);
      const region = table.regionOf(this.#print.a);
      table.lock(region);
      const cell = table.find(this.#print, batch.nowS);
      batch.counts[slot] = cell < 0 ? 0 : table.count(cell);
      table.unlock(region);
    }
  }

  /** The cell of the slot in `#print`; -1 if there is no room, or if the key is only refunded and has no count. */
  #cellOf(batch: CounterBatch, slot: number): number {
    return batch.changes.opens[slot] === 1
      ? this.#table.claim(this.#print, batch.nowS, batch.expiries[slot])
      : this.#table.find(this.#print, batch.nowS);
  }

  /**
   * Applies the refunds of the group, reads all its counters, then adds its hits: to all counters, or only to those that
   * would exceed their limit.
   */
  #countGroup(batch: CounterBatch, group: { first: number; end: number; held: boolean }): void {
    const { first, end } = group;
    if (first === end) return;
    this.#lockRegions(batch, first, end);
    this.#cells.length = 0;
    if (batch.refundCount > 0) this.#refundGroup(batch, first, end);
    let anyFull = false;
    for (let op = first; op < end; op++) {
      if (batch.opRefunds[op] === 1) {
        this.#cells.push(-1);
        continue;
      }
      const slot = batch.opSlots[op];
      this.#readPrint(batch, slot);
      const cell = this.#table.claim(this.#print, batch.nowS, batch.expiries[slot], this.#cells);
      this.#cells.push(cell);
      const full =
        !group.held && cell >= 0 && this.#table.count(cell) + batch.opHits[op] > batch.opLimits[op];
      batch.opHeld[op] = full ? 0 : 1;
      anyFull ||= full;
    }
    const holdBack = group.held || anyFull;
    for (let op = first; op < end; op++) {
      if (batch.opRefunds[op] === 1) continue;
      if (!holdBack) batch.opHeld[op] = 0;
      const cell = this.#cells[op - first];
      const added = batch.opHeld[op] === 1 ? 0 : batch.opHits[op];
      batch.opAfters[op] = cell < 0 ? Number.NaN : this.#table.add(cell, added);
    }
    this.#unlockRegions();
  }

  #refundGroup(batch: CounterBatch, first: number, end: number): void {
    for (let op = first; op < end; op++) {
      if (batch.opRefunds[op] === 0) continue;
      this.#readPrint(batch, batch.opSlots[op]);
      const cell = this.#table.find(this.#print, batch.nowS);
      batch.opHeld[op] = 0;
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

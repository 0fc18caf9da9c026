import { SKEW_S } from '../admission/penalty.ts';
import type { CounterBatch } from '../batch.ts';
import { LEASE_MODE } from '../leases/lease.ts';
import type { CellPrint } from './cell.ts';
import type { CounterTable } from './counter-table.ts';

/** Fingerprint of the overdraft of the key with a fingerprint; its first word selects the region. */
function overdraftPrint({ a, b, c }: CellPrint): CellPrint {
  return { a, b: b ^ 0x51ed_270b, c: c ^ 0x2f6b_1a3d };
}

/**
 * What is spent of a limit with leases: a cell of the table that expires with the window, and a second one for the part that
 * takes no room, if such an overdraft is allowed. A limit on what runs at the same time has neither.
 *
 * {@link load} reads them. The region of the key must be locked until the last change.
 */
export class SpentCells {
  /** The cell of the hits that are spent; -1 for none. */
  cell = -1;
  /** Whether the table has no room for the hits. */
  isLost = false;
  /** The end of the window in seconds; 0 for a limit on what runs at the same time. */
  endS = 0;
  readonly #table: CounterTable;
  #print: CellPrint = { a: 0, b: 0, c: 0 };
  #spent = 0;
  #overdraft = 0;

  constructor(table: CounterTable) {
    this.#table = table;
  }

  /** The hits that are spent and take room. */
  get hits(): number {
    return this.#spent - this.#overdraft;
  }

  /**
   * Reads what is spent of a slot. Nothing is if the cell is that of another window; the next hits replace it.
   * @param leasesEndS the end of the window that its leases know, in seconds; 0 for none
   */
  load(batch: CounterBatch, slot: number, print: CellPrint, leasesEndS: number): void {
    const terms = batch.leases.of(slot);
    this.#print = print;
    this.cell = -1;
    this.isLost = false;
    this.endS = 0;
    this.#spent = 0;
    this.#overdraft = 0;
    if (terms.mode === LEASE_MODE.concurrency) return;
    const table = this.#table;
    const cell = table.find(print, batch.nowS);
    const cellEndS = cell < 0 ? 0 : table.expiryS(cell);
    this.endS = windowEndS(batch, slot, cellEndS, leasesEndS);
    if (cell < 0 || cellEndS !== this.endS) return;
    this.cell = cell;
    this.#spent = table.count(cell);
    if (!terms.allowsOverdraft) return;
    const overdraft = table.find(overdraftPrint(print), batch.nowS);
    if (overdraft >= 0 && table.expiryS(overdraft) === this.endS)
      this.#overdraft = Math.min(table.count(overdraft), this.#spent);
  }

  /**
   * Adds hits to those that are spent.
   * @param kept see `CounterTable.claim`
   */
  add(nowS: number, hits: number, kept: number[]): void {
    if (hits === 0 || this.endS === 0) return;
    const table = this.#table;
    if (this.cell < 0) {
      // What was overdrawn belongs to hits that were evicted.
      const overdraft = table.find(overdraftPrint(this.#print), nowS);
      if (overdraft >= 0) table.remove(overdraft);
      this.cell = table.claim(this.#print, nowS, this.endS, kept);
    }
    this.isLost = this.cell < 0;
    if (this.isLost) return;
    this.#spent = Math.min(this.#spent + hits, Number.MAX_SAFE_INTEGER);
    table.write(this.cell, this.endS, this.#spent, 0);
  }

  /** Subtracts hits from those that take room. */
  giveBack(hits: number): void {
    if (this.cell < 0) return;
    this.#spent -= Math.min(hits, this.hits);
    this.#table.write(this.cell, this.endS, this.#spent, 0);
  }

  /** Says how many of the hits that were added last take no room. */
  overdraw(nowS: number, hits: number, kept: number[]): void {
    if (hits <= 0 || this.cell < 0) return;
    const table = this.#table;
    const all = [...kept, this.cell];
    const cell = table.claim(overdraftPrint(this.#print), nowS, this.endS, all);
    // The table may have grown.
    this.cell = all[kept.length];
    for (let i = 0; i < kept.length; i++) kept[i] = all[i];
    if (cell < 0) return;
    this.#overdraft = Math.min(this.#overdraft + hits, this.#spent);
    table.write(cell, this.endS, this.#overdraft, 0);
  }

  /** Removes what is spent of a key. */
  remove(print: CellPrint, nowS: number): void {
    for (const each of [print, overdraftPrint(print)]) {
      const cell = this.#table.find(each, nowS);
      if (cell >= 0) this.#table.remove(cell);
    }
  }
}

/**
 * The end of the window of a slot: the last one that is known, for a thread whose clock is slightly behind. If that is too
 * far away, the clock was set back.
 */
function windowEndS(
  { nowS, expiries, admissions }: CounterBatch,
  slot: number,
  cellEndS: number,
  leasesEndS: number,
): number {
  const latestS = nowS + 2 * admissions.windowsS[slot] + SKEW_S;
  let lastS = cellEndS <= latestS ? cellEndS : 0;
  if (leasesEndS > lastS && leasesEndS <= latestS) lastS = leasesEndS;
  return lastS > nowS ? lastS : expiries[slot];
}

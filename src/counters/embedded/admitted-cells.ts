import { ADMISSION } from '../admission/admission.ts';
import { SlidingWindow } from '../admission/sliding-window.ts';
import { TokenBucket } from '../admission/token-bucket.ts';
import type { CounterBatch } from '../batch.ts';
import {
  expiryOfBucket,
  expiryOfWindow,
  extraOfBucket,
  extraOfWindow,
  readBucket,
  readWindow,
} from './cell-states.ts';
import { type CellPrint, type CounterTable, NONE_KEPT } from './counter-table.ts';

/**
 * Sliding windows and token buckets in the cells of a table. A cell exists only while its level is above 0.
 *
 * {@link load} reads a slot of a batch and {@link save} writes it. The region of the slot must be locked from one to the
 * other.
 */
export class AdmittedCells {
  readonly #table: CounterTable;
  readonly #window = new SlidingWindow();
  readonly #bucket = new TokenBucket();
  #print: CellPrint = { a: 0, b: 0, c: 0 };
  #cell = -1;
  #level = 0;
  /** True if the clock was set back, so that the state must be written also if no hit is admitted. */
  #moved = false;

  constructor(table: CounterTable) {
    this.#table = table;
  }

  /**
   * Reads the level and the floor of a slot into the batch.
   * @param print the fingerprint of the key; used until `save`
   */
  load(batch: CounterBatch, slot: number, print: CellPrint): void {
    const { admissions } = batch;
    this.#print = print;
    // Buckets expire often. Their cell is used again unless another counter has taken it, which spares a search.
    this.#cell = this.#table.findLast(print, batch.nowS);
    const isWindow = admissions.kinds[slot] === ADMISSION.slidingWindow;
    this.#level = isWindow ? this.#loadWindow(batch, slot) : this.#loadBucket(batch, slot);
    batch.counts[slot] = this.#level;
  }

  /**
   * Writes the level of the slot that was loaded last. Returns its cell; -1 if it needs none, or if there is no room.
   * @param kept see `CounterTable.claim`
   */
  save(batch: CounterBatch, slot: number, level: number, kept: number[] = NONE_KEPT): number {
    if (level === this.#level && !this.#moved) return this.#cell;
    return batch.admissions.kinds[slot] === ADMISSION.slidingWindow
      ? this.#saveWindow(batch, slot, level, kept)
      : this.#saveBucket(batch, slot, level, kept);
  }

  #loadWindow({ admissions, nowMs }: CounterBatch, slot: number): number {
    const window = this.#window;
    const windowS = admissions.windowsS[slot];
    readWindow(this.#table, this.#cell, window, windowS);
    const storedS = window.startS;
    const level = window.moveTo(nowMs, windowS);
    this.#moved = window.startS < storedS;
    admissions.floors[slot] = window.floor;
    admissions.previous[slot] = window.previous;
    return level;
  }

  #loadBucket({ admissions, nowMs }: CounterBatch, slot: number): number {
    const bucket = this.#bucket;
    readBucket(this.#table, this.#cell, bucket);
    const storedMs = bucket.fullMs;
    const level = bucket.levelAt(nowMs, admissions.drains[slot], admissions.capacities[slot]);
    this.#moved = bucket.fullMs < storedMs;
    return level;
  }

  #saveWindow({ admissions, nowS }: CounterBatch, slot: number, level: number, kept: number[]): number {
    const window = this.#window;
    window.current = level - window.floor;
    const count = window.previous + window.current;
    if (count === 0) return this.#remove();
    const expiryS = expiryOfWindow(window, admissions.windowsS[slot]);
    const cell = this.#cell < 0 ? this.#table.claim(this.#print, nowS, expiryS, kept) : this.#cell;
    if (cell >= 0) this.#table.write(cell, expiryS, count, extraOfWindow(window));
    return cell;
  }

  #saveBucket(
    { admissions, nowMs, nowS }: CounterBatch,
    slot: number,
    level: number,
    kept: number[],
  ): number {
    if (level === 0) return this.#remove();
    const bucket = this.#bucket;
    bucket.fill(nowMs, admissions.drains[slot], level);
    const expiryS = expiryOfBucket(bucket);
    const cell = this.#cell < 0 ? this.#table.claim(this.#print, nowS, expiryS, kept) : this.#cell;
    const count = Math.ceil(level / admissions.scales[slot]);
    if (cell >= 0) this.#table.write(cell, expiryS, count, extraOfBucket(bucket));
    return cell;
  }

  #remove(): number {
    if (this.#cell >= 0) this.#table.remove(this.#cell);
    return -1;
  }
}

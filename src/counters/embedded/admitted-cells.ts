import { ADMISSION } from '../admission/admission.ts';
import { Penalty, type PenaltyTerms, SKEW_S } from '../admission/penalty.ts';
import { SlidingWindow } from '../admission/sliding-window.ts';
import { TokenBucket } from '../admission/token-bucket.ts';
import type { CounterBatch } from '../batch.ts';
import type { CellPrint } from './cell.ts';
import {
  expiryOfBucket,
  expiryOfWindow,
  extraOfBucket,
  extraOfWindow,
  readBucket,
  readWindow,
} from './cell-states.ts';
import { type CounterTable, NONE_KEPT } from './counter-table.ts';
import { penaltyPrint, readPenalty, writePenalty } from './penalty-cells.ts';

/**
 * Sliding windows, token buckets, and limits with a penalty, in the cells of a table. A cell exists only while its level is
 * above 0. A penalty has a second cell.
 *
 * {@link load} reads a slot of a batch and {@link save} writes it. The region of the slot must be locked from one to the
 * other.
 */
export class AdmittedCells {
  readonly #table: CounterTable;
  readonly #window = new SlidingWindow();
  readonly #bucket = new TokenBucket();
  readonly #penalty = new Penalty();
  #print: CellPrint = { a: 0, b: 0, c: 0 };
  #cell = -1;
  #level = 0;
  /** True if the clock was set back, so that the state must be written also if no hit is admitted. */
  #moved = false;
  /** The same for the penalty. */
  #penaltyMoved = false;
  #loadedClosesS = 0;
  #loadedUntilS = 0;

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
    const kind = admissions.kinds[slot];
    if (kind === ADMISSION.slidingWindow) this.#level = this.#loadWindow(batch, slot);
    else if (kind === ADMISSION.tokenBucket) this.#level = this.#loadBucket(batch, slot);
    else this.#level = this.#loadCount(batch, slot);
    batch.counts[slot] = this.#level;
    const penalty = admissions.penalties.of(slot);
    if (penalty !== null) this.#loadPenalty(batch, slot, penalty);
  }

  /** Applies the runs of a slot. The level and the floor from before are in the batch afterwards. */
  admit(batch: CounterBatch, slot: number, print: CellPrint): void {
    this.load(batch, slot, print);
    const { admissions, nowMs } = batch;
    if (admissions.penalties.of(slot) === null) {
      this.#saveLevel(batch, slot, admissions.levelAfter(slot, this.#level), NONE_KEPT);
      return;
    }
    const state = this.#penalty;
    const times = { nowMs, endS: batch.windowEndS(slot), state };
    const level = admissions.levelAfterPenalized(slot, this.#level, times);
    this.#saveWithPenalty(batch, slot, level, []);
  }

  /**
   * Writes the level of the slot that was loaded last, and the penalty in the batch. Returns its cell; -1 if it needs none,
   * or if there is no room.
   * @param kept see `CounterTable.claim`
   */
  save(batch: CounterBatch, slot: number, level: number, kept: number[]): number {
    const { penalties } = batch.admissions;
    if (penalties.of(slot) === null) return this.#saveLevel(batch, slot, level, kept);
    penalties.read(slot, this.#penalty);
    return this.#saveWithPenalty(batch, slot, level, kept);
  }

  /** Removes the penalty of a key, if it has one. */
  removePenalty(print: CellPrint, nowS: number): void {
    const cell = this.#table.find(penaltyPrint(print), nowS);
    if (cell >= 0) this.#table.remove(cell);
  }

  #saveLevel(batch: CounterBatch, slot: number, level: number, kept: number[]): number {
    if (level === this.#level && !this.#moved) return this.#cell;
    const kind = batch.admissions.kinds[slot];
    if (kind === ADMISSION.slidingWindow) return this.#saveWindow(batch, slot, level, kept);
    return kind === ADMISSION.tokenBucket
      ? this.#saveBucket(batch, slot, level, kept)
      : this.#saveCount(batch, slot, level, kept);
  }

  /** Also writes the penalty if it has changed. */
  #saveWithPenalty(batch: CounterBatch, slot: number, level: number, kept: number[]): number {
    const { admissions, nowS } = batch;
    const cell = this.#saveLevel(batch, slot, level, kept);
    const state = this.#penalty;
    const changed =
      this.#penaltyMoved || state.untilS !== this.#loadedUntilS || state.closesS !== this.#loadedClosesS;
    if (!changed) return cell;
    const print = penaltyPrint(this.#print);
    const all = cell < 0 ? kept : [...kept, cell];
    writePenalty(this.#table, { print, nowS, kept: all }, state, admissions.penalties.of(slot)!);
    // The table may have grown.
    for (let i = 0; i < kept.length; i++) kept[i] = all[i];
    return cell < 0 ? -1 : all[kept.length];
  }

  #loadPenalty(batch: CounterBatch, slot: number, terms: PenaltyTerms): void {
    const state = this.#penalty;
    readPenalty(this.#table, this.#table.find(penaltyPrint(this.#print), batch.nowS), state);
    this.#penaltyMoved = state.moveTo(batch.nowMs, terms);
    this.#loadedClosesS = state.closesS;
    this.#loadedUntilS = state.untilS;
    const { violations, penalties, closesS, untilS } = state;
    batch.admissions.penalties.store(slot, violations, penalties, closesS, untilS);
  }

  /** The cell of a count expires with its window. If it lives for longer than two windows, the clock was set back. */
  #loadCount({ nowS, admissions }: CounterBatch, slot: number): number {
    const cell = this.#cell;
    const leftS = cell < 0 ? 0 : this.#table.expiryS(cell) - nowS;
    this.#moved = leftS > 2 * admissions.windowsS[slot] + SKEW_S;
    return leftS <= 0 || this.#moved ? 0 : this.#table.count(cell);
  }

  #saveCount({ nowS, expiries }: CounterBatch, slot: number, level: number, kept: number[]): number {
    if (level === 0) return this.#remove();
    const isAlive = this.#cell >= 0 && this.#table.expiryS(this.#cell) > nowS && !this.#moved;
    const expiryS = isAlive ? this.#table.expiryS(this.#cell) : expiries[slot];
    const cell = this.#cell < 0 ? this.#table.claim(this.#print, nowS, expiryS, kept) : this.#cell;
    if (cell >= 0) this.#table.write(cell, expiryS, level, 0);
    return cell;
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

import type { CounterBatch } from '../../batch.ts';
import type { SlotChanges } from '../../slot-changes.ts';
import { isUnit, windowLengthS, windowStartS } from '../../window.ts';
import type { CommandWriter } from '../protocol/command-writer.ts';
import { CLOCK_SKEW_S } from '../protocol/scripts.ts';

/** Every unit, as `window.ts` numbers them. */
const UNITS = [1, 2, 3, 4, 5, 6, 7];

/**
 * Determines for which counters it is not enough to set the time to live when the key is created.
 *
 * A key contains the start of its window but not the unit. A counter of an hour and one of a minute can therefore have the
 * same key, and the time to live of the longer window must win. A counter of a shorter window can exist only for a while
 * after the start of the window; later, the key belongs to the longer window alone.
 */
export class SharedKeys {
  readonly #jitterS: number;
  /** By unit: 1 while a counter of a shorter window with the same key may exist. */
  readonly #shared = new Uint8Array(UNITS.length + 1);
  #atS = -1;

  /** @param jitterS maximum number of seconds by which a time to live exceeds its window */
  constructor(jitterS: number) {
    this.#jitterS = Math.max(jitterS, 0);
  }

  /** By unit: 1 if the time to live must be checked. Valid until the next call. */
  at(nowS: number): Uint8Array {
    if (nowS === this.#atS) return this.#shared;
    this.#atS = nowS;
    this.#shared[0] = 1;
    for (const unit of UNITS) this.#shared[unit] = this.#isShared(unit, nowS) ? 1 : 0;
    return this.#shared;
  }

  #isShared(unit: number, nowS: number): boolean {
    if (!isUnit(unit)) return true;
    const startS = windowStartS(unit, nowS);
    let longestS = 0;
    for (const other of UNITS) {
      const lengthS = windowLengthS(other);
      if (lengthS < windowLengthS(unit) && startS % lengthS === 0) longestS = Math.max(longestS, lengthS);
    }
    if (longestS === 0) return false;
    return nowS - startS <= 2 * longestS + this.#jitterS + CLOCK_SKEW_S;
  }
}

/** Writes the arguments of the refund script for one key. */
export function writeRefundArguments(
  writer: CommandWriter,
  batch: CounterBatch,
  slot: number,
  { changes, shared }: { readonly changes: SlotChanges; readonly shared: SharedKeys },
): void {
  writer.number(changes.refunds[slot]);
  writer.number(changes.amounts[slot]);
  writer.number(changes.opens[slot]);
  writer.number(batch.ttls[slot]);
  writer.number(leastSecondsToLive(batch, slot, shared));
}

/**
 * The minimum seconds to live of a key: until the window ends if a counter of a shorter window may have created the key,
 * else 0.
 */
export function leastSecondsToLive(batch: CounterBatch, slot: number, shared: SharedKeys): number {
  return shared.at(batch.nowS)[batch.units[slot]] === 0 ? 0 : secondsLeft(batch, slot);
}

/** Seconds until the window ends. */
export function secondsLeft(batch: CounterBatch, slot: number): number {
  return Math.max(batch.expiries[slot] - batch.nowS, 0);
}

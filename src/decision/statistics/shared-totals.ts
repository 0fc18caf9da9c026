/**
 * Totals of statistics that all threads add to and one thread reads.
 *
 * Layout, from word `2 * slot` of an `Int32Array` (in shared memory if several threads use it):
 *
 *     low   Int32   hits below 2^24, or more during a carry
 *     high  Int32   units of 2^24 hits
 *
 * The total is `high * 2^24 + low`. The thread that increases `low` past a multiple of 2^24 carries over to `high` first.
 * Meanwhile, `low` is 2^24 or more, so a reader knows that it must read again. Therefore, totals never appear to decrease,
 * and `low` has room for the concurrent carries of all threads. A total is exact up to 2^53, and stops near 2^55.
 */
const UNIT = 16_777_216;
const UNIT_MASK = UNIT - 1;
const MAX_HIGH = 0x7fff_ffff;

/** Words that a slot takes. */
export const SLOT_WORDS = 2;

/** A carry takes nanoseconds unless its thread is suspended: after this number of attempts, a reader waits. */
const LOOKS = 1_000;

/** After this number of attempts, the last ones a millisecond each, the thread was terminated: the reader gives up waiting. */
const LAST_LOOK = LOOKS + 100;

/** Totals for `slots` statistics in memory that threads share. */
export function sharedTotals(slots: number): Int32Array<SharedArrayBuffer> {
  return new Int32Array(new SharedArrayBuffer(slots * SLOT_WORDS * 4));
}

/** Totals for `slots` statistics of one thread. */
export function ownTotals(slots: number): Int32Array {
  return new Int32Array(slots * SLOT_WORDS);
}

/** Adds hits, a non-negative whole number, to a slot. */
export function addTotal(totals: Int32Array, slot: number, hits: number): void {
  if (hits === 0) return;
  const at = slot * SLOT_WORDS;
  const low = hits < UNIT ? hits : hits % UNIT;
  if (low !== hits) addHigh(totals, at + 1, Math.floor(hits / UNIT));
  const before = Atomics.add(totals, at, low);
  if ((before & UNIT_MASK) + low < UNIT) return;
  addHigh(totals, at + 1, 1);
  Atomics.sub(totals, at, UNIT);
}

/** The total of a slot. */
export function totalOf(totals: Int32Array, slot: number): number {
  const at = slot * SLOT_WORDS;
  for (let look = 1; ; look++) {
    const high = Atomics.load(totals, at + 1);
    const low = Atomics.load(totals, at);
    const settled = low < UNIT && Atomics.load(totals, at + 1) === high;
    if (settled || look === LAST_LOOK) return high * UNIT + low;
    if (look > LOOKS) Atomics.wait(totals, at, low, 1);
  }
}

/** Removes and returns the total of a slot. Hits added meanwhile remain. Only for the thread that reads. */
export function takeTotal(totals: Int32Array, slot: number): number {
  const at = slot * SLOT_WORDS;
  for (let look = 1; ; look++) {
    const high = Atomics.load(totals, at + 1);
    const low = Atomics.load(totals, at);
    if (low >= UNIT && look < LAST_LOOK) {
      if (look > LOOKS) Atomics.wait(totals, at, low, 1);
      continue;
    }
    // Only if unchanged: otherwise a concurrent carry would be lost.
    if (Atomics.compareExchange(totals, at, low, 0) !== low) continue;
    Atomics.sub(totals, at + 1, high);
    return high * UNIT + low;
  }
}

/** Saturates: callers choose the number of hits, and an overflow would make the total negative. */
function addHigh(totals: Int32Array, word: number, units: number): void {
  const before = Atomics.load(totals, word);
  if (before + units > MAX_HIGH) Atomics.store(totals, word, MAX_HIGH);
  else Atomics.add(totals, word, units);
}

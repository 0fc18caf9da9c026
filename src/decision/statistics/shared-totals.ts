/**
 * Totals of statistics that any thread adds to and one thread reads.
 *
 * Layout, from word `2 * slot` of an `Int32Array` on (over shared memory where threads share it):
 *
 *     low   Int32   hits below 2^24, and up to some more for the moment that a carry takes
 *     high  Int32   units of 2^24 hits
 *
 * The total is `high * 2^24 + low`. Whoever takes `low` past a multiple of 2^24 carries that over, `high` first: in
 * between `low` holds 2^24 or more, by which a reader knows that it is to look again. So a total that is read never
 * shrinks, and `low` has room for as many carries under way at a time as there can be threads. A total holds to 2^53 exactly, and
 * stays near 2^55 from there on.
 */
const UNIT = 16_777_216;
const UNIT_MASK = UNIT - 1;
const MAX_HIGH = 0x7fff_ffff;

/** Words that a slot takes. */
const SLOT_WORDS = 2;

/** A carry is over in nanoseconds, unless its thread does not run: after this many looks a reader makes room for it. */
const LOOKS = 1_000;

/** After this many, each of the later ones a millisecond, the thread was ended, and what is there is all there is. */
const LAST_LOOK = LOOKS + 100;

/** Totals for `slots` statistics in memory that threads share. */
export function sharedTotals(slots: number): Int32Array<SharedArrayBuffer> {
  return new Int32Array(new SharedArrayBuffer(slots * SLOT_WORDS * 4));
}

/** Totals for `slots` statistics of one thread. */
export function ownTotals(slots: number): Int32Array {
  return new Int32Array(slots * SLOT_WORDS);
}

/** Adds hits, a whole number from 0 on, to a slot. */
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

/** Takes out what a slot holds, and returns it. What is added meanwhile stays. Only for the thread that reads. */
export function takeTotal(totals: Int32Array, slot: number): number {
  const at = slot * SLOT_WORDS;
  for (let look = 1; ; look++) {
    const high = Atomics.load(totals, at + 1);
    const low = Atomics.load(totals, at);
    if (low >= UNIT && look < LAST_LOOK) {
      if (look > LOOKS) Atomics.wait(totals, at, low, 1);
      continue;
    }
    // Taken only as it was seen: a carry that is on its way would otherwise hide in what is left.
    if (Atomics.compareExchange(totals, at, low, 0) !== low) continue;
    Atomics.sub(totals, at + 1, high);
    return high * UNIT + low;
  }
}

/** Held at its end: callers choose how many hits a request has, and a sum that overflows would be negative. */
function addHigh(totals: Int32Array, word: number, units: number): void {
  const before = Atomics.load(totals, word);
  if (before + units > MAX_HIGH) Atomics.store(totals, word, MAX_HIGH);
  else Atomics.add(totals, word, units);
}

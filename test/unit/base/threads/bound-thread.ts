import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { Bound, type BoundSeat } from '../../../../src/base/threads/shared-bound.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';

/** What a thread is to do: it takes and frees units at random, without end. */
export interface BoundJob {
  readonly seat: BoundSeat;
  /** What each place uses; see {@link UNITS}. */
  readonly used: Int32Array<SharedArrayBuffer>;
  /** What the threads found; see {@link FOUND}. */
  readonly found: Int32Array<SharedArrayBuffer>;
  readonly seed: number;
}

/** Words of `found`. */
export const FOUND = { snapshots: 0, refusals: 1, highest: 2, refusedGuaranteed: 3, words: 4 };

/** A thread sends a message after this number of steps. */
const STEPS_OF_MESSAGE = 200;

/** Units of a word of `used`. The bits above them number the changes, so that a snapshot notices each of them. */
const UNITS = 0xfff;

/** The sum of what all places use at one moment; null if they change it too quickly to tell. */
function snapshot(used: Int32Array): number | null {
  const first = used.map((_, place) => Atomics.load(used, place));
  if (first.some((word, place) => Atomics.load(used, place) !== word)) return null;
  return first.reduce((sum, word) => sum + (word & UNITS), 0);
}

function note(found: Int32Array, total: number): void {
  Atomics.add(found, FOUND.snapshots, 1);
  for (;;) {
    const highest = Atomics.load(found, FOUND.highest);
    if (highest >= total || Atomics.compareExchange(found, FOUND.highest, highest, total) === highest) return;
  }
}

function run({ seat, used, found, seed }: BoundJob): never {
  const random = new SeededRandom(seed);
  const bound = Bound.at(seat);
  const guaranteed = Math.floor(seat.max / (2 * seat.threads));
  let mine = 0;
  let changes = 0;
  const uses = (units: number): void => {
    mine = units;
    changes = (changes + 1) & 0x7ffff;
    Atomics.store(used, seat.place, (changes << 12) | units);
  };
  for (let step = 1; ; step++) {
    if (step % STEPS_OF_MESSAGE === 0) parentPort!.postMessage(step);
    while (bound.hasRoom(mine)) uses(mine + 1);
    Atomics.add(found, FOUND.refusals, 1);
    if (mine < guaranteed) Atomics.add(found, FOUND.refusedGuaranteed, 1);
    const total = snapshot(used);
    if (total !== null) note(found, total);
    // Mostly little is freed, so that the threads compete for the last units.
    uses(random.below(32) === 0 ? random.below(mine + 1) : Math.max(mine - random.below(4), 0));
    bound.freed(mine);
  }
}

// The test imports this file as well.
if (!isMainThread) run(workerData as BoundJob);

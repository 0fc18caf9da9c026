import type { CounterBatch } from './batch.ts';

/**
 * Holds the requests of a batch back against counts that were read before, for stores that cannot decide it
 * themselves: request by request, in order. Fills in `opHeld` and `opAfters`.
 *
 * @param counts by slot: the present count, NaN when it is not known. Afterwards: the count with what is to be added
 */
export function holdBack(batch: CounterBatch, counts: Float64Array): void {
  let first = 0;
  for (let group = 0; group < batch.groupCount; group++) {
    const end = batch.groupEnds[group];
    let anyFull = batch.groupHeld[group] === 1;
    for (let op = first; op < end; op++) {
      const full =
        batch.groupHeld[group] === 0 && counts[batch.opSlots[op]] + batch.opHits[op] > batch.opLimits[op];
      batch.opHeld[op] = full ? 0 : 1;
      anyFull ||= full;
    }
    for (let op = first; op < end; op++) {
      if (!anyFull) batch.opHeld[op] = 0;
      const slot = batch.opSlots[op];
      if (batch.opHeld[op] === 0) counts[slot] += batch.opHits[op];
      batch.opAfters[op] = counts[slot];
    }
    first = end;
  }
}

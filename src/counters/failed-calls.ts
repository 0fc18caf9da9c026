import type { CounterBatch } from './batch.ts';

/** Requests of a batch that have something to count. */
export function callsOf(batch: CounterBatch): number {
  let calls = 0;
  let first = 0;
  for (let group = 0; group < batch.groupCount; group++) {
    const end = batch.groupEnds[group];
    if (end > first) calls++;
    first = end;
  }
  return calls;
}

/** Requests of a batch with a key that has no count. */
export function callsWithoutCount(batch: CounterBatch): number {
  let calls = 0;
  let first = 0;
  for (let group = 0; group < batch.groupCount; group++) {
    const end = batch.groupEnds[group];
    for (let op = first; op < end; op++) {
      if (!Number.isNaN(batch.counts[batch.opSlots[op]])) continue;
      calls++;
      break;
    }
    first = end;
  }
  return calls;
}

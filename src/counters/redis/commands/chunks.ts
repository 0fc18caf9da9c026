import type { CounterBatch } from '../../batch.ts';

/** Consecutive slots or groups of a batch that are sent to Redis together: `[first, end)`. */
export interface Chunk {
  readonly first: number;
  readonly end: number;
}

/**
 * Keys or ops in one chunk at most. Redis serves nobody else while a script runs, which is some milliseconds for this
 * many, and a batch may hold sixteen times as many.
 */
export const MAX_CHUNK = 5_000;

/** The groups of a batch. A group is never cut apart: one that is larger than a chunk makes a chunk by itself. */
export function* groupChunks(batch: CounterBatch): Generator<Chunk> {
  let first = 0;
  for (let group = 0; group < batch.groupCount; group++) {
    if (opsOf(batch, { first, end: group + 1 }).count <= MAX_CHUNK) continue;
    if (opsOf(batch, { first, end: group }).count > 0) yield { first, end: group };
    first = group;
  }
  const last = { first, end: batch.groupCount };
  if (opsOf(batch, last).count > 0) yield last;
}

/** The ops of a chunk of groups: `[first, end)`. */
export function opsOf(batch: CounterBatch, groups: Chunk): Chunk & { readonly count: number } {
  const first = groupStart(batch, groups.first);
  const end = groupStart(batch, groups.end);
  return { first, end, count: end - first };
}

/** The first op of a group, which is also the end of the group before. */
export function groupStart(batch: CounterBatch, group: number): number {
  return group === 0 ? 0 : batch.groupEnds[group - 1];
}

/** The slots that the ops of a chunk use, each once, and by slot its place among them. */
export function slotsOf(
  batch: CounterBatch,
  ops: Chunk,
): { readonly slots: readonly number[]; readonly places: Int32Array } {
  const slots: number[] = [];
  const places = new Int32Array(batch.slotCount).fill(-1);
  for (let op = ops.first; op < ops.end; op++) {
    const slot = batch.opSlots[op];
    if (places[slot] >= 0) continue;
    places[slot] = slots.length;
    slots.push(slot);
  }
  return { slots, places };
}

import type { CounterBatch, SlotChanges } from '../../batch.ts';
import type { FeedSource } from '../connections/refund-feed.ts';

/** What became of a question. */
export interface Tally {
  /** Slots or ops that have a count now. */
  readonly counted: number;
  /** Why another one has none: the first error; empty for none. */
  readonly failure: string;
}

/** Nothing was asked. */
export const NOTHING: Tally = { counted: 0, failure: '' };

/** Numbers of slots of a batch. */
export type Slots = Int32Array;

/**
 * Counters in Redis: one server, a cluster, or two of them. A key that cannot be counted gets NaN; the others are
 * counted. All reject with a Fault `store_failed` when nothing is known to be counted.
 */
export interface RedisCounters {
  /** How log lines and errors name it: without credentials. */
  readonly address: string;
  /** Where refunds of other processes can be heard: one source for each server, or group of servers. */
  readonly feeds: readonly FeedSource[];
  /** Connects. Resolves when counting can begin. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Makes the changes of each slot and fills in `counts` with what was there before. */
  change(batch: CounterBatch, slots: Slots, changes: SlotChanges): Promise<Tally>;
  /** Fills in `counts` with the present counts. */
  read(batch: CounterBatch, slots: Slots): Promise<Tally>;
  /**
   * Adds all ops, holding back, request by request and atomically: fills in `opAfters` and `opHeld`. Null when these
   * counters cannot: who asks then reads, decides and adds.
   */
  holdBack(batch: CounterBatch): Promise<Tally> | null;
}

/** The slots from 0 on, in order. */
export class FirstSlots {
  #all = new Int32Array(1_024).map((_, slot) => slot);

  take(count: number): Slots {
    if (count > this.#all.length) {
      this.#all = new Int32Array(Math.max(count, this.#all.length * 2)).map((_, slot) => slot);
    }
    return this.#all.subarray(0, count);
  }
}

/** Marks slots that could not be counted. */
export function uncounted(batch: CounterBatch, slots: Iterable<number>, failure: string): Tally {
  for (const slot of slots) batch.counts[slot] = Number.NaN;
  return { counted: 0, failure };
}

export function joined(tallies: readonly Tally[]): Tally {
  let counted = 0;
  let failure = '';
  for (const tally of tallies) {
    counted += tally.counted;
    failure ||= tally.failure;
  }
  return { counted, failure };
}

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

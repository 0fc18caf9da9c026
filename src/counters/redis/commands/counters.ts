import type { CounterBatch } from '../../batch.ts';
import type { SlotChanges } from '../../slot-changes.ts';
import type { CountingServer, KeyServer } from '../connections/counting-server.ts';
import type { LeaseCalls } from './lease-calls.ts';

/** The result of a request to Redis. */
export interface Tally {
  /** Number of slots or ops that were counted. */
  readonly counted: number;
  /** The first error of the others; empty for none. */
  readonly failure: string;
  /** True if a server did not reply in time, which is one of the errors. */
  readonly timedOut?: boolean;
}

/** The result of an empty request. */
export const NOTHING: Tally = { counted: 0, failure: '' };

/** Numbers of slots of a batch. */
export type Slots = Int32Array;

/**
 * Counters in Redis: one server, a cluster, or two of these. A key that cannot be counted gets NaN; the others are
 * counted. All methods reject with a Fault `store_failed` if no key is known to be counted.
 */
export interface RedisCounters {
  /** The servers as log lines and errors name them, without credentials. */
  readonly address: string;
  /** Sources of refund notifications: one for each server or group of servers. */
  readonly feeds: readonly CountingServer[];
  /** The server of a key that is no counter. */
  serverOf(key: Uint8Array): KeyServer;
  /** Connects. Resolves when the counters are ready. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Applies the changes of each slot and sets `counts` to the counts before. */
  change(batch: CounterBatch, slots: Slots, changes: SlotChanges): Promise<Tally>;
  /**
   * Does what the calls ask of slots with leases, each slot atomically, and sets `counts` and what the store sets for leases.
   * For batches that {@link holdBack} does not support, and for reading.
   */
  lease(batch: CounterBatch, slots: Slots, calls: LeaseCalls): Promise<Tally>;
  /** Sets `counts` to the current counts. Not for slots with leases. */
  read(batch: CounterBatch, slots: Slots): Promise<Tally>;
  /** Removes the keys and publishes them as refunded. Sets `counts` to 0 or more for removed and missing keys. */
  remove(batch: CounterBatch, slots: Slots): Promise<Tally>;
  /**
   * Counts all ops, one request after the other and atomically, and holds back hits of requests over their limit. Sets
   * `opAfters` and `opHeld`. Null if these counters do not support it; see `holdBackByReading`.
   */
  holdBack(batch: CounterBatch): Promise<Tally> | null;
}

/** Provides the slots from 0 on, in order, without an allocation for each batch. */
export class FirstSlots {
  #all = new Int32Array(1_024).map((_, slot) => slot);

  take(count: number): Slots {
    if (count > this.#all.length) {
      this.#all = new Int32Array(Math.max(count, this.#all.length * 2)).map((_, slot) => slot);
    }
    return this.#all.subarray(0, count);
  }
}

/** Marks slots as not counted. */
export function uncounted(batch: CounterBatch, slots: Iterable<number>, failure: string): Tally {
  for (const slot of slots) batch.counts[slot] = Number.NaN;
  return { counted: 0, failure };
}

export function joined(tallies: readonly Tally[]): Tally {
  let counted = 0;
  let failure = '';
  let timedOut = false;
  for (const tally of tallies) {
    counted += tally.counted;
    failure ||= tally.failure;
    timedOut ||= tally.timedOut === true;
  }
  return { counted, failure, timedOut };
}

/** Consecutive ops or groups of a batch: `[first, end)`. */
export interface Chunk {
  readonly first: number;
  readonly end: number;
}

/**
 * Maximum number of keys or ops that are sent together. Redis serves no other client while a script runs, which takes some
 * milliseconds for this number. A batch can have sixteen times as many.
 */
export const MAX_CHUNK = 5_000;

/** Divides the groups of a batch into chunks. A group is never divided, so a large group can exceed the size of a chunk. */
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

/** The first op of a group, which is also the end of the previous group. */
export function groupStart(batch: CounterBatch, group: number): number {
  return group === 0 ? 0 : batch.groupEnds[group - 1];
}

/** The slots of the ops of a chunk without duplicates, and the index of each slot among them. */
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

import type { CounterBatch } from '../batch.ts';
import type { Chunk } from './chunks.ts';

/** What became of a chunk. */
export interface Tally {
  /** Slots or ops that have a count now. */
  readonly counted: number;
  /** The first error that Redis gave for a key; empty for none. */
  readonly failure: string;
}

/**
 * How a chunk of a batch is counted in Redis. A key that cannot be counted gets NaN; the others are counted.
 * Both throw a `RedisReplyError`, or a Fault `store_failed`, when nothing of the chunk is known to be counted.
 */
export interface CountingCommands {
  /** Adds the amounts of the slots and fills in their totals. */
  increment(batch: CounterBatch, slots: Chunk): Promise<Tally>;
  /** Adds the ops of the groups, holding back, and fills in their counts and whether they were held. */
  holdBack(batch: CounterBatch, groups: Chunk): Promise<Tally>;
}

/** A count of a reply; NaN for a key that could not be counted. */
export function countOf(reply: unknown): number {
  return typeof reply === 'number' ? reply : typeof reply === 'string' ? Number(reply) : Number.NaN;
}

/** Decimal text without an exponent; sums of hits may be beyond the numbers that print as digits. */
export function wholeNumber(value: number): string | number {
  return Number.isSafeInteger(value) ? value : BigInt(value).toString();
}

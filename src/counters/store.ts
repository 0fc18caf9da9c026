import type { CounterBatch } from './batch.ts';

/**
 * A place where hits are counted. It is asked in whole batches; counts come back in the batch.
 * One exam (`test/exam/counter-store.ts`) holds for every store.
 */
export interface CounterStore {
  readonly name: string;

  /** True when limits per second are counted in a place of their own, where equal keys are others. */
  readonly secondsApart?: boolean;

  /**
   * Makes the changes of every key of the batch and fills in what its ops find. A count that did not exist starts
   * at 0 and has its time to live from then on; a key that is only refunded is not made, and its time to live stays.
   * A store that counts in memory returns nothing, the others a promise.
   * @throws (or rejects with) Fault `store_failed`: no count of the batch is valid, hits may or may not be counted.
   */
  increment(batch: CounterBatch): void | Promise<void>;

  /**
   * The same for batches whose requests hold each other back (`STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT`):
   * request by request, in order and atomically. The ops of a request are a group of the batch.
   */
  incrementHoldingBack(batch: CounterBatch): void | Promise<void>;

  /**
   * Fills in `counts` with the present count of every key of the batch and counts nothing: 0 for a key that has no
   * count, NaN for one that cannot be read. Not for decisions; a store that cannot do it has no such method.
   * @throws (or rejects with) Fault `store_failed` when no count can be read
   */
  read?(batch: CounterBatch): void | Promise<void>;

  /** Connects. Resolves when the store answers. */
  start(): Promise<void>;
  /** Ends every connection and timer. */
  stop(): Promise<void>;
}

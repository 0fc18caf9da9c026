import { Fault } from '../base/fault.ts';
import type { CounterBatch } from './batch.ts';

/**
 * Counts hits, one batch per call. The store writes the counts into the batch. `test/exam/counter-store.ts` tests every
 * store.
 */
export interface CounterStore {
  readonly name: string;

  /** True if per-second limits are counted in a separate store, where equal keys are different counters. */
  readonly secondsApart?: boolean;

  /**
   * Applies the changes of the batch and sets its counts. A new count starts at 0 with the time to live of the slot. A
   * refund does not create a count and does not change its time to live. The embedded store returns nothing, other
   * stores return a promise.
   *
   * For the slots of `batch.admissions` (sliding windows and token buckets), only the hits of requests that fit are added,
   * and their counts are levels. Requests without any admitted hit need not leave anything in the store.
   *
   * Not for batches with leases, which are always decided by {@link incrementHoldingBack}.
   * @throws Fault `store_failed` (or rejects with it): no count is valid, and the hits may or may not be counted
   */
  increment(batch: CounterBatch): void | Promise<void>;

  /**
   * Like {@link increment}, but holds hits back (`STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT`): if any descriptor of a
   * request is over its limit (for the slots of `batch.admissions`: if its hits do not fit), the hits of its other
   * descriptors are not added. Requests (groups of the batch) are processed in order, each one atomically unless the
   * store documents otherwise.
   *
   * For the slots with leases, `leases/lease.ts` says what each op does. The ops of a request are looked at in order:
   * steps that cannot be refused apply at once, like refunds, and are never held back. The others apply after them, and
   * are not decided again, so two descriptors of a request with the same key and holder hold the hits of both. The store
   * sets the columns of `batch.leases`, and the level is the sum of the hits that are spent and held. A lease belongs to
   * the window in which it began: once the window has ended, it holds and spends nothing any more. Leases end by the
   * clock of the store.
   */
  incrementHoldingBack(batch: CounterBatch): void | Promise<void>;

  /**
   * Reads the current counts and levels of all keys into `counts`, and the floors and previous hits of `admissions`,
   * without counting: 0 for a key without a count, NaN for a key that cannot be read. Of slots with leases, also sets what is
   * held. For explanations, not for decisions. Optional.
   * @throws Fault `store_failed` (or rejects with it) if no count can be read
   */
  read?(batch: CounterBatch): void | Promise<void>;

  /**
   * Sets what {@link incrementHoldingBack} would set for the slots with leases and their ops, if nothing held back their hits,
   * and changes nothing: leases whose time is over are left for a decision to end. Each op may be looked at as if it were the
   * only one of its slot. For explanations, not for decisions. Optional.
   * @throws Fault `store_failed` (or rejects with it) if no key can be read
   */
  preview?(batch: CounterBatch): void | Promise<void>;

  /**
   * Removes the counts and states of all keys, and sets the batch to what they were just before, as {@link read} does: NaN
   * for a key that was not removed. Hits that are counted at the same time may be removed or not. Other processes are
   * notified as of refunds. For operators, not for decisions. Optional.
   * @throws Fault `store_failed` (or rejects with it) if no key can be removed
   */
  reset?(batch: CounterBatch): void | Promise<void>;

  /**
   * The live leases of each slot, in the order in which they end, without changing them. Null for a slot without leases, and
   * for one that cannot be read. For operators, not for decisions. Optional.
   * @param most how many leases to list of each slot
   * @throws Fault `store_failed` (or rejects with it) if no key can be read
   */
  leases?(
    batch: CounterBatch,
    most: number,
  ): readonly (SlotLeases | null)[] | Promise<readonly (SlotLeases | null)[]>;

  /** Connects. Resolves when the store responds. */
  start(): Promise<void>;
  /** Closes all connections and timers. */
  stop(): Promise<void>;
}

/** The live leases of a slot. */
export interface SlotLeases {
  /** The number of leases, also of those that are not listed. */
  readonly count: number;
  readonly listed: readonly LiveLease[];
}

/** A lease that has not ended. */
export interface LiveLease {
  /** The name of the holder as the store keeps it; see `OpLeases`. Empty for a lease without a holder. */
  readonly holder: string;
  /** The hits that it holds; 0 if it began in an earlier window, and in the mode `once`. */
  readonly hits: number;
  /** Milliseconds until it ends. */
  readonly endsMs: number;
}

/** Counts a batch. @param holdsBack whether exceeded limits hold back the other hits of their requests, also without leases */
export function countBatch(
  store: Pick<CounterStore, 'increment' | 'incrementHoldingBack'>,
  batch: CounterBatch,
  holdsBack: boolean,
): void | Promise<void> {
  return holdsBack || batch.leases.count > 0 ? store.incrementHoldingBack(batch) : store.increment(batch);
}

/** Calls what not every store can do. @throws Fault `store_failed` if this one cannot */
export function callIfAble(
  store: CounterStore,
  call: 'read' | 'preview' | 'reset',
  batch: CounterBatch,
): void | Promise<void> {
  if (store[call] !== undefined) return store[call](batch);
  throw new Fault('store_failed', `the ${store.name} store cannot be ${CALLED[call]}`);
}

const CALLED = { read: 'read', preview: 'previewed', reset: 'reset' } as const;

/** The live leases of each slot. @throws Fault `store_failed` if the store cannot list them; see {@link CounterStore.leases} */
export async function listLeases(
  store: CounterStore,
  batch: CounterBatch,
  most: number,
): Promise<readonly (SlotLeases | null)[]> {
  if (store.leases !== undefined) return store.leases(batch, most);
  throw new Fault('store_failed', `the ${store.name} store cannot list leases`);
}

import { asError, Fault } from '../base/fault.ts';
import { CommandTimeout } from '../clients/redis/errors.ts';
import type { CounterBatch } from './batch.ts';
import type { CounterStore } from './store.ts';
import type { CallFailure, TimedCall } from './timed-call.ts';
import { SECOND } from './window.ts';

/**
 * Notes in each batch when the store was called for it ({@link CounterBatch.timedCall}), for traces. Exists only if tracing
 * is enabled. It is inside a guarded store, so that the call that fails is seen, and not what replaces it.
 */
export class TimedStore implements CounterStore {
  readonly name: string;
  readonly #store: CounterStore;

  constructor(store: CounterStore) {
    this.name = store.name;
    this.#store = store;
    // Only stores that have these methods may appear to have them.
    if (store.read !== undefined) this.read = batch => store.read?.(batch);
    if (store.preview !== undefined) this.preview = batch => store.preview?.(batch);
    if (store.reset !== undefined) this.reset = batch => store.reset?.(batch);
    if (store.leases !== undefined) this.leases = store.leases.bind(store);
  }

  get secondsApart(): boolean {
    return this.#store.secondsApart === true;
  }

  readonly read?: (batch: CounterBatch) => void | Promise<void>;
  readonly preview?: (batch: CounterBatch) => void | Promise<void>;
  readonly reset?: (batch: CounterBatch) => void | Promise<void>;
  readonly leases?: NonNullable<CounterStore['leases']>;

  increment(batch: CounterBatch): void | Promise<void> {
    return timed(batch, () => this.#store.increment(batch));
  }

  incrementHoldingBack(batch: CounterBatch): void | Promise<void> {
    return timed(batch, () => this.#store.incrementHoldingBack(batch));
  }

  start(): Promise<void> {
    return this.#store.start();
  }

  stop(): Promise<void> {
    return this.#store.stop();
  }
}

function timed(batch: CounterBatch, call: () => void | Promise<void>): void | Promise<void> {
  const beganMs = Date.now();
  const from = performance.now();
  const ended = (failure: CallFailure | null): void => {
    const durationMs = performance.now() - from;
    batch.timedCall = { beganMs, durationMs, ...keysOf(batch), failure };
  };
  const failed = (failure: unknown): never => {
    ended(failureOf(failure));
    throw failure;
  };
  try {
    const counting = call();
    if (counting === undefined) ended(partOf(batch));
    else return counting.then(() => ended(partOf(batch)), failed);
  } catch (failure) {
    failed(failure);
  }
}

function keysOf({ slotCount, secondsApart, units }: CounterBatch): Pick<TimedCall, 'keys' | 'keysPerSecond'> {
  let keysPerSecond = 0;
  if (secondsApart) {
    for (let slot = 0; slot < slotCount; slot++) if (units[slot] === SECOND) keysPerSecond++;
  }
  return { keys: slotCount, keysPerSecond };
}

function partOf({ failureText }: CounterBatch): CallFailure | null {
  return failureText === '' ? null : { type: 'partial', message: failureText };
}

function failureOf(failure: unknown): CallFailure {
  const { message } = asError(failure);
  if (!(failure instanceof Fault)) return { type: 'internal', message };
  return { type: failure.cause instanceof CommandTimeout ? 'timeout' : failure.code, message };
}

import { Fault } from '../../src/base/fault.ts';
import type { CounterBatch } from '../../src/counters/batch.ts';
import type { CounterStore } from '../../src/counters/store.ts';

/** A store in front of another one, which a test lets fail. Answers with promises, as those do that can fail. */
export class FailingStore implements CounterStore {
  readonly name = 'failing';
  readonly #store: CounterStore;
  /** Why every batch fails; null while none does. */
  failure: string | null = null;
  /** Keys that get no count. */
  readonly uncountable = new Set<string>();
  /** Batches that it was asked for, by the keys of each. */
  readonly asked: string[][] = [];
  /** What `start` waits for. */
  starting: Promise<void> = Promise.resolve();
  starts = 0;
  /** A test may give it leases. */
  leases?: NonNullable<CounterStore['leases']>;

  constructor(store: CounterStore) {
    this.#store = store;
  }

  start(): Promise<void> {
    this.starts++;
    return this.starting;
  }

  async stop(): Promise<void> {}

  increment(batch: CounterBatch): Promise<void> {
    return this.#count(batch, () => this.#store.increment(batch));
  }

  read(batch: CounterBatch): void | Promise<void> {
    return this.#store.read?.(batch);
  }

  reset(batch: CounterBatch): void | Promise<void> {
    return this.#store.reset?.(batch);
  }

  incrementHoldingBack(batch: CounterBatch): Promise<void> {
    return this.#count(batch, () => this.#store.incrementHoldingBack(batch));
  }

  async #count(batch: CounterBatch, count: () => void | Promise<void>): Promise<void> {
    const keys = Array.from({ length: batch.slotCount }, (_, slot) => batch.keyText(slot));
    this.asked.push(keys);
    if (this.failure !== null) throw new Fault('store_failed', this.failure);
    await count();
    for (let op = 0; op < batch.opCount; op++) {
      if (!this.uncountable.has(keys[batch.opSlots[op]])) continue;
      batch.opAfters[op] = Number.NaN;
      batch.failureText = 'uncountable';
    }
  }
}

import { Fault } from '../../base/fault.ts';
import type { CounterBatch } from '../../counters/batch.ts';
import { holdBack } from '../../counters/holding-back.ts';
import type { CounterStore } from '../../counters/store.ts';

/** A store that works out what another one would answer, from its present counts, and counts nothing. */
export class ReadingStore implements CounterStore {
  readonly name: string;
  readonly secondsApart: boolean;
  /** By slot of the batch: the present count, NaN where it is not known. */
  present = new Float64Array(0);
  readonly #store: CounterStore;

  constructor(store: CounterStore) {
    this.name = store.name;
    this.secondsApart = store.secondsApart === true;
    this.#store = store;
  }

  async increment(batch: CounterBatch): Promise<void> {
    await this.#read(batch);
    batch.spreadCounts();
  }

  async incrementHoldingBack(batch: CounterBatch): Promise<void> {
    await this.#read(batch);
    holdBack(batch);
  }

  async start(): Promise<void> {}

  async stop(): Promise<void> {}

  async #read(batch: CounterBatch): Promise<void> {
    const store = this.#store;
    if (store.read === undefined) throw new Fault('store_failed', `the store ${store.name} cannot be read`);
    await store.read(batch);
    this.present = batch.counts.slice(0, batch.slotCount);
  }
}

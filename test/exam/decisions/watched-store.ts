import type { CounterBatch } from '../../../src/counters/batch.ts';
import type { CounterStore } from '../../../src/counters/store.ts';

/** Passes everything on to a real store and keeps what it was asked: keys, and when their windows end. */
export class WatchedStore implements CounterStore {
  readonly name: string;
  /** The keys of each call. */
  readonly calls: string[][] = [];
  /** For each key of each call the second in which its count stops to matter. */
  readonly windowEndsS: number[][] = [];
  readonly #store: CounterStore;

  constructor(store: CounterStore) {
    this.name = store.name;
    this.#store = store;
  }

  increment(batch: CounterBatch): void | Promise<void> {
    this.#note(batch);
    return this.#store.increment(batch);
  }

  incrementHoldingBack(batch: CounterBatch): void | Promise<void> {
    this.#note(batch);
    return this.#store.incrementHoldingBack(batch);
  }

  start(): Promise<void> {
    return this.#store.start();
  }

  stop(): Promise<void> {
    return this.#store.stop();
  }

  #note(batch: CounterBatch): void {
    this.calls.push(Array.from({ length: batch.slotCount }, (_, slot) => batch.keyText(slot)));
    this.windowEndsS.push(Array.from(batch.expiries.subarray(0, batch.slotCount)));
  }
}

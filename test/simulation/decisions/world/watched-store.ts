import type { CounterBatch } from '../../../../src/counters/batch.ts';
import type { CounterTable } from '../../../../src/counters/embedded/counter-table.ts';
import { EmbeddedCounterStore } from '../../../../src/counters/embedded/embedded-store.ts';

/** The embedded store of the product, and somebody who is told before and after each batch. */
export class WatchedStore extends EmbeddedCounterStore {
  readonly #before: () => void;
  readonly #after: () => void;

  constructor(table: CounterTable, before: () => void, after: () => void) {
    super(table);
    this.#before = before;
    this.#after = after;
  }

  override increment(batch: CounterBatch): void {
    this.#before();
    super.increment(batch);
    this.#after();
  }

  override incrementHoldingBack(batch: CounterBatch): void {
    this.#before();
    super.incrementHoldingBack(batch);
    this.#after();
  }
}

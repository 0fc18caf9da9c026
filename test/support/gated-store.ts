import { Fault } from '../../src/base/fault.ts';
import type { CounterBatch } from '../../src/counters/batch.ts';
import { CounterTable } from '../../src/counters/embedded/counter-table.ts';
import { EmbeddedCounterStore } from '../../src/counters/embedded/embedded-store.ts';

/** The embedded store behind a gate: each batch waits until it is let through, or made to fail. */
export class GatedStore extends EmbeddedCounterStore {
  readonly waiting: { readonly ops: number; pass(): void; fail(cause?: Error): void }[] = [];

  constructor() {
    super(CounterTable.create(1_024));
  }

  /** The ops of each batch that waits or has waited. */
  get sizes(): number[] {
    return this.waiting.map(batch => batch.ops);
  }

  override increment(batch: CounterBatch): Promise<void> {
    return new Promise((resolve, reject) => {
      this.waiting.push({
        ops: batch.opCount,
        pass: () => {
          super.increment(batch);
          resolve();
        },
        fail: (cause = new Fault('store_failed', 'no store')) => reject(cause),
      });
    });
  }
}

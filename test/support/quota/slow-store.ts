import { Fault } from '../../../src/base/fault.ts';
import type { CounterBatch } from '../../../src/counters/batch.ts';
import { CounterTable } from '../../../src/counters/embedded/counter-table.ts';
import { EmbeddedCounterStore } from '../../../src/counters/embedded/embedded-store.ts';
import type { SeededRandom } from '../seeded-random.ts';

interface SlowStoreParts {
  readonly random: SeededRandom;
  /** The longest that a batch takes, in milliseconds of a simulation. */
  readonly slowestMs: number;
  /** The part of the batches that fail. Whether these are counted is left to chance. */
  readonly failing: number;
  /** Runs something after a time of the simulation. */
  readonly after: (delayMs: number, run: () => void) => void;
}

/** The embedded store, as if it was far away: batches take some time, and are counted at any moment of it. */
export class SlowStore extends EmbeddedCounterStore {
  readonly #parts: SlowStoreParts;

  constructor(parts: SlowStoreParts) {
    super(CounterTable.create(10_000));
    this.#parts = parts;
  }

  override increment(batch: CounterBatch): Promise<void> {
    const { random, slowestMs, failing, after } = this.#parts;
    const takesMs = random.next() * slowestMs;
    const fails = random.next() < failing;
    const isCounted = !fails || random.next() < 0.5;
    const isCountedFirst = random.next() < 0.5;
    if (isCounted && isCountedFirst) super.increment(batch);
    return new Promise((resolve, reject) => {
      after(takesMs, () => {
        if (isCounted && !isCountedFirst) super.increment(batch);
        if (fails) reject(new Fault('store_failed', 'the store has failed'));
        else resolve();
      });
    });
  }
}

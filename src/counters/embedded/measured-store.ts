import type { CounterBatch } from '../batch.ts';
import type { CounterStore, SlotLeases } from '../store.ts';
import type { StoreCalls } from '../store-calls.ts';
import type { EmbeddedCounterStore } from './embedded-store.ts';

/**
 * Measures calls of the embedded store: at most one in each millisecond, because a call may be shorter than reading the
 * clock twice.
 */
export class MeasuredEmbeddedStore implements CounterStore {
  readonly name: string;
  readonly #store: EmbeddedCounterStore;
  readonly #calls: StoreCalls;
  #measuredMs = 0;

  constructor(store: EmbeddedCounterStore, calls: StoreCalls) {
    this.name = store.name;
    this.#store = store;
    this.#calls = calls;
  }

  start(): Promise<void> {
    return this.#store.start();
  }

  stop(): Promise<void> {
    return this.#store.stop();
  }

  increment(batch: CounterBatch): void {
    const startedMs = this.#started(batch);
    this.#store.increment(batch);
    if (startedMs > 0) this.#calls.ended('ok', startedMs);
  }

  incrementHoldingBack(batch: CounterBatch): void {
    const startedMs = this.#started(batch);
    this.#store.incrementHoldingBack(batch);
    if (startedMs > 0) this.#calls.ended('ok', startedMs);
  }

  read(batch: CounterBatch): void {
    this.#store.read(batch);
  }

  preview(batch: CounterBatch): void {
    this.#store.preview(batch);
  }

  reset(batch: CounterBatch): void {
    this.#store.reset(batch);
  }

  leases(batch: CounterBatch, most: number): (SlotLeases | null)[] {
    return this.#store.leases(batch, most);
  }

  /** The time at which a call starts that is measured; 0 for the others. */
  #started({ nowMs }: CounterBatch): number {
    if (nowMs === this.#measuredMs) return 0;
    this.#measuredMs = nowMs;
    return performance.now();
  }
}

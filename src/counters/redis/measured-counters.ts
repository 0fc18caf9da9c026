import { Fault } from '../../base/fault.ts';
import { CommandTimeout } from '../../clients/redis/errors.ts';
import type { CounterBatch } from '../batch.ts';
import type { SlotChanges } from '../slot-changes.ts';
import type { CallOutcome, StoreCalls } from '../store-calls.ts';
import type { RedisCounters, Slots, Tally } from './commands/counters.ts';
import type { LeaseCalls } from './commands/lease-calls.ts';
import type { CountingServer, KeyServer } from './connections/counting-server.ts';

/** Measures the calls that count hits in one Redis, including the wait for a connection. */
export class MeasuredCounters implements RedisCounters {
  readonly #counters: RedisCounters;
  readonly #calls: StoreCalls;

  constructor(counters: RedisCounters, calls: StoreCalls) {
    this.#counters = counters;
    this.#calls = calls;
  }

  get address(): string {
    return this.#counters.address;
  }

  get feeds(): readonly CountingServer[] {
    return this.#counters.feeds;
  }

  serverOf(key: Uint8Array): KeyServer {
    return this.#counters.serverOf(key);
  }

  start(): Promise<void> {
    return this.#counters.start();
  }

  stop(): Promise<void> {
    return this.#counters.stop();
  }

  change(batch: CounterBatch, slots: Slots, changes: SlotChanges): Promise<Tally> {
    const startedMs = performance.now();
    return this.#measured(this.#counters.change(batch, slots, changes), startedMs);
  }

  holdBack(batch: CounterBatch): Promise<Tally> | null {
    const startedMs = performance.now();
    const counting = this.#counters.holdBack(batch);
    return counting === null ? null : this.#measured(counting, startedMs);
  }

  lease(batch: CounterBatch, slots: Slots, calls: LeaseCalls): Promise<Tally> {
    if (calls.isReading) return this.#counters.lease(batch, slots, calls);
    const startedMs = performance.now();
    return this.#measured(this.#counters.lease(batch, slots, calls), startedMs);
  }

  read(batch: CounterBatch, slots: Slots): Promise<Tally> {
    return this.#counters.read(batch, slots);
  }

  remove(batch: CounterBatch, slots: Slots): Promise<Tally> {
    return this.#counters.remove(batch, slots);
  }

  async #measured(counting: Promise<Tally>, startedMs: number): Promise<Tally> {
    try {
      const tally = await counting;
      this.#calls.ended(outcomeOf(tally), startedMs);
      return tally;
    } catch (failure) {
      const isTimeout = failure instanceof Fault && failure.cause instanceof CommandTimeout;
      this.#calls.ended(isTimeout ? 'timeout' : 'error', startedMs);
      throw failure;
    }
  }
}

function outcomeOf({ counted, failure, timedOut }: Tally): CallOutcome {
  if (failure === '') return 'ok';
  if (counted > 0) return 'partial';
  return timedOut === true ? 'timeout' : 'error';
}

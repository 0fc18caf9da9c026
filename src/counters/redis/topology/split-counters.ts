import { Fault } from '../../../base/fault.ts';
import type { CounterBatch } from '../../batch.ts';
import type { SlotChanges } from '../../slot-changes.ts';
import { SECOND } from '../../window.ts';
import {
  joined,
  NOTHING,
  type RedisCounters,
  type Slots,
  type Tally,
  uncounted,
} from '../commands/counters.ts';
import type { LeaseCalls } from '../commands/lease-calls.ts';
import type { CountingServer, KeyServer } from '../connections/counting-server.ts';

/**
 * Two instances of Redis: one for limits per second, one for all others. Both are asked concurrently. If one fails, only
 * the requests that need it fail.
 */
export class SplitCounters implements RedisCounters {
  readonly address: string;
  readonly #main: RedisCounters;
  readonly #perSecond: RedisCounters;

  constructor(instances: { readonly main: RedisCounters; readonly perSecond: RedisCounters }) {
    this.#main = instances.main;
    this.#perSecond = instances.perSecond;
    this.address = `${instances.main.address} and, for limits per second, ${instances.perSecond.address}`;
  }

  get feeds(): readonly CountingServer[] {
    return [...this.#main.feeds, ...this.#perSecond.feeds];
  }

  serverOf(key: Uint8Array): KeyServer {
    return this.#main.serverOf(key);
  }

  async start(): Promise<void> {
    await Promise.all([this.#perSecond.start(), this.#main.start()]);
  }

  async stop(): Promise<void> {
    await Promise.all([this.#perSecond.stop(), this.#main.stop()]);
  }

  change(batch: CounterBatch, slots: Slots, changes: SlotChanges): Promise<Tally> {
    return this.#both(batch, slots, (counters, own) => counters.change(batch, own, changes));
  }

  lease(batch: CounterBatch, slots: Slots, calls: LeaseCalls): Promise<Tally> {
    return this.#both(batch, slots, (counters, own) => counters.lease(batch, own, calls));
  }

  read(batch: CounterBatch, slots: Slots): Promise<Tally> {
    return this.#both(batch, slots, (counters, own) => counters.read(batch, own));
  }

  remove(batch: CounterBatch, slots: Slots): Promise<Tally> {
    return this.#both(batch, slots, (counters, own) => counters.remove(batch, own));
  }

  holdBack(batch: CounterBatch): Promise<Tally> | null {
    const only = this.#onlyInstance(batch);
    return only === null ? null : only.holdBack(batch);
  }

  #both(
    batch: CounterBatch,
    slots: Slots,
    ask: (counters: RedisCounters, own: Slots) => Promise<Tally>,
  ): Promise<Tally> {
    const only = this.#onlyInstance(batch);
    if (only !== null) return ask(only, slots);
    const seconds = slots.filter(slot => batch.units[slot] === SECOND);
    const others = slots.filter(slot => batch.units[slot] !== SECOND);
    return Promise.all([
      settled(batch, others, () => ask(this.#main, others)),
      settled(batch, seconds, () => ask(this.#perSecond, seconds)),
    ]).then(joined);
  }

  /** The instance of all keys of the batch; null if the batch needs both. */
  #onlyInstance(batch: CounterBatch): RedisCounters | null {
    let seconds = 0;
    for (let slot = 0; slot < batch.slotCount; slot++) if (batch.units[slot] === SECOND) seconds++;
    if (seconds === 0) return this.#main;
    return seconds === batch.slotCount ? this.#perSecond : null;
  }
}

/** If the instance fails, its slots are marked as not counted. */
async function settled(batch: CounterBatch, slots: Slots, ask: () => Promise<Tally>): Promise<Tally> {
  try {
    return slots.length === 0 ? NOTHING : await ask();
  } catch (failure) {
    if (failure instanceof Fault) return uncounted(batch, slots, failure.message);
    throw failure;
  }
}

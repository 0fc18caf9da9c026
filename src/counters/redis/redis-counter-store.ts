import type { Clock } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import type { Logger } from '../../base/logger.ts';
import type { Outage } from '../../base/outage-log.ts';
import { blamesKey, shortened } from '../../clients/redis/errors.ts';
import { type CounterBatch, callsOf, callsWithoutCount } from '../batch.ts';
import { FailureLog } from '../failure-log.ts';
import type { CounterStore, SlotLeases } from '../store.ts';
import { FirstSlots, type RedisCounters, type Tally } from './commands/counters.ts';
import { LeaseCalls } from './commands/lease-calls.ts';
import { leaseLists } from './commands/lease-lists.ts';
import { holdBackLeasesFirst, readAll } from './commands/leases-first.ts';
import { holdBackByReading } from './commands/without-scripts.ts';
import type { KeyServer } from './connections/counting-server.ts';
import { type FeedListener, RefundFeed } from './connections/refund-feed.ts';

interface RedisCounterStoreParts {
  readonly counters: RedisCounters;
  /** True if limits per second are counted in a separate instance. */
  readonly secondsApart: boolean;
  /** Receives the refunds of other processes; null without a local cache. */
  readonly refunds: { readonly listener: FeedListener; readonly timeoutMs: number } | null;
  /** The outages of the instances. */
  readonly outages: readonly Outage[];
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The counter store in Redis, with any arrangement of servers. */
export class RedisCounterStore implements CounterStore {
  readonly name = 'redis';
  readonly secondsApart: boolean;
  readonly #counters: RedisCounters;
  readonly #outages: readonly Outage[];
  /** Failures of single keys. Failures of all keys are outages. */
  readonly #failures: FailureLog;
  readonly #slots = new FirstSlots();
  readonly #feeds: readonly RefundFeed[];

  constructor({ counters, secondsApart, refunds, outages, clock, logger }: RedisCounterStoreParts) {
    this.#counters = counters;
    this.#outages = outages;
    this.secondsApart = secondsApart;
    this.#failures = new FailureLog(clock, (reason, times) =>
      logger.error('Redis cannot count a key; requests that need it fail', {
        address: counters.address,
        reason,
        times,
      }),
    );
    this.#feeds =
      refunds === null
        ? []
        : counters.feeds.map(
            source =>
              new RefundFeed(source, { timeoutMs: refunds.timeoutMs, clock, logger }, refunds.listener),
          );
  }

  /** The server of a key that is no counter. */
  serverOf(key: string): KeyServer {
    return this.#counters.serverOf(Buffer.from(key));
  }

  async start(): Promise<void> {
    await this.#counters.start();
    for (const feed of this.#feeds) feed.start();
  }

  async stop(): Promise<void> {
    await Promise.all([this.#counters.stop(), ...this.#feeds.map(feed => feed.stop())]);
  }

  increment(batch: CounterBatch): Promise<void> {
    if (batch.slotCount === 0) return Promise.resolve();
    const counting = this.#counters.change(batch, this.#slots.take(batch.slotCount), batch.changes);
    return this.#settle(batch, counting, () => batch.spreadCounts());
  }

  incrementHoldingBack(batch: CounterBatch): Promise<void> {
    if (batch.slotCount === 0) return Promise.resolve();
    const slots = this.#slots.take(batch.slotCount);
    const reading = batch.leases.count > 0 ? holdBackLeasesFirst : holdBackByReading;
    const counting = this.#counters.holdBack(batch) ?? reading(this.#counters, batch, slots);
    return this.#settle(batch, counting);
  }

  read(batch: CounterBatch): Promise<void> {
    if (batch.slotCount === 0) return Promise.resolve();
    return this.#settle(batch, readAll(this.#counters, batch, this.#slots.take(batch.slotCount)));
  }

  async preview(batch: CounterBatch): Promise<void> {
    const slots = this.#slots.take(batch.slotCount).filter(slot => batch.admissions.isLeased(slot));
    if (slots.length === 0) return;
    await this.#settle(batch, this.#counters.lease(batch, slots, LeaseCalls.previewing()));
  }

  leases(batch: CounterBatch, most: number): Promise<(SlotLeases | null)[]> {
    return leaseLists(batch, most, key => this.#counters.serverOf(key));
  }

  /** Reads the counts, and then removes the keys. */
  async reset(batch: CounterBatch): Promise<void> {
    if (batch.slotCount === 0) return;
    const slots = this.#slots.take(batch.slotCount);
    await this.#settle(batch, readAll(this.#counters, batch, slots));
    const before = batch.counts.slice(0, batch.slotCount);
    const readable = slots.filter(slot => !Number.isNaN(before[slot]));
    if (readable.length === 0) return;
    await this.#settle(batch, this.#counters.remove(batch, readable));
    for (const slot of readable) if (!Number.isNaN(batch.counts[slot])) batch.counts[slot] = before[slot];
  }

  /** @throws Fault if no key of the batch is known to be counted */
  async #settle(batch: CounterBatch, counting: Promise<Tally>, counted?: () => void): Promise<void> {
    try {
      const tally = await counting;
      if (tally.failure !== '') this.#failedInPart(batch, tally);
    } catch (failure) {
      if (failure instanceof Fault) this.#callsFailed(callsOf(batch));
      throw failure;
    }
    counted?.();
  }

  /** @throws Fault if nothing was counted, and not because of the keys */
  #failedInPart(batch: CounterBatch, { counted, failure }: Tally): void {
    if (counted === 0 && !blamesKey(failure)) throw new Fault('store_failed', failure);
    batch.failureText = shortened(failure);
    if (blamesKey(batch.failureText)) this.#failures.failed(batch.failureText);
    else this.#callsFailed(callsWithoutCount(batch));
  }

  #callsFailed(calls: number): void {
    for (const outage of this.#outages) outage.callsFailed(calls);
  }
}

import type { CounterBatch, SlotChanges } from '../../batch.ts';
import type { RedisCounters, Slots, Tally } from '../commands/counters.ts';
import type { SharedKeys } from '../commands/time-to-live.ts';
import { type PoolOptions, RedisPool } from '../connections/pool.ts';
import type { RedisLinkParts } from '../connections/redis-link.ts';
import type { FeedSource } from '../connections/refund-feed.ts';
import { MasterWatch } from './master-watch.ts';
import { type SentinelOptions, Sentinels } from './sentinels.ts';
import { ServerCounters } from './server-counters.ts';

interface SentinelCountersOptions {
  readonly sentinels: Omit<SentinelOptions, 'timeoutMs' | 'logger'>;
  readonly pool: PoolOptions;
  readonly sharedKeys: SharedKeys;
}

/** Counters in the master that sentinels name, wherever it is. */
export class SentinelCounters implements RedisCounters {
  readonly address: string;
  readonly #sentinels: Sentinels;
  readonly #master: ServerCounters;
  readonly #watch: MasterWatch;

  constructor(options: SentinelCountersOptions, parts: RedisLinkParts) {
    const { timeoutMs, logger, clock } = parts;
    this.#sentinels = new Sentinels({ ...options.sentinels, timeoutMs, logger });
    this.address = this.#sentinels.address;
    const find = () => this.#sentinels.findMaster(pool.up);
    const target = { address: this.address, find, mustBeMaster: true, scripts: true };
    const pool = new RedisPool(target, options.pool, parts);
    this.#master = new ServerCounters(pool, options.sharedKeys);
    this.#watch = new MasterWatch(this.#sentinels, pool, clock);
  }

  get feeds(): readonly FeedSource[] {
    return this.#master.feeds;
  }

  async start(): Promise<void> {
    await this.#master.start();
    this.#watch.start();
  }

  async stop(): Promise<void> {
    this.#watch.stop();
    await Promise.all([this.#sentinels.stop(), this.#master.stop()]);
  }

  change(batch: CounterBatch, slots: Slots, changes: SlotChanges): Promise<Tally> {
    return this.#master.change(batch, slots, changes);
  }

  read(batch: CounterBatch, slots: Slots): Promise<Tally> {
    return this.#master.read(batch, slots);
  }

  holdBack(batch: CounterBatch): Promise<Tally> | null {
    return this.#master.holdBack(batch);
  }
}

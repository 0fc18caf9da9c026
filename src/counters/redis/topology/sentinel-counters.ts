import type { Clock, Timer } from '../../../base/clock.ts';
import type { CounterBatch, SlotChanges } from '../../batch.ts';
import type { RedisCounters, Slots, Tally } from '../commands/counters.ts';
import type { SharedKeys } from '../commands/scripted-commands.ts';
import { type PoolOptions, RedisPool } from '../connections/pool.ts';
import type { RedisLinkParts } from '../connections/redis-link.ts';
import type { FeedSource } from '../connections/refund-feed.ts';
import { type SentinelOptions, Sentinels } from './sentinels.ts';
import { ServerCounters } from './server-counters.ts';

/**
 * Interval at which the sentinels are asked for the master. After a manual failover they leave the old master unchanged
 * for eight seconds, and hits that are counted there are lost.
 */
const EVERY_MS = 1_000;

/**
 * Disconnects from a former master. In most failovers the connections to the old master are closed, or it replies READONLY.
 * But a master that is isolated from the others continues to count, and these hits are lost.
 */
class MasterWatch {
  readonly #sentinels: Sentinels;
  readonly #pool: RedisPool;
  readonly #clock: Clock;
  #timer: Timer | null = null;
  #stopped = false;

  constructor(sentinels: Sentinels, pool: RedisPool, clock: Clock) {
    this.#sentinels = sentinels;
    this.#pool = pool;
    this.#clock = clock;
  }

  start(): void {
    if (this.#stopped) return;
    this.#timer = this.#clock.after(EVERY_MS, () => {
      void this.#look();
    });
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  async #look(): Promise<void> {
    try {
      // Without a connection, each attempt to connect asks the sentinels.
      if (this.#pool.up) {
        const { shown } = await this.#sentinels.findMaster(true);
        if (!this.#stopped)
          this.#pool.leaveOthers(shown, `the sentinels say that ${shown} is the master now`);
      }
    } catch {
      // `findMaster` has logged the errors. The connection is kept.
    }
    this.start();
  }
}

interface SentinelCountersOptions {
  readonly sentinels: Omit<SentinelOptions, 'timeoutMs' | 'logger'>;
  readonly pool: PoolOptions;
  readonly sharedKeys: SharedKeys;
}

/** Counters in the master that the sentinels name. */
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

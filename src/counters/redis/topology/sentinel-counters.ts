import type { Clock, Timer } from '../../../base/clock.ts';
import { elsewhere, hostPort, type RedisEndpoint } from '../../../clients/redis/address.ts';
import type { CounterBatch, SlotChanges } from '../../batch.ts';
import type { RedisCounters, Slots, Tally } from '../commands/counters.ts';
import type { SharedKeys } from '../commands/shared-keys.ts';
import type { CountingServer, KeyServer } from '../connections/counting-server.ts';
import { type PoolOptions, RedisPool } from '../connections/pool.ts';
import type { RedisLinkParts } from '../connections/redis-link.ts';
import type { Finding } from './finding.ts';
import { type SentinelOptions, Sentinels } from './sentinels.ts';
import { ServerCounters } from './server-counters.ts';
import type { NodeAddress } from './slot-map.ts';

/**
 * Interval at which the sentinels are asked for the master. After a manual failover they leave the old master unchanged
 * for eight seconds, and hits that are counted there are lost.
 */
const EVERY_MS = 1_000;

/** Minimum time before the sentinels are asked again because a thread has lost the master. */
const AT_MOST_EVERY_MS = 250;

function isMasterNow(shown: string): string {
  return `the sentinels say that ${shown} is the master now`;
}

/**
 * Disconnects from a former master. In most failovers the connections to the old master are closed, or it replies READONLY.
 * But a master that is isolated from the others continues to count, and these hits are lost.
 */
class MasterWatch {
  readonly #find: () => Promise<RedisEndpoint>;
  readonly #pool: RedisPool;
  readonly #clock: Clock;
  #timer: Timer | null = null;
  #lookedMs = 0;
  #stopped = false;

  /** @param find asks the sentinels */
  constructor(find: () => Promise<RedisEndpoint>, pool: RedisPool, clock: Clock) {
    this.#find = find;
    this.#pool = pool;
    this.#clock = clock;
  }

  start(): void {
    if (this.#stopped) return;
    this.#timer = this.#clock.after(EVERY_MS, () => {
      void this.#look();
    });
  }

  /** Asks the sentinels now, unless they are being asked or were asked a moment ago. */
  lookNow(): void {
    const isSoon = Math.abs(this.#clock.nowMs() - this.#lookedMs) < AT_MOST_EVERY_MS;
    if (this.#timer === null || isSoon) return;
    this.#timer.cancel();
    void this.#look();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#timer = null;
  }

  async #look(): Promise<void> {
    this.#timer = null;
    this.#lookedMs = this.#clock.nowMs();
    try {
      // Without a connection, each attempt to connect asks the sentinels.
      if (this.#pool.up) {
        const { shown } = await this.#find();
        if (!this.#stopped) this.#pool.leaveOthers(shown, isMasterNow(shown));
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
  /** The address of the master. Only one thread of the process asks the sentinels for it. */
  readonly master: Finding<NodeAddress>;
}

/** Counters in the master that the sentinels name. */
export class SentinelCounters implements RedisCounters {
  readonly address: string;
  readonly #sentinels: Sentinels;
  readonly #master: ServerCounters;
  readonly #pool: RedisPool;
  readonly #watch: MasterWatch;
  readonly #options: SentinelCountersOptions;
  /** The master that another thread had found at the last attempt to connect. */
  #tried: NodeAddress | null = null;
  #unfollow: () => void = () => {};

  constructor(options: SentinelCountersOptions, parts: RedisLinkParts) {
    const { timeoutMs, logger, clock } = parts;
    const { sentinels, sharedKeys, master } = options;
    this.#options = options;
    this.#sentinels = new Sentinels({ ...sentinels, timeoutMs, logger });
    this.address = this.#sentinels.address;
    const find = master.isFoundHere ? () => this.#find() : async () => this.#known();
    const target = { address: this.address, find, mustBeMaster: true, scripts: true };
    this.#pool = new RedisPool(target, options.pool, parts);
    this.#master = new ServerCounters(this.#pool, sharedKeys);
    this.#watch = new MasterWatch(find, this.#pool, clock);
    if (master.isFoundHere) master.onLookAgain(() => this.#watch.lookNow());
  }

  get feeds(): readonly CountingServer[] {
    return this.#master.feeds;
  }

  serverOf(): KeyServer {
    return this.#master.serverOf();
  }

  async start(): Promise<void> {
    const { master } = this.#options;
    if (!master.isFoundHere) this.#unfollow = master.follow(found => this.#leaveOthers(found));
    await this.#master.start();
    if (master.isFoundHere) this.#watch.start();
  }

  async stop(): Promise<void> {
    this.#watch.stop();
    this.#unfollow();
    await Promise.all([this.#sentinels.stop(), this.#master.stop()]);
  }

  change(batch: CounterBatch, slots: Slots, changes: SlotChanges): Promise<Tally> {
    return this.#master.change(batch, slots, changes);
  }

  read(batch: CounterBatch, slots: Slots): Promise<Tally> {
    return this.#master.read(batch, slots);
  }

  remove(batch: CounterBatch, slots: Slots): Promise<Tally> {
    return this.#master.remove(batch, slots);
  }

  holdBack(batch: CounterBatch): Promise<Tally> | null {
    return this.#master.holdBack(batch);
  }
  async #find(): Promise<RedisEndpoint> {
    const endpoint = await this.#sentinels.findMaster(this.#pool.up);
    const { target } = endpoint;
    if ('host' in target) this.#options.master.set({ host: target.host, port: target.port });
    return endpoint;
  }

  /** The master that another thread has found. */
  #known(): RedisEndpoint {
    const { master, sentinels } = this.#options;
    // The connection to this master failed or was lost, so there may be another one.
    if (!this.#pool.up && master.latest === this.#tried) master.lookAgain();
    this.#tried = master.latest;
    if (master.latest === null) throw new Error('the primary thread has not found the master yet');
    return elsewhere(sentinels.access, master.latest.host, master.latest.port);
  }

  #leaveOthers({ host, port }: NodeAddress): void {
    const shown = hostPort(host, port);
    this.#pool.leaveOthers(shown, isMasterNow(shown));
  }
}

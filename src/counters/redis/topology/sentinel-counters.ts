import type { Clock, Timer } from '../../../base/clock.ts';
import { elsewhere, hostPort, type RedisEndpoint } from '../../../clients/redis/address.ts';
import type { SharedKeys } from '../commands/shared-keys.ts';
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

interface SentinelCountersOptions {
  readonly sentinels: Omit<SentinelOptions, 'timeoutMs' | 'logger'>;
  readonly pool: PoolOptions;
  readonly sharedKeys: SharedKeys;
  /** The address of the master. Only one thread of the process asks the sentinels for it. */
  readonly master: Finding<NodeAddress>;
}

/**
 * The connections to the master. They are replaced if the sentinels name another one: in most failovers the connections to
 * the old master are closed, or it replies READONLY. But a master that is isolated from the others continues to count, and
 * these hits are lost.
 */
class Master {
  readonly pool: RedisPool;
  readonly #options: SentinelCountersOptions;
  readonly #sentinels: Sentinels;
  readonly #clock: Clock;
  readonly #find: () => Promise<RedisEndpoint>;
  /** The master that another thread had found at the last attempt to connect. */
  #tried: NodeAddress | null = null;
  #unfollow: () => void = () => {};
  #timer: Timer | null = null;
  #lookedMs = 0;
  #stopped = false;

  constructor(options: SentinelCountersOptions, parts: RedisLinkParts) {
    const { timeoutMs, logger, clock } = parts;
    const { sentinels, master } = options;
    this.#options = options;
    this.#clock = clock;
    this.#sentinels = new Sentinels({ ...sentinels, timeoutMs, logger });
    this.#find = master.isFoundHere ? () => this.#ask() : async () => this.#known();
    const { address } = this.#sentinels;
    const target = { address, find: this.#find, mustBeMaster: true, scripts: true };
    this.pool = new RedisPool(target, options.pool, parts);
    if (master.isFoundHere) master.onLookAgain(() => this.#lookNow());
  }

  /** Follows what another thread finds, if that thread asks the sentinels. */
  follow(): void {
    const { master } = this.#options;
    if (!master.isFoundHere)
      this.#unfollow = master.follow(found => this.#moveTo(hostPort(found.host, found.port)));
  }

  /** Asks the sentinels at an interval, if this is the thread that does. */
  watch(): void {
    if (this.#stopped || !this.#options.master.isFoundHere) return;
    this.#timer = this.#clock.after(EVERY_MS, () => {
      void this.#look();
    });
  }

  stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#timer = null;
    this.#unfollow();
    return this.#sentinels.stop();
  }

  /** Asks the sentinels now, unless they are being asked or were asked a moment ago. */
  #lookNow(): void {
    const isSoon = Math.abs(this.#clock.nowMs() - this.#lookedMs) < AT_MOST_EVERY_MS;
    if (this.#timer === null || isSoon) return;
    this.#timer.cancel();
    void this.#look();
  }

  async #look(): Promise<void> {
    this.#timer = null;
    this.#lookedMs = this.#clock.nowMs();
    try {
      // Without a connection, each attempt to connect asks the sentinels.
      if (this.pool.up) {
        const { shown } = await this.#find();
        if (!this.#stopped) this.#moveTo(shown);
      }
    } catch {
      // `findMaster` has logged the errors. The connection is kept.
    }
    this.watch();
  }

  async #ask(): Promise<RedisEndpoint> {
    const endpoint = await this.#sentinels.findMaster(this.pool.up);
    const { target } = endpoint;
    if ('host' in target) this.#options.master.set({ host: target.host, port: target.port });
    return endpoint;
  }

  /** The master that another thread has found. */
  #known(): RedisEndpoint {
    const { master, sentinels } = this.#options;
    // The connection to this master failed or was lost, so there may be another one.
    if (!this.pool.up && master.latest === this.#tried) master.lookAgain();
    this.#tried = master.latest;
    if (master.latest === null) throw new Error('the primary thread has not found the master yet');
    return elsewhere(sentinels.access, master.latest.host, master.latest.port);
  }

  #moveTo(shown: string): void {
    this.pool.leaveOthers(shown, `the sentinels say that ${shown} is the master now`);
  }
}

/** Counters in the master that the sentinels name. */
export class SentinelCounters extends ServerCounters {
  readonly #master: Master;

  constructor(options: SentinelCountersOptions, parts: RedisLinkParts) {
    const master = new Master(options, parts);
    super(master.pool, options.sharedKeys);
    this.#master = master;
  }

  override async start(): Promise<void> {
    this.#master.follow();
    await super.start();
    this.#master.watch();
  }

  override async stop(): Promise<void> {
    await Promise.all([this.#master.stop(), super.stop()]);
  }
}

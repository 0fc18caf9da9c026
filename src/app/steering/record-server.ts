import type { Logger } from '../../base/logger.ts';
import { elsewhere, type RedisEndpoint } from '../../clients/redis/address.ts';
import { Sentinels } from '../../counters/redis/topology/sentinels.ts';
import { readRedirect } from '../../counters/redis/topology/slot-map.ts';
import { clusterEndpoints, redisEndpoint, sentinelAddress } from '../../settings/kinds/redis-address.ts';
import type { Settings } from '../../settings/table.ts';
import type { RecordServer } from '../../steering/redis-records.ts';
import { mainInstance } from '../stores/redis-counters.ts';

/** The Redis server that has the steering records: the one of the settings, a master that sentinels name, or a cluster node. */
export function openRecordServer(settings: Settings, logger: Logger): RecordServer {
  const instance = mainInstance(settings);
  const { type, tls, authFile, sentinelAuth, sentinelAuthFile } = instance;
  const reached = (address: Omit<RedisEndpoint, 'tls' | 'authFile'>): RedisEndpoint => ({
    ...address,
    tls,
    authFile,
  });
  if (type === 'cluster') return new ClusterRecordServer(clusterEndpoints(instance).map(reached));
  if (type === 'sentinel') {
    const { masterName, access, sentinels } = sentinelAddress(instance, sentinelAuth);
    const asked = sentinels.map(each => ({ ...reached(each), authFile: sentinelAuthFile }));
    const timeoutMs = settings.redisTimeoutMs;
    return new SentinelRecordServer(
      new Sentinels({ masterName, access: reached(access), sentinels: asked, timeoutMs, logger }),
    );
  }
  const endpoint = reached(redisEndpoint(instance));
  return {
    address: endpoint.shown,
    find: async () => endpoint,
    redirected: () => false,
    failed: () => {},
    mustBeMaster: false,
    stop: async () => {},
  };
}

class SentinelRecordServer implements RecordServer {
  readonly mustBeMaster = true;
  readonly #sentinels: Sentinels;
  #isUp = false;

  constructor(sentinels: Sentinels) {
    this.#sentinels = sentinels;
  }

  get address(): string {
    return this.#sentinels.address;
  }

  async find(): Promise<RedisEndpoint> {
    const found = await this.#sentinels.findMaster(this.#isUp);
    this.#isUp = true;
    return found;
  }

  redirected(): boolean {
    return false;
  }

  failed(): void {
    this.#isUp = false;
  }

  stop(): Promise<void> {
    return this.#sentinels.stop();
  }
}

/** Asks one of the configured nodes, which names the node that has the key. */
class ClusterRecordServer implements RecordServer {
  readonly address: string;
  readonly mustBeMaster = false;
  readonly #seeds: readonly RedisEndpoint[];
  #turn = 0;
  #named: RedisEndpoint | null = null;

  constructor(seeds: readonly RedisEndpoint[]) {
    this.#seeds = seeds;
    this.address = seeds.map(({ shown }) => shown).join(', ');
  }

  async find(): Promise<RedisEndpoint> {
    return this.#named ?? this.#seeds[this.#turn % this.#seeds.length];
  }

  redirected(error: string): boolean {
    const { target } = this.#named ?? this.#seeds[this.#turn % this.#seeds.length];
    const redirect = readRedirect(error, 'host' in target ? target.host : '127.0.0.1');
    // While a slot moves, the key may be at either node. The next attempt asks again.
    if (redirect === null || redirect.asking) return false;
    this.#named = elsewhere(this.#seeds[0], redirect.node.host, redirect.node.port);
    return true;
  }

  failed(): void {
    this.#named = null;
    this.#turn++;
  }

  async stop(): Promise<void> {}
}

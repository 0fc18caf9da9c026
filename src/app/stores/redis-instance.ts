import type { AuthFile } from '../../base/files/auth-file.ts';
import type { ClientTls } from '../../base/tls/client-tls.ts';
import type { RedisEndpoint } from '../../clients/redis/address.ts';
import type { RedisCounters } from '../../counters/redis/commands/counters.ts';
import type { SharedKeys } from '../../counters/redis/commands/shared-keys.ts';
import { type PoolOptions, RedisPool } from '../../counters/redis/connections/pool.ts';
import type { RedisLinkParts } from '../../counters/redis/connections/redis-link.ts';
import { ClusterCounters } from '../../counters/redis/topology/cluster-counters.ts';
import { ClusterNodes } from '../../counters/redis/topology/cluster-nodes.ts';
import { SentinelCounters } from '../../counters/redis/topology/sentinel-counters.ts';
import { ServerCounters } from '../../counters/redis/topology/server-counters.ts';
import {
  clusterEndpoints,
  type RedisAddressSettings,
  redisEndpoint,
  sentinelAddress,
} from '../../settings/kinds/redis-address.ts';

/** How one instance of Redis is reached; the settings of spec 2.7 that exist for each of the two. */
export interface RedisInstanceSettings extends RedisAddressSettings {
  readonly type: 'single' | 'sentinel' | 'cluster';
  /** Used instead of `auth`; null for none. */
  readonly authFile: AuthFile | null;
  readonly sentinelAuth: string;
  readonly sentinelAuthFile: AuthFile | null;
  /** Null: no TLS. */
  readonly tls: ClientTls | null;
  readonly pool: PoolOptions;
  readonly clusterParallelism: number;
}

/** Counters in one instance of Redis, as its settings arrange it. */
export function redisInstance(
  settings: RedisInstanceSettings,
  parts: RedisLinkParts,
  sharedKeys: SharedKeys,
): RedisCounters {
  const { type, pool, sentinelAuth, tls, authFile, sentinelAuthFile } = settings;
  const reached = (address: Omit<RedisEndpoint, 'tls' | 'authFile'>): RedisEndpoint => ({
    ...address,
    tls,
    authFile,
  });
  if (type === 'cluster') {
    const seeds = clusterEndpoints(settings).map(reached);
    return new ClusterCounters(
      new ClusterNodes({ seeds, pool }, parts),
      settings.clusterParallelism,
      sharedKeys,
    );
  }
  if (type === 'sentinel') {
    const { masterName, access, sentinels } = sentinelAddress(settings, sentinelAuth);
    const asked = sentinels.map(each => ({ ...reached(each), authFile: sentinelAuthFile }));
    const found = { masterName, access: reached(access), sentinels: asked };
    return new SentinelCounters({ sentinels: found, pool, sharedKeys }, parts);
  }
  const endpoint = reached(redisEndpoint(settings));
  const target = { address: endpoint.shown, find: async () => endpoint, mustBeMaster: false, scripts: true };
  return new ServerCounters(new RedisPool(target, pool, parts), sharedKeys);
}

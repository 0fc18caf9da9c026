import { AuthFile } from '../../base/files/auth-file.ts';
import type { Outage } from '../../base/outage-log.ts';
import { type ClientTls, withoutTls } from '../../base/tls/client-tls.ts';
import type { RedisEndpoint } from '../../clients/redis/address.ts';
import type { RedisCounters } from '../../counters/redis/commands/counters.ts';
import { SharedKeys } from '../../counters/redis/commands/shared-keys.ts';
import { type PoolOptions, RedisPool } from '../../counters/redis/connections/pool.ts';
import { ConnectionCount, type RedisLinkParts } from '../../counters/redis/connections/redis-link.ts';
import type { FeedListener } from '../../counters/redis/connections/refund-feed.ts';
import { MeasuredCounters } from '../../counters/redis/measured-counters.ts';
import { RedisCounterStore } from '../../counters/redis/redis-counter-store.ts';
import { ClusterCounters } from '../../counters/redis/topology/cluster-counters.ts';
import { ClusterNodes } from '../../counters/redis/topology/cluster-nodes.ts';
import { SentinelCounters } from '../../counters/redis/topology/sentinel-counters.ts';
import { ServerCounters } from '../../counters/redis/topology/server-counters.ts';
import { SplitCounters } from '../../counters/redis/topology/split-counters.ts';
import { openTopology, type Topologies, type Topology } from '../../counters/redis/topology/topologies.ts';
import { StoreCalls } from '../../counters/store-calls.ts';
import {
  asksForTls,
  clusterEndpoints,
  type RedisAddressSettings,
  redisEndpoint,
  sentinelAddress,
} from '../../settings/kinds/redis-address.ts';
import { SETTINGS, type Settings } from '../../settings/table.ts';
import type { StatsRegistry } from '../../stats/registry.ts';
import { CertificateExpiry } from '../statistics/certificate-expiry.ts';
import { allRemedies, clientTls } from './client-tls.ts';
import { type StoreParts, storeOutage } from './opened-store.ts';
import { describeRedis, type RedisPrefix as Prefix } from './store-text.ts';

/**
 * Creates the Redis store, in one Redis instance or in two.
 *
 * @param refunds receives the refunds of other processes; null if they are not needed
 * @param guard the outage of the guarded store, if `STORE_FAILURE_MODE` guards it; null if requests fail with the
 *   store, and each instance has its own outage
 * @param topologies shared with the other threads of the process
 * @throws Error that names the setting and the file, if a TLS file cannot be used
 */
export function createRedisStore(
  parts: StoreParts,
  {
    refunds: listener,
    guard,
    topologies,
  }: {
    readonly refunds: FeedListener | null;
    readonly guard: Outage | null;
    readonly topologies: Topologies;
  },
): RedisCounterStore {
  const { settings, logger, clock, random, stats, connectionsChanged } = parts;
  const sharedKeys = new SharedKeys(settings.expirationJitterMaxSeconds);
  const connected = new Map<string, boolean>();
  const isPrimary = parts.shared === undefined;
  const outages: Outage[] = [];
  const startup = {
    initialMs: settings.redisStartupInitialIntervalMs,
    maxMs: settings.redisStartupMaxIntervalMs,
    maxElapsedMs: settings.redisStartupMaxElapsedMs,
  };
  /** @param name used in statistic names */
  const open = (prefix: Prefix, name: string, topology: Topology): RedisCounters => {
    connected.set(name, false);
    const connections = countConnections(stats, `ratelimit.${name}`, isConnected => {
      connected.set(name, isConnected);
      connectionsChanged?.([...connected.values()].every(Boolean));
    });
    const outage = guard ?? storeOutage(parts, describeRedis(settings, prefix));
    if (guard === null) outages.push(outage);
    const instance = instanceOf(settings, prefix);
    if (isPrimary) new CertificateExpiry(stats, 'redis_client').loaded(instance.tls?.certificate ?? '');
    const timeoutMs = settings[`${prefix}TimeoutMs` as const];
    const link = { timeoutMs, startup, clock, logger, random, connections, outage };
    const counters = redisInstance(instance, link, sharedKeys, topology);
    return new MeasuredCounters(counters, new StoreCalls(stats, name.replace('_pool', '')));
  };
  const refunds = listener === null ? null : { listener, timeoutMs: settings.redisTimeoutMs };
  const main = open('redis', 'redis_pool', topologies.main);
  if (!settings.redisPerSecond) {
    return new RedisCounterStore({ counters: main, secondsApart: false, refunds, outages, clock, logger });
  }
  const perSecond = open('redisPerSecond', 'redis_per_second_pool', topologies.perSecond);
  const counters = new SplitCounters({ main, perSecond });
  return new RedisCounterStore({ counters, secondsApart: true, refunds, outages, clock, logger });
}

function countConnections(
  stats: StatsRegistry,
  prefix: string,
  onChange: (connected: boolean) => void,
): ConnectionCount {
  const opened = stats.counter(`${prefix}.cx_total`);
  const closed = stats.counter(`${prefix}.cx_local_close`);
  const connections = new ConnectionCount({ opened, closed }, onChange);
  stats.gauge(`${prefix}.cx_active`, () => connections.active);
  return connections;
}

/** An instance, as its settings describe it. Their names begin with the prefix. */
function instanceOf(settings: Settings, prefix: Prefix): RedisInstanceSettings {
  return {
    type: settings[`${prefix}Type` as const],
    socketType: settings[`${prefix}SocketType` as const],
    url: settings[`${prefix}Url` as const],
    auth: settings[`${prefix}Auth` as const],
    authFile: authFile(settings, `${prefix}AuthFile`),
    advice: adviceOf(settings, prefix, 'Auth'),
    sentinelAuth: settings[`${prefix}SentinelAuth` as const],
    sentinelAuthFile: authFile(settings, `${prefix}SentinelAuthFile`),
    sentinelAdvice: adviceOf(settings, prefix, 'SentinelAuth'),
    tls: instanceTls(settings, prefix),
    pool: {
      size: settings[`${prefix}PoolSize` as const],
      onEmpty: {
        behavior: settings[`${prefix}PoolOnEmptyBehavior` as const],
        waitMs: settings[`${prefix}PoolOnEmptyWaitMs` as const],
      },
    },
    clusterParallelism: settings[`${prefix}ClusterParallelism` as const],
  };
}

/** Null if the setting is empty. */
function authFile(settings: Settings, key: `${Prefix}${'' | 'Sentinel'}AuthFile`): AuthFile | null {
  return settings[key] === '' ? null : new AuthFile(settings[key], settings.givenBy[key] ?? key);
}

/** What to do if the server does not accept the credentials, in terms of the settings that gave them. */
function adviceOf(settings: Settings, prefix: Prefix, credentials: 'Auth' | 'SentinelAuth'): string {
  const { givenBy } = settings;
  const auth = `${prefix}${credentials}` as const;
  const file = `${auth}File` as const;
  if (settings[file] !== '') return `check the user and the password in the file of ${givenBy[file]}`;
  if (settings[auth] !== '') return `check ${givenBy[auth]}, which is "password" or "user:password"`;
  const url = givenBy[`${prefix}Url` as const];
  const beside = SETTINGS[auth].names.find(name => name.startsWith(url?.split('_')[0] ?? ' '));
  return `set ${beside ?? SETTINGS[auth].names[0]} to "password" or "user:password", or correct those in the address`;
}

/** Both instances use the same files. Messages name the settings by the environment variables that were used. */
function instanceTls(settings: Settings, prefix: Prefix): ClientTls {
  const enabledBy = `${prefix}Tls` as const;
  const address = `${prefix}Url` as const;
  const beside = settings.givenBy[address]?.replace(/URL$/, 'TLS');
  const enabled = settings.givenBy[enabledBy] ?? beside ?? SETTINGS[enabledBy].names[0];
  if (!settings[enabledBy]) return withoutTls(`set ${enabled}=true`);
  const names = enabled.startsWith('REDIS_') ? 'REDIS_TLS' : 'KVCACHE_TLS';
  const remedies = allRemedies(names, enabled);
  const plain = asksForTls(settings[address]) ? 'write redis:// instead of rediss://' : remedies.plain;
  const files = {
    certificate: settings.redisTlsClientCert,
    key: settings.redisTlsClientKey,
    ca: settings.redisTlsCaCert,
    skipHostnameVerification: settings.redisTlsSkipHostnameVerification,
    settings: names,
  };
  return clientTls(files, { ...remedies, plain });
}

/** The settings of spec 2.7 that exist for each of the two Redis instances. */
interface RedisInstanceSettings extends RedisAddressSettings {
  readonly type: 'single' | 'sentinel' | 'cluster';
  /** Used instead of `auth`; null if there is no file. */
  readonly authFile: AuthFile | null;
  readonly sentinelAuth: string;
  readonly sentinelAuthFile: AuthFile | null;
  /** What to do if the server, or the sentinels, do not accept the credentials. */
  readonly advice?: string;
  readonly sentinelAdvice?: string;
  /** Null without TLS. */
  readonly tls: ClientTls | null;
  readonly pool: PoolOptions;
  readonly clusterParallelism: number;
}

/**
 * Creates the counters in one Redis instance: a single server, a master found by sentinels, or a cluster.
 *
 * @param topology shared with the other threads of the process
 */
export function redisInstance(
  settings: RedisInstanceSettings,
  parts: RedisLinkParts,
  sharedKeys: SharedKeys,
  topology: Topology = openTopology(true),
): RedisCounters {
  const { type, pool, sentinelAuth, tls, authFile, sentinelAuthFile } = settings;
  const reached = (address: Omit<RedisEndpoint, 'tls' | 'authFile'>): RedisEndpoint => ({
    ...address,
    tls,
    authFile,
    ...(settings.advice !== undefined && { credentialsAdvice: settings.advice }),
  });
  if (type === 'cluster') {
    const seeds = clusterEndpoints(settings).map(reached);
    return new ClusterCounters(
      new ClusterNodes({ seeds, pool, slots: topology.slots }, parts),
      settings.clusterParallelism,
      sharedKeys,
    );
  }
  if (type === 'sentinel') {
    const { masterName, access, sentinels } = sentinelAddress(settings, sentinelAuth);
    const credentialsAdvice = settings.sentinelAdvice ?? '';
    const asked = sentinels.map(each => ({
      ...reached(each),
      authFile: sentinelAuthFile,
      credentialsAdvice,
    }));
    const found = { masterName, access: reached(access), sentinels: asked };
    return new SentinelCounters({ sentinels: found, pool, sharedKeys, master: topology.master }, parts);
  }
  const endpoint = reached(redisEndpoint(settings));
  const target = { address: endpoint.shown, find: async () => endpoint, mustBeMaster: false, scripts: true };
  return new ServerCounters(new RedisPool(target, pool, parts), sharedKeys);
}

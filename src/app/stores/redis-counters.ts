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
import { describeMainRedis, describePerSecondRedis } from './store-text.ts';

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
  const { settings, logger, clock, stats, connectionsChanged } = parts;
  const sharedKeys = new SharedKeys(settings.expirationJitterMaxSeconds);
  const connected = new Map<string, boolean>();
  const isPrimary = parts.shared === undefined;
  const outages: Outage[] = [];
  const open = (
    { name, shown, timeoutMs }: NamedInstance,
    instance: RedisInstanceSettings,
    topology: Topology,
  ): RedisCounters => {
    connected.set(name, false);
    const connections = countConnections(stats, `ratelimit.${name}`, isConnected => {
      connected.set(name, isConnected);
      connectionsChanged?.([...connected.values()].every(Boolean));
    });
    const outage = guard ?? storeOutage(parts, shown);
    if (guard === null) outages.push(outage);
    if (isPrimary) new CertificateExpiry(stats, 'redis_client').loaded(instance.tls?.certificate ?? '');
    const counters = redisInstance(
      instance,
      linkParts(parts, timeoutMs, { connections, outage }),
      sharedKeys,
      topology,
    );
    return new MeasuredCounters(counters, new StoreCalls(stats, name.replace('_pool', '')));
  };
  const refunds = listener === null ? null : { listener, timeoutMs: settings.redisTimeoutMs };
  const main = open(
    { name: 'redis_pool', shown: describeMainRedis(settings), timeoutMs: settings.redisTimeoutMs },
    mainInstance(settings),
    topologies.main,
  );
  if (!settings.redisPerSecond) {
    return new RedisCounterStore({ counters: main, secondsApart: false, refunds, outages, clock, logger });
  }
  const perSecond = open(
    {
      name: 'redis_per_second_pool',
      shown: describePerSecondRedis(settings),
      timeoutMs: settings.redisPerSecondTimeoutMs,
    },
    perSecondInstance(settings),
    topologies.perSecond,
  );
  const counters = new SplitCounters({ main, perSecond });
  return new RedisCounterStore({ counters, secondsApart: true, refunds, outages, clock, logger });
}

interface NamedInstance {
  /** Used in statistic names. */
  readonly name: string;
  /** Used in log lines. */
  readonly shown: string;
  readonly timeoutMs: number;
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

function linkParts(
  { settings, logger, clock, random }: StoreParts,
  timeoutMs: number,
  observers: Pick<RedisLinkParts, 'connections' | 'outage'>,
): RedisLinkParts {
  const startup = {
    initialMs: settings.redisStartupInitialIntervalMs,
    maxMs: settings.redisStartupMaxIntervalMs,
    maxElapsedMs: settings.redisStartupMaxElapsedMs,
  };
  return { timeoutMs, startup, clock, logger, random, ...observers };
}

/** The main instance, as the settings describe it. */
function mainInstance(settings: Settings): RedisInstanceSettings {
  return {
    type: settings.redisType,
    socketType: settings.redisSocketType,
    url: settings.redisUrl,
    auth: settings.redisAuth,
    authFile: authFile(settings, 'redisAuthFile'),
    advice: adviceOf(settings, { url: 'redisUrl', auth: 'redisAuth', file: 'redisAuthFile' }),
    sentinelAuth: settings.redisSentinelAuth,
    sentinelAuthFile: authFile(settings, 'redisSentinelAuthFile'),
    sentinelAdvice: adviceOf(settings, {
      url: 'redisUrl',
      auth: 'redisSentinelAuth',
      file: 'redisSentinelAuthFile',
    }),
    tls: instanceTls(settings, 'redisTls', 'redisUrl'),
    pool: {
      size: settings.redisPoolSize,
      onEmpty: { behavior: settings.redisPoolOnEmptyBehavior, waitMs: settings.redisPoolOnEmptyWaitMs },
    },
    clusterParallelism: settings.redisClusterParallelism,
  };
}

function perSecondInstance(settings: Settings): RedisInstanceSettings {
  return {
    type: settings.redisPerSecondType,
    socketType: settings.redisPerSecondSocketType,
    url: settings.redisPerSecondUrl,
    auth: settings.redisPerSecondAuth,
    authFile: authFile(settings, 'redisPerSecondAuthFile'),
    advice: adviceOf(settings, {
      url: 'redisPerSecondUrl',
      auth: 'redisPerSecondAuth',
      file: 'redisPerSecondAuthFile',
    }),
    sentinelAuth: settings.redisPerSecondSentinelAuth,
    sentinelAuthFile: authFile(settings, 'redisPerSecondSentinelAuthFile'),
    sentinelAdvice: adviceOf(settings, {
      url: 'redisPerSecondUrl',
      auth: 'redisPerSecondSentinelAuth',
      file: 'redisPerSecondSentinelAuthFile',
    }),
    tls: instanceTls(settings, 'redisPerSecondTls', 'redisPerSecondUrl'),
    pool: {
      size: settings.redisPerSecondPoolSize,
      onEmpty: {
        behavior: settings.redisPerSecondPoolOnEmptyBehavior,
        waitMs: settings.redisPerSecondPoolOnEmptyWaitMs,
      },
    },
    clusterParallelism: settings.redisPerSecondClusterParallelism,
  };
}

type AddressKey = 'redisUrl' | 'redisPerSecondUrl';
type AuthKey = 'redisAuth' | 'redisSentinelAuth' | 'redisPerSecondAuth' | 'redisPerSecondSentinelAuth';
type AuthFileKey =
  | 'redisAuthFile'
  | 'redisSentinelAuthFile'
  | 'redisPerSecondAuthFile'
  | 'redisPerSecondSentinelAuthFile';

/** Null if the setting is empty. */
function authFile(settings: Settings, key: AuthFileKey): AuthFile | null {
  return settings[key] === '' ? null : new AuthFile(settings[key], settings.givenBy[key] ?? key);
}

/** What to do if the server does not accept the credentials, in terms of the settings that gave them. */
function adviceOf(
  settings: Settings,
  { url, auth, file }: { readonly url: AddressKey; readonly auth: AuthKey; readonly file: AuthFileKey },
): string {
  const { givenBy } = settings;
  if (settings[file] !== '') return `check the user and the password in the file of ${givenBy[file]}`;
  if (settings[auth] !== '') return `check ${givenBy[auth]}, which is "password" or "user:password"`;
  const beside = SETTINGS[auth].names.find(name => name.startsWith(givenBy[url]?.split('_')[0] ?? ' '));
  return `set ${beside ?? SETTINGS[auth].names[0]} to "password" or "user:password", or correct those in the address`;
}

/** Both instances use the same files. Messages name the settings by the environment variables that were used. */
function instanceTls(
  settings: Settings,
  enabledBy: 'redisTls' | 'redisPerSecondTls',
  address: 'redisUrl' | 'redisPerSecondUrl',
): ClientTls {
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

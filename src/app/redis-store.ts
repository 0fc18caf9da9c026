import { AuthFile } from '../base/auth-file.ts';
import type { ClientTls } from '../base/client-tls.ts';
import { ConnectionCount } from '../counters/redis/connection-count.ts';
import type { RedisCounters } from '../counters/redis/counters.ts';
import type { RedisLinkParts } from '../counters/redis/redis-link.ts';
import { RedisCounterStore } from '../counters/redis/redis-store.ts';
import type { FeedListener } from '../counters/redis/refund-feed.ts';
import { SplitCounters } from '../counters/redis/split-counters.ts';
import { SharedKeys } from '../counters/redis/time-to-live.ts';
import type { CounterStore } from '../counters/store.ts';
import type { Settings } from '../settings/table.ts';
import type { StatsRegistry } from '../stats/registry.ts';
import { allRemedies, clientTls } from './client-tls.ts';
import { type RedisInstanceSettings, redisInstance } from './redis-instance.ts';
import type { StoreParts } from './stores.ts';

/**
 * The store in one instance of Redis, or in two.
 * @param listener told of refunds that other processes make; null for nobody
 * @throws Error naming setting and file, when a file for TLS cannot be used
 */
export function createRedisStore(parts: StoreParts, listener: FeedListener | null): CounterStore {
  const { settings, logger, clock, stats, connectionsChanged } = parts;
  const sharedKeys = new SharedKeys(settings.expirationJitterMaxSeconds);
  const connected = new Map<string, boolean>();
  const open = (name: string, timeoutMs: number, instance: RedisInstanceSettings): RedisCounters => {
    connected.set(name, false);
    const connections = countConnections(stats, `ratelimit.${name}`, isConnected => {
      connected.set(name, isConnected);
      connectionsChanged?.([...connected.values()].every(Boolean));
    });
    return redisInstance(instance, linkParts(parts, timeoutMs, connections), sharedKeys);
  };
  const refunds = listener === null ? null : { listener, timeoutMs: settings.redisTimeoutMs };
  const main = open('redis_pool', settings.redisTimeoutMs, mainInstance(settings));
  if (!settings.redisPerSecond) {
    return new RedisCounterStore({ counters: main, secondsApart: false, refunds, clock, logger });
  }
  const timeoutMs = settings.redisPerSecondTimeoutMs;
  const perSecond = open('redis_per_second_pool', timeoutMs, perSecondInstance(settings));
  const counters = new SplitCounters({ main, perSecond });
  return new RedisCounterStore({ counters, secondsApart: true, refunds, clock, logger });
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
  connections: ConnectionCount,
): RedisLinkParts {
  const startup = {
    initialMs: settings.redisStartupInitialIntervalMs,
    maxMs: settings.redisStartupMaxIntervalMs,
    maxElapsedMs: settings.redisStartupMaxElapsedMs,
  };
  return { timeoutMs, startup, clock, logger, random, connections };
}

function mainInstance(settings: Settings): RedisInstanceSettings {
  return {
    type: settings.redisType,
    socketType: settings.redisSocketType,
    url: settings.redisUrl,
    auth: settings.redisAuth,
    authFile: authFile(settings, 'redisAuthFile'),
    sentinelAuth: settings.redisSentinelAuth,
    sentinelAuthFile: authFile(settings, 'redisSentinelAuthFile'),
    tls: settings.redisTls ? instanceTls(settings, 'redisTls') : null,
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
    sentinelAuth: settings.redisPerSecondSentinelAuth,
    sentinelAuthFile: authFile(settings, 'redisPerSecondSentinelAuthFile'),
    tls: settings.redisPerSecondTls ? instanceTls(settings, 'redisPerSecondTls') : null,
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

type AuthFileKey =
  | 'redisAuthFile'
  | 'redisSentinelAuthFile'
  | 'redisPerSecondAuthFile'
  | 'redisPerSecondSentinelAuthFile';

/** Null when the setting names no file. */
function authFile(settings: Settings, key: AuthFileKey): AuthFile | null {
  return settings[key] === '' ? null : new AuthFile(settings[key], settings.givenBy[key] ?? key);
}

/** The same files for both instances. Texts name the settings as the environment does. */
function instanceTls(settings: Settings, enabledBy: 'redisTls' | 'redisPerSecondTls'): ClientTls {
  const enabled = settings.givenBy[enabledBy] ?? 'KVCACHE_TLS';
  const names = enabled.startsWith('REDIS_') ? 'REDIS_TLS' : 'KVCACHE_TLS';
  const files = {
    certificate: settings.redisTlsClientCert,
    key: settings.redisTlsClientKey,
    ca: settings.redisTlsCaCert,
    skipHostnameVerification: settings.redisTlsSkipHostnameVerification,
    settings: names,
  };
  return clientTls(files, allRemedies(names, enabled));
}

import type { Clock } from '../base/clock.ts';
import type { Service } from '../base/lifecycle.ts';
import type { Logger } from '../base/logger.ts';
import { RedisLink } from '../counters/redis/redis-link.ts';
import { RedisCounterStore } from '../counters/redis/redis-store.ts';
import { SharedCounterStore } from '../counters/shared/shared-store.ts';
import { CounterTable } from '../counters/shared/table.ts';
import type { CounterStore } from '../counters/store.ts';
import { redisEndpoint } from '../settings/redis-address.ts';
import type { Settings } from '../settings/table.ts';
import type { StatsRegistry } from '../stats/registry.ts';

export interface StoreParts {
  readonly settings: Settings;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly random: () => number;
  readonly stats: StatsRegistry;
}

/** A store as something that starts and stops. */
export interface OpenedStore extends Service {
  readonly store: CounterStore;
}

/** The store that the settings ask for; the only place that knows which ones there are. */
export function createStore(parts: StoreParts): OpenedStore {
  const store = parts.settings.backendType === 'redis' ? redisStore(parts) : sharedStore(parts);
  return { name: `${store.name} store`, store, start: () => store.start(), stop: () => store.stop() };
}

function sharedStore({ settings, stats }: StoreParts): CounterStore {
  const table = openTable(settings.memoryStoreMaxKeys);
  stats.gauge('ratelimit.memory_store.evicted', () => table.evicted);
  return new SharedCounterStore(table);
}

/** @throws Error naming the setting, when the system does not give the process as much memory */
function openTable(maxKeys: number): CounterTable {
  try {
    return CounterTable.create(maxKeys);
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    const text = `there is not enough memory for MEMORY_STORE_MAX_KEYS=${maxKeys}: set a smaller number, or give the process more memory`;
    throw new Error(text, { cause });
  }
}

function redisStore({ settings, logger, clock, random, stats }: StoreParts): CounterStore {
  const link = new RedisLink({
    endpoint: redisEndpoint({
      socketType: settings.redisSocketType,
      url: settings.redisUrl,
      auth: settings.redisAuth,
    }),
    timeoutMs: settings.redisTimeoutMs,
    startup: {
      initialMs: settings.redisStartupInitialIntervalMs,
      maxMs: settings.redisStartupMaxIntervalMs,
      maxElapsedMs: settings.redisStartupMaxElapsedMs,
    },
    clock,
    logger,
    random,
    connections: {
      opened: stats.counter('ratelimit.redis_pool.cx_total'),
      closed: stats.counter('ratelimit.redis_pool.cx_local_close'),
    },
  });
  stats.gauge('ratelimit.redis_pool.cx_active', () => (link.up ? 1 : 0));
  return new RedisCounterStore({ link, clock, logger });
}

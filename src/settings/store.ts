import { HOUR_MS, SECOND_MS } from './durations.ts';
import { adjusted, anyText, checkedText, choice, duration, integer } from './kinds.ts';
import { DEFAULT_REDIS_ADDRESS } from './redis-address.ts';
import { derivedSetting, setting } from './setting.ts';

const address = checkedText({
  label: 'host:port, path of a unix socket, or redis://user:password@host:port/db',
  accepts: 'host:port, the path of a unix socket, or redis://user:password@host:port/db',
  holds: text => text !== '',
});

const retryInterval = duration({ min: 1, max: HOUR_MS });

/** Where hits are counted (spec 2.7 and 2.8). */
export const store = {
  title: 'Counter store',
  settings: {
    backendType: derivedSetting({
      names: ['BACKEND_TYPE'],
      // Empty text is in use for "the usual one", which is what an unset variable gives.
      kind: choice({
        texts: { memory: 'embedded', redis: 'redis', '': null },
        missing: ['altcache', 'memcache'],
        letterCase: 'exact',
      }),
      default: '`redis` when `KVCACHE_URL` is set, else `memory`',
      help:
        'Store of the counters: `memory` is the embedded one of this process, `redis` the one at ' +
        '`KVCACHE_URL`. Empty is the default.',
    }),
    memoryStoreMaxKeys: setting({
      names: ['MEMORY_STORE_MAX_KEYS'],
      kind: integer({ min: 1_024, max: 67_108_864 }),
      default: 1_048_576,
      help:
        'Counters that the embedded store holds; beyond that, the one that expires first gives way. Each has ' +
        '48 to 96 bytes, taken as counters come into use.',
    }),
    redisUrl: derivedSetting({
      names: ['KVCACHE_URL', 'REDIS_URL'],
      kind: address,
      default: `\`${DEFAULT_REDIS_ADDRESS}\``,
      help: 'Address of the Redis store. Never printed, because it may carry a password.',
      secret: true,
    }),
    redisType: setting({
      names: ['KVCACHE_TYPE', 'REDIS_TYPE'],
      kind: choice({
        texts: { single: 'single' },
        missing: ['sentinel', 'cluster'],
        letterCase: 'ignored',
      }),
      default: 'single',
      help: 'Arrangement of the Redis servers.',
    }),
    redisSocketType: derivedSetting({
      names: ['KVCACHE_SOCKET_TYPE', 'REDIS_SOCKET_TYPE'],
      kind: choice({
        texts: { unix: 'unix', tcp: 'tcp', tcp4: 'tcp4', tcp6: 'tcp6' },
        letterCase: 'exact',
      }),
      default: '`unix` when `KVCACHE_URL` is a path, else `tcp`',
      help: 'Network of the connections to Redis; `tcp4` and `tcp6` allow one version of IP only.',
    }),
    redisAuth: setting({
      names: ['KVCACHE_AUTH', 'REDIS_AUTH'],
      kind: anyText,
      default: '',
      help: '`password` or `user:password` for Redis; wins over the one in `KVCACHE_URL`. Never printed.',
      secret: true,
    }),
    redisTimeoutMs: setting({
      names: ['KVCACHE_TIMEOUT', 'REDIS_TIMEOUT'],
      kind: adjusted(duration({ max: HOUR_MS }), ms => Math.max(ms, 0)),
      default: 10 * SECOND_MS,
      help:
        'Longest time for a connection to Redis, and for the answer to a command. `0` or less is no ' +
        'limit.',
    }),
    redisStartupInitialIntervalMs: setting({
      names: ['KVCACHE_STARTUP_INITIAL_INTERVAL', 'REDIS_STARTUP_INITIAL_INTERVAL'],
      kind: retryInterval,
      default: SECOND_MS,
      help: 'First wait between attempts to connect to Redis at start.',
    }),
    redisStartupMaxIntervalMs: setting({
      names: ['KVCACHE_STARTUP_MAX_INTERVAL', 'REDIS_STARTUP_MAX_INTERVAL'],
      kind: retryInterval,
      default: 30 * SECOND_MS,
      help:
        'Longest wait between these attempts. When it is not above the first wait, every wait is this ' +
        'long.',
    }),
    redisStartupMaxElapsedMs: setting({
      names: ['KVCACHE_STARTUP_MAX_ELAPSED_TIME', 'REDIS_STARTUP_MAX_ELAPSED_TIME'],
      kind: adjusted(duration({ max: 480 * HOUR_MS }), ms => Math.max(ms, 0)),
      default: 0,
      help: 'Time after which these attempts, and the start, are given up. `0` or less tries for ever.',
    }),
  },
} as const;

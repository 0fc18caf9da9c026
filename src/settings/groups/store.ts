import { HOUR_MS, SECOND_MS } from '../kinds/durations.ts';
import { checkedText, choice, duration, integer } from '../kinds/kinds.ts';
import { derivedSetting, setting } from '../kinds/setting.ts';

// The path of a unix socket, which keeps a second process from the file, is six bytes longer, and has at most 103.
const snapshotPath = checkedText({
  label: 'path',
  accepts: 'a path of at most 96 bytes, or empty for none',
  holds: text => Buffer.byteLength(text) <= 96,
});

/** Where hits are counted (spec 2.7 and 2.8). */
export const store = {
  title: 'Counter store',
  settings: {
    backendType: derivedSetting({
      names: ['BACKEND_TYPE'],
      // Empty text is in use for "the usual one", which is what an unset variable gives.
      kind: choice({
        texts: {
          memory: 'embedded',
          redis: 'redis',
          altcache: 'memcached',
          memcache: 'memcached',
          '': null,
        },
        letterCase: 'exact',
      }),
      default:
        '`redis` when `KVCACHE_URL` is set, else `altcache` when `ALTCACHE_HOST_PORT` or `ALTCACHE_SRV` is, else `memory`',
      help:
        'Store of the counters: `memory` is the embedded one of this process, `redis` the one at ' +
        '`KVCACHE_URL`, `altcache` and `memcache` are memcached. Empty is the default.',
    }),
    memoryStoreMaxKeys: setting({
      names: ['MEMORY_STORE_MAX_KEYS'],
      kind: integer({ min: 1_024, max: 67_108_864, strict: 'min' }),
      default: 1_048_576,
      help:
        'Maximum number of counters in the embedded store; beyond it, counters with few hits are evicted. Each ' +
        'counter takes 48 to 96 bytes, allocated as counters come into use.',
    }),
    memoryStoreSnapshotPath: setting({
      names: ['MEMORY_STORE_SNAPSHOT_PATH'],
      kind: snapshotPath,
      default: '',
      help:
        'File that keeps the counters of the embedded store over a restart: written in the background and at the ' +
        'stop, read at the start. Each process needs one of its own. Empty keeps none.',
    }),
    memoryStoreSnapshotIntervalMs: setting({
      names: ['MEMORY_STORE_SNAPSHOT_INTERVAL'],
      kind: duration({ min: SECOND_MS, max: 24 * HOUR_MS, strict: 'min' }),
      default: 60 * SECOND_MS,
      help: 'Time between two of these files: what a crash forgets at most.',
    }),
  },
} as const;

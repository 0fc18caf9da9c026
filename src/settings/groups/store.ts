import { HOUR_MS, SECOND_MS } from '../../base/clock.ts';
import { checkedText, choice, derivedSetting, duration, integer, oneOf, setting } from '../kinds/kinds.ts';

// A Unix socket beside the file keeps a second process from using it; its path is six bytes longer, at most 103.
const snapshotPath = checkedText({
  label: 'path',
  accepts: 'a path of at most 96 bytes, or empty for none',
  holds: text => Buffer.byteLength(text) <= 96,
});

/** The counter store (spec 2.7 and 2.8). */
export const store = {
  title: 'Counter store',
  introduction:
    'Which store counts the requests, and the settings of the embedded store; see docs/stores.md.',
  settings: {
    backendType: derivedSetting({
      names: ['BACKEND_TYPE'],
      // Deployments use the empty text for the default.
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
        '`redis` if `KVCACHE_URL` is set, `altcache` if `ALTCACHE_HOST_PORT` or `ALTCACHE_SRV` is set, otherwise `memory`',
      help:
        'Store of the counters: `memory` is the embedded store of this process, `redis` is Redis at ' +
        '`KVCACHE_URL`, and `altcache` and `memcache` are memcached. An empty value selects the default.',
    }),
    memoryStoreMaxKeys: setting({
      names: ['MEMORY_STORE_MAX_KEYS'],
      kind: integer({ min: 1_024, max: 67_108_864, strict: 'min' }),
      default: 1_048_576,
      help:
        'Maximum number of counters in the embedded store. When it is full, counters with few hits are ' +
        'evicted. Each counter takes 48 to 96 bytes, allocated when it is needed, and 64 to 128 bytes if rules have ' +
        'sliding windows or token buckets.',
    }),
    memoryStoreSnapshotPath: setting({
      names: ['MEMORY_STORE_SNAPSHOT_PATH'],
      kind: snapshotPath,
      default: '',
      help:
        'File that preserves the counters of the embedded store across restarts. It is written in the ' +
        'background and at shutdown, and read at startup. Each process needs its own file. If empty, ' +
        'counters are lost at shutdown.',
    }),
    memoryStoreSnapshotIntervalMs: setting({
      names: ['MEMORY_STORE_SNAPSHOT_INTERVAL'],
      kind: duration({ min: SECOND_MS, max: 24 * HOUR_MS, strict: 'min' }),
      default: 60 * SECOND_MS,
      help:
        'How often the embedded store writes its counters to `MEMORY_STORE_SNAPSHOT_PATH`. A crash loses ' +
        'at most the hits of one interval.',
    }),
  },
} as const;

/** How requests are answered while the counter store fails. */
export const storeFailure = {
  title: 'Counter store failures',
  introduction: 'How requests are answered while the counter store is unavailable.',
  settings: {
    storeFailureMode: derivedSetting({
      names: ['STORE_FAILURE_MODE'],
      kind: oneOf('error', 'allow', 'deny', 'local'),
      default: '`allow` with memcached, otherwise `error`',
      help:
        'How to answer requests that the store cannot count. `error` returns an error, and the failure ' +
        'setting of the proxy decides. `allow` treats every count as 0. `deny` treats every limit as used ' +
        'up. `local` counts in this process until the store is available again.',
    }),
  },
} as const;

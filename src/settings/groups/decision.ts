import { adjusted, anyText, bool, checkedText, integer } from '../kinds/kinds.ts';
import { derivedSetting, setting } from '../kinds/setting.ts';

/** A `token` of RFC 9110 section 5.6.2, the form of every field name; longer ones are refused by proxies. */
const headerName = checkedText({
  label: 'HTTP field name',
  accepts: "an HTTP field name (1 to 128 letters, digits and !#$%&'*+-.^_`|~)",
  holds: text => /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/.test(text),
});

/** Below this the reference implementation raises any cache that is not off. */
const SMALLEST_LOCAL_CACHE_BYTES = 512 * 1024;

/** How a decision is made and answered, whatever the store (spec 2.7, 3.3, 4.5). */
export const decision = {
  title: 'Decisions',
  settings: {
    shadowMode: setting({
      names: ['SHADOW_MODE'],
      kind: bool,
      default: false,
      help: 'Global shadow mode: every request is answered OK, limits are only counted.',
    }),
    quotaMode: setting({
      names: ['QUOTA_MODE'],
      kind: bool,
      default: false,
      help: 'Global quota mode: a request is refused only when all of its descriptors are over their limit.',
    }),
    responseDynamicMetadata: setting({
      names: ['RESPONSE_DYNAMIC_METADATA'],
      kind: bool,
      default: false,
      help: 'Fill the dynamic metadata of responses.',
    }),
    limitResponseHeadersEnabled: setting({
      names: ['LIMIT_RESPONSE_HEADERS_ENABLED'],
      kind: bool,
      default: false,
      help:
        'Add three headers to responses: the limit, what remains of it, and the seconds until it is ' +
        'reset.',
    }),
    limitLimitHeader: setting({
      names: ['LIMIT_LIMIT_HEADER'],
      kind: headerName,
      default: 'RateLimit-Limit',
      help: 'Name of the header with the limit.',
    }),
    limitRemainingHeader: setting({
      names: ['LIMIT_REMAINING_HEADER'],
      kind: headerName,
      default: 'RateLimit-Remaining',
      help: 'Name of the header with what remains.',
    }),
    limitResetHeader: setting({
      names: ['LIMIT_RESET_HEADER'],
      kind: headerName,
      default: 'RateLimit-Reset',
      help: 'Name of the header with the seconds until the limit is reset.',
    }),
    cacheKeyPrefix: setting({
      names: ['CACHE_KEY_PREFIX'],
      kind: anyText,
      default: '',
      help: 'Put in front of every key in the store.',
    }),
    expirationJitterMaxSeconds: setting({
      names: ['EXPIRATION_JITTER_MAX_SECONDS'],
      kind: adjusted(integer({ max: 31_536_000 }), seconds => Math.max(seconds, 0)),
      default: 300,
      help:
        'Counters live longer than their window by a random number of seconds below this one, so that ' +
        'they do not all expire at once. `0` or less adds nothing. More than a year would fill the store.',
    }),
    stopCacheKeyIncrementWhenOverLimit: setting({
      names: ['STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT'],
      kind: bool,
      default: false,
      help: 'When one descriptor of a request is over its limit, do not count the hits of the others.',
    }),
    localCacheSizeBytes: setting({
      names: ['LOCAL_CACHE_SIZE_IN_BYTES', 'LocalCacheSizeInBytes'],
      kind: adjusted(integer({ min: 0, max: 4_294_967_296 }), bytes =>
        bytes === 0 ? 0 : Math.max(bytes, SMALLEST_LOCAL_CACHE_BYTES),
      ),
      default: 0,
      help:
        'Size of the cache of keys that are over their limit, which answers without asking the store. `0` ' +
        'is no cache, any other size is at least 524288. More than 4 GiB would not fit the process.',
    }),
    workerThreads: derivedSetting({
      names: ['WORKER_THREADS'],
      kind: integer({ min: 0, max: 64 }),
      default: 'two fewer than there are cores, at most 8',
      help:
        'Threads that decide large batches of requests while the thread with the connections has no time left. `0` ' +
        'leaves everything to that one, which is fastest on one or two cores. Each has a store client of its own, ' +
        'with connections of its own, and a share of the local cache.',
    }),
    maxQueuedDecisions: setting({
      names: ['MAX_QUEUED_DECISIONS'],
      kind: integer({ min: 1, max: 16_777_216, strict: 'min' }),
      default: 65_536,
      help:
        'Requests that may wait for a decision; more are refused at once. Each takes memory while it waits, so ' +
        'they may also have 64 MiB in all. One gRPC connection may have a quarter of both.',
    }),
  },
} as const;

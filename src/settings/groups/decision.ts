import {
  adjusted,
  anyText,
  bool,
  checkedText,
  derivedSetting,
  flag,
  integer,
  setting,
} from '../kinds/kinds.ts';

/** A `token` of RFC 9110 section 5.6.2, the form of every field name; longer ones are refused by proxies. */
const headerName = checkedText({
  label: 'HTTP field name',
  accepts: "an HTTP field name (1 to 128 letters, digits and !#$%&'*+-.^_`|~)",
  holds: text => /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/.test(text),
});

/** The reference implementation raises smaller cache sizes to this one, except 0. */
const SMALLEST_LOCAL_CACHE_BYTES = 512 * 1024;

/** How decisions are made and answered, regardless of the store (spec 2.7, 3.3, 4.5). */
export const decision = {
  title: 'Decisions',
  introduction: 'How decisions are made and answered, regardless of the counter store.',
  settings: {
    shadowMode: flag(
      ['SHADOW_MODE'],
      'Global shadow mode. Limits are evaluated and counted, but every request is allowed.',
    ),
    quotaMode: flag(
      ['QUOTA_MODE'],
      'Global quota mode. A request is rejected only if all of its descriptors are over their limit.',
    ),
    responseDynamicMetadata: flag(
      ['RESPONSE_DYNAMIC_METADATA'],
      'Add dynamic metadata to responses: the domain, the descriptors, and the metadata of the rules ' +
        'that the request passed.',
    ),
    limitResponseHeadersEnabled: flag(
      ['LIMIT_RESPONSE_HEADERS_ENABLED'],
      'Add three headers to responses: the limit, the number of remaining requests, and the seconds ' +
        'until the limit resets.',
    ),
    limitLimitHeader: setting({
      names: ['LIMIT_LIMIT_HEADER'],
      kind: headerName,
      default: 'RateLimit-Limit',
      help: 'Name of the response header that contains the limit.',
    }),
    limitRemainingHeader: setting({
      names: ['LIMIT_REMAINING_HEADER'],
      kind: headerName,
      default: 'RateLimit-Remaining',
      help: 'Name of the response header that contains the number of remaining requests.',
    }),
    limitResetHeader: setting({
      names: ['LIMIT_RESET_HEADER'],
      kind: headerName,
      default: 'RateLimit-Reset',
      help: 'Name of the response header that contains the seconds until the limit resets.',
    }),
    limitPerUnitHeadersEnabled: flag(
      ['LIMIT_PER_UNIT_HEADERS_ENABLED', 'LIMIT_ALL_DESCRIPTORS_HEADERS_ENABLED'],
      'Add two headers to responses for each unit: `RateLimit-Limit-Minutes` and `RateLimit-Remaining-Minutes`, and so ' +
        'on for `Seconds` to `Years`. They report the limit of the unit with the fewest remaining requests. ' +
        'envoyproxy/ratelimit has not released this feature: Sluice follows pull request 1190 of September 2026, in ' +
        'which the setting had the second name at first.',
    ),
    answerRetryAfter: flag(
      ['ANSWER_RETRY_AFTER'],
      'Add `Retry-After` to rejected requests: the seconds until the request may be sent again. The `answers` block ' +
        'of a rule file overrides this setting and the next three for its domain.',
    ),
    answerRatelimitHeaders: flag(
      ['ANSWER_RATELIMIT_HEADERS'],
      'Add the headers `RateLimit-Policy` and `RateLimit` of draft-ietf-httpapi-ratelimit-headers-10 to responses. ' +
        'They name the limits of the request, and never contain request values.',
    ),
    answerProblemBody: flag(
      ['ANSWER_PROBLEM_BODY'],
      'Add a body of type `application/problem+json` (RFC 9457) to rejected requests. It names the exceeded limits.',
    ),
    answerMatchedRule: flag(
      ['ANSWER_MATCHED_RULE'],
      'Add the rule that decided the request to the dynamic metadata of responses, for access logs: its path, name, ' +
        'window and code.',
    ),
    useCalendarMonthRateLimit: flag(
      ['USE_CALENDAR_MONTH_RATE_LIMIT'],
      'Count limits with the unit `month` in months of the calendar, in UTC, instead of windows of 30 days: see ' +
        '[rules.md](rules.md#months). A change resets the counters of these limits.',
    ),
    cacheKeyPrefix: setting({
      names: ['CACHE_KEY_PREFIX'],
      kind: anyText,
      default: '',
      help:
        'Prefix of every key in the counter store. Use it to keep several deployments apart that share ' +
        'one store.',
    }),
    expirationJitterMaxSeconds: setting({
      names: ['EXPIRATION_JITTER_MAX_SECONDS'],
      kind: adjusted(integer({ max: 31_536_000 }), seconds => Math.max(seconds, 0)),
      default: 300,
      help:
        'Upper bound in seconds of the random time that a counter is kept after its window, so that ' +
        'counters do not all expire at once. `0` or less disables the jitter.',
    }),
    stopCacheKeyIncrementWhenOverLimit: flag(
      ['STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT'],
      'If any descriptor of a request is over its limit, do not count the request against the other ' +
        'descriptors.',
    ),
    localCacheSizeBytes: setting({
      names: ['LOCAL_CACHE_SIZE_IN_BYTES', 'LocalCacheSizeInBytes'],
      kind: adjusted(integer({ min: 0, max: 4_294_967_296 }), bytes =>
        bytes === 0 ? 0 : Math.max(bytes, SMALLEST_LOCAL_CACHE_BYTES),
      ),
      default: 0,
      help:
        'Size in bytes of the local cache of keys that are over their limit. Requests for these keys are ' +
        'rejected without asking the store. The size is divided among the threads that decide, each of which ' +
        'remembers its own keys. `0` disables the cache; smaller sizes than 524288 are raised to that.',
    }),
    enableNegativeHits: setting({
      names: ['ENABLE_NEGATIVE_HITS'],
      kind: bool,
      default: true,
      help:
        'Accept refunds (`is_negative_hits`). With `false`, a call with a refund fails with `UNIMPLEMENTED` and counts ' +
        'nothing, as it does by default in pull request 1230 of envoyproxy/ratelimit.',
    }),
    hotKeys: setting({
      names: ['HOT_KEYS_ENABLED'],
      kind: bool,
      default: true,
      help:
        'Record the keys with the most hits of each rule in the last minute and hour, and the last refusals. They are ' +
        "read through the operator's API; see docs/operations.md. They use up to 6 MiB of memory per thread, at most " +
        '24 MiB.',
    }),
    workerThreads: derivedSetting({
      names: ['WORKER_THREADS'],
      kind: integer({ min: 0, max: 64 }),
      default:
        '0 if several threads serve (`SERVE_THREADS`), otherwise the number of cores minus 2, at most 8',
      help:
        'Number of decision threads: additional threads that decide large batches of requests while the primary ' +
        'thread is busy. They do not help the threads of `SERVE_THREADS`. With `0`, each thread that serves ' +
        'decides its own requests, which is fastest on one or two cores. Each decision thread has its own store ' +
        'connections and a share of the local cache.',
    }),
    maxQueuedDecisions: setting({
      names: ['MAX_QUEUED_DECISIONS'],
      kind: integer({ min: 1, max: 16_777_216, strict: 'min' }),
      default: 65_536,
      help:
        'Maximum number of requests that wait for a decision, in all threads together. Further requests are ' +
        'rejected at once. Waiting requests may also use at most 64 MiB of memory together, and one gRPC ' +
        'connection at most a quarter of both limits.',
    }),
  },
} as const;

import { DEFAULT_BUCKETS, type Mapping, PLAIN_MAPPING } from '../mapping.ts';
import { counter, gauge, labelled, sameName } from './mapping-of.ts';

/*
 * Statistics that envoyproxy/ratelimit has as well. Their metrics have its names and labels (spec 4.4).
 */

/** Statistics of rules that are mapped. The reference implementation does not map `over_limit_with_local_cache` either. */
const RULE_STATS = {
  total_hits: 'Hits of all kinds.',
  within_limit: 'Hits within the limit.',
  near_limit: 'Hits above the near-limit ratio and within the limit.',
  over_limit: 'Hits over the limit.',
  shadow_mode: 'Hits over the limit that shadow mode allowed.',
  total_negative_hits: 'Hits that refunds asked to return.',
};

const RULE_METRIC = 'ratelimit_service_rate_limit_';

/** Buckets below the default ones of Prometheus, because most calls are faster than the smallest default bucket. */
const FINE_BUCKETS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025];

/** Buckets of calls, in seconds. */
export const CALL_BUCKETS: readonly number[] = [...FINE_BUCKETS, ...DEFAULT_BUCKETS];

/**
 * The mappings of spec 4.4. A rule with more than two levels is added to the series of its first two levels, as in the
 * reference implementation.
 *
 * @param responseTimeIn the unit of `ratelimit_service_response_time_seconds`; the name does not change with it
 */
export function referenceMappings(responseTimeIn: 'seconds' | 'milliseconds'): readonly Mapping[] {
  return [
    ...Object.entries(RULE_STATS).map(([stat, help]) => oneLevel(stat, help)),
    deeperLevels(Object.keys(RULE_STATS)),
    counter(
      'ratelimit.service.call.should_rate_limit.*',
      'ratelimit_service_should_rate_limit_error',
      'Decision calls that failed.',
      { labels: labelled('err_type') },
    ),
    counter('ratelimit_server.*.total_requests', 'ratelimit_service_total_requests', 'Calls over gRPC.', {
      labels: labelled('grpc_method'),
    }),
    responseTime(responseTimeIn),
    counter(
      'ratelimit.service.config_load_success',
      'ratelimit_service_config_load_success',
      'Rule loads that succeeded.',
    ),
    counter(
      'ratelimit.service.config_load_error',
      'ratelimit_service_config_load_error',
      'Rule loads that failed.',
    ),
  ];
}

/** Rules with one level. */
function oneLevel(stat: string, help: string): Mapping {
  return {
    ...counter(`ratelimit.service.rate_limit.*.*.${stat}`, `${RULE_METRIC}${stat}`, help),
    kind: null,
    labels: labelled('domain', 'key1'),
  };
}

/** Rules with two or more levels. One pattern serves all statistics, because there may be hundreds of thousands. */
function deeperLevels(stats: readonly string[]): Mapping {
  // Names may contain values from requests and therefore two dots in a row. The level between them is an empty label.
  const part = '([^.]*)';
  const pattern = `^ratelimit\\.service\\.rate_limit\\.${part}\\.${part}\\.${part}(?:\\..+)?\\.(${stats.join('|')})$`;
  return {
    ...PLAIN_MAPPING,
    match: { pattern: new RegExp(pattern) },
    name: `${RULE_METRIC}$4`,
    labels: labelled('domain', 'key1', 'key2'),
  };
}

function responseTime(unit: 'seconds' | 'milliseconds'): Mapping {
  const inMilliseconds = CALL_BUCKETS.map(bound => Math.round(bound * 1e6) / 1e3);
  return {
    ...PLAIN_MAPPING,
    match: { glob: ['ratelimit_server', '*', 'response_time'] },
    name: 'ratelimit_service_response_time_seconds',
    labels: labelled('grpc_method'),
    observer: { type: 'histogram', buckets: unit === 'seconds' ? CALL_BUCKETS : inMilliseconds },
    scale: unit === 'seconds' ? 0.001 : 1,
    help: `Time from the start of a call over gRPC to its answer, in ${unit}.`,
  };
}

/** Help texts of metrics that have the names of their statistics, because the reference does not map them. */
export const REFERENCE_HELPS: readonly Mapping[] = [
  ofEachRule(
    'over_limit_with_local_cache',
    'Hits over the limit that were answered without asking the store.',
  ),
  ofEachRule('domain_not_found', 'Descriptors of a domain without rules.'),
  sameName(
    'counter',
    'ratelimit.service.global_shadow_mode',
    'Responses that global shadow mode changed from OVER_LIMIT to OK.',
  ),
  sameName(
    'counter',
    'ratelimit.service.negative_hits_rejected',
    'Calls with refunds that were rejected, because ENABLE_NEGATIVE_HITS is false.',
  ),
  ...redisPool('redis_pool', 'Redis'),
  ...redisPool('redis_per_second_pool', 'the Redis for limits per second'),
  ...localCache({
    entryCount: 'Keys in the local cache.',
    hitCount: 'Lookups in the local cache that found a key.',
    missCount: 'Lookups in the local cache that found nothing.',
    lookupCount: 'Lookups in the local cache.',
    evacuateCount: 'Keys evicted from the local cache to make room.',
    expiredCount: 'Keys removed from the local cache because their window ended.',
    overwriteCount: 'Keys written to the local cache again.',
  }),
  ...memcached({
    keys_requested: 'Keys that memcached was asked for.',
    keys_found: 'Keys that memcached had.',
    'multiget.__code=success': 'Batches whose counts memcached returned.',
    'multiget.__code=error': 'Batches with counts that memcached did not return.',
    'increment.__code=success': 'Counts that memcached incremented.',
    'increment.__code=miss': 'Increments of counts that did not exist.',
    'increment.__code=error': 'Increments that failed.',
    'add.__code=success': 'Counts that memcached created.',
    'add.__code=not_stored': 'Counts that another client created first.',
    'add.__code=error': 'Counts that could not be created.',
    'decrement.__code=success': 'Counts that memcached decremented.',
    'decrement.__code=miss': 'Decrements of counts that did not exist.',
    'decrement.__code=error': 'Decrements that failed.',
  }),
  sameName('counter', 'runtime.load_attempts', 'Reads of the rule files.'),
  sameName('counter', 'runtime.load_failures', 'Rule files that could not be read.'),
  sameName('gauge', 'runtime.num_values', 'Rule files of the last read.'),
  sameName('counter', 'certs.load_attempts', 'Reads of the certificate files of the gRPC port.'),
  sameName('counter', 'certs.load_failures', 'Reads of the certificate files of the gRPC port that failed.'),
];

function redisPool(pool: string, store: string): Mapping[] {
  const name = `ratelimit.${pool}`;
  return [
    sameName('gauge', `${name}.cx_active`, `Open connections to ${store}.`),
    sameName('counter', `${name}.cx_total`, `Connections to ${store} that were opened.`),
    sameName('counter', `${name}.cx_local_close`, `Connections to ${store} that were closed.`),
  ];
}

/** They are gauges in the reference implementation as well, also those that only grow. */
function localCache(helps: Readonly<Record<string, string>>): Mapping[] {
  return Object.entries(helps).map(([stat, help]) => gauge(`ratelimit.localcache.${stat}`, '$0', help));
}

function memcached(helps: Readonly<Record<string, string>>): Mapping[] {
  return Object.entries(helps).map(([stat, help]) => sameName('counter', `ratelimit.memcache.${stat}`, help));
}

/** A statistic of rules or domains that has a metric for each of them. */
function ofEachRule(stat: string, help: string): Mapping {
  const pattern = new RegExp(`^ratelimit\\.service\\.rate_limit\\..*\\.${stat}$`);
  return { ...PLAIN_MAPPING, kind: 'counter', match: { pattern }, name: '$0', help };
}

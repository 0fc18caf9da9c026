import { DEFAULT_BUCKETS, type Mapping } from '../mapping.ts';
import { counter, duration, gauge, growingGauge, labelled } from './mapping-of.ts';
import { CALL_BUCKETS } from './reference-mappings.ts';

/** Buckets of a store call: from a call on the same machine to one that has timed out. */
const STORE_BUCKETS = [0.00005, ...CALL_BUCKETS.filter(bound => bound <= 1)];

/** A timer of Node.js is precise to a millisecond. */
const DELAY_BUCKETS = [0.001, 0.0025, ...DEFAULT_BUCKETS.filter(bound => bound <= 1)];

const PAUSE_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1];

const BATCH_BUCKETS = [1, 5, 10, 25, 50, 100, 250, 500];

/** Mappings of the statistics of decisions, and of the process, that envoyproxy/ratelimit does not have. */
export const DECISION_MAPPINGS: readonly Mapping[] = [
  gauge(
    'ratelimit.service.config_last_load_successful',
    'sluice_rules_last_load_successful',
    'Whether the last load of rules succeeded, 1 or 0.',
  ),
  gauge(
    'ratelimit.service.overlay_is_active',
    'sluice_rules_overlay_is_active',
    'Whether the newest overlay files are active, 1 or 0; 1 without an overlay.',
  ),
  gauge(
    'ratelimit.service.config_last_load_time',
    'sluice_rules_last_load_timestamp_seconds',
    'When rules were loaded last, whether it succeeded or not, in seconds since 1970.',
  ),
  gauge(
    'ratelimit.service.config_last_success_time',
    'sluice_rules_last_success_timestamp_seconds',
    'When rules were last loaded successfully, in seconds since 1970.',
  ),
  gauge(
    'ratelimit.service.config_digest',
    'sluice_rules_digest',
    'The first 12 hex digits of the digest of the active rules, as a number. Equal in all instances with the same rules.',
  ),
  duration(
    'ratelimit.store.*.*.response_time',
    'sluice_store_call_duration_seconds',
    'Duration of calls of the counter store, each for one batch. In the embedded store, a part of the calls is measured.',
    { labels: labelled('store', 'outcome'), buckets: STORE_BUCKETS },
  ),
  {
    ...duration('ratelimit.batch.requests', 'sluice_batch_requests', 'Requests that were decided together.', {
      buckets: BATCH_BUCKETS,
    }),
    scale: 1,
  },
  gauge(
    'ratelimit.queue.requests',
    'sluice_queue_requests',
    'Requests that wait for a decision or are being decided.',
  ),
  gauge(
    'ratelimit.queue.limit',
    'sluice_queue_limit_requests',
    'Maximum number of requests that may wait for a decision or be decided at a time.',
  ),
  counter('ratelimit.http.*.*.total_requests', 'sluice_http_requests_total', 'Requests over HTTP.', {
    labels: labelled('route', 'code'),
  }),
  duration(
    'ratelimit.http.*.response_time',
    'sluice_http_request_duration_seconds',
    'Time from the start of a request over HTTP to its answer.',
    { labels: labelled('route'), buckets: CALL_BUCKETS },
  ),
  duration(
    'ratelimit.event_loop.*.delay',
    'sluice_event_loop_delay_seconds',
    'How much later than asked for a timer ran, by kind of thread.',
    { labels: labelled('thread'), buckets: DELAY_BUCKETS },
  ),
  duration(
    'ratelimit.gc.*.*.duration',
    'sluice_gc_duration_seconds',
    'Pauses for garbage collection, by kind of thread and of collection.',
    { labels: labelled('thread', 'kind'), buckets: PAUSE_BUCKETS },
  ),
  gauge(
    'ratelimit.certificates.*.expiry_time',
    'sluice_certificate_expiry_timestamp_seconds',
    'When the first certificate of a chain expires, in seconds since 1970, by use.',
    { labels: labelled('certificate') },
  ),
  ...threadMappings(),
  ...storeMappings(),
  counter(
    'ratelimit.service.steering.banned',
    'sluice_steering_banned_hits_total',
    'Hits that a ban has refused.',
  ),
  counter(
    'ratelimit.service.steering.passed',
    'sluice_steering_passed_hits_total',
    'Hits that a pass has allowed.',
  ),
  counter(
    'ratelimit.decision_log.written',
    'sluice_decision_log_written_total',
    'Records of the decision log.',
  ),
  ...(['rate', 'output'] as const).map(reason =>
    counter(
      `ratelimit.decision_log.dropped_by_${reason}`,
      'sluice_decision_log_dropped_total',
      'Records that the decision log has dropped, because of its rate limit or because its output was too slow.',
      { labels: [['reason', reason]] },
    ),
  ),
  counter(
    'ratelimit.stats.*.failed_flushes',
    'sluice_stats_failed_flushes_total',
    'Flushes of statistics that failed.',
    { labels: labelled('sink'), formerly: `ratelimit_stats_$\{1}_failed_flushes` },
  ),
  counter(
    'ratelimit.stats.*.lost_lines',
    'sluice_stats_lost_lines_total',
    'Lines of statistics that were lost on their way.',
    { labels: labelled('sink'), formerly: `ratelimit_stats_$\{1}_lost_lines` },
  ),
  counter(
    'ratelimit.stats.names_dropped',
    'sluice_stats_names_dropped_total',
    'Names of statistics, made from values of requests, that were dropped.',
    { formerly: 'ratelimit_stats_names_dropped' },
  ),
  counter(
    'ratelimit.stats.hits_dropped',
    'sluice_stats_hits_dropped_total',
    'Hits that were counted under dropped names.',
    { formerly: 'ratelimit_stats_hits_dropped' },
  ),
  counter(
    'ratelimit.tracing.spans_exported',
    'sluice_tracing_spans_exported_total',
    'Spans that were sent to the OpenTelemetry collector.',
  ),
  counter(
    'ratelimit.tracing.spans_dropped',
    'sluice_tracing_spans_dropped_total',
    'Spans that were dropped because the queue was full or the collector did not accept them.',
  ),
];

function threadMappings(): Mapping[] {
  const service = 'ratelimit.service';
  const labels = labelled('thread');
  return [
    gauge(`${service}.serving_threads`, 'sluice_serving_threads', 'Threads that are ready to serve.'),
    counter(
      `${service}.serving_threads_lost`,
      'sluice_serving_threads_lost_total',
      'Serving threads that crashed or did not respond.',
    ),
    counter(
      `${service}.serving_thread_moves`,
      'sluice_serving_thread_moves_total',
      'Connections that were asked to reconnect because their thread was overloaded.',
    ),
    gauge(
      `${service}.serving_thread.*.connections`,
      'sluice_serving_thread_connections',
      'Open connections of a serving thread.',
      { labels },
    ),
    growingGauge(
      `${service}.serving_thread.*.decisions`,
      'sluice_serving_thread_decisions_total',
      'Requests that a serving thread has decided since it started.',
      { labels },
    ),
    gauge(
      `${service}.serving_thread.*.busy_percent`,
      'sluice_serving_thread_busy_ratio',
      'Share of the last second in which a serving thread was busy, 0 to 1.',
      { labels, scale: 0.01 },
    ),
    gauge(`${service}.worker_threads`, 'sluice_decision_threads', 'Decision threads that are running.', {
      formerly: 'ratelimit_service_worker_threads',
    }),
    counter(
      `${service}.worker_threads_lost`,
      'sluice_decision_threads_lost_total',
      'Decision threads that crashed or did not respond.',
      { formerly: 'ratelimit_service_worker_threads_lost' },
    ),
    counter(
      `${service}.worker_threads_requests`,
      'sluice_decision_threads_requests_total',
      'Requests that were given to decision threads.',
      { formerly: 'ratelimit_service_worker_threads_requests' },
    ),
  ];
}

function storeMappings(): Mapping[] {
  return [
    growingGauge(
      'ratelimit.memory_store.evicted',
      'sluice_embedded_store_evicted_total',
      'Counters that the embedded store evicted although their windows had not ended.',
      { formerly: 'ratelimit_memory_store_evicted' },
    ),
    gauge(
      'ratelimit.memory_store.leases',
      'sluice_embedded_store_leases',
      'Leases in the embedded store, with those that are remembered after their end.',
    ),
    counter(
      'ratelimit.memory_store.snapshots',
      'sluice_embedded_store_snapshots_total',
      'Snapshots of the embedded store that were written.',
      { formerly: 'ratelimit_memory_store_snapshots' },
    ),
    counter(
      'ratelimit.memory_store.snapshot_errors',
      'sluice_embedded_store_snapshot_errors_total',
      'Snapshots of the embedded store that could not be written.',
      { formerly: 'ratelimit_memory_store_snapshot_errors' },
    ),
    gauge(
      'ratelimit.store_failure.active',
      'sluice_store_failure_active',
      'Whether STORE_FAILURE_MODE decides because the store is unavailable, 1 or 0. A sum over threads.',
      { formerly: 'ratelimit_store_failure_active' },
    ),
    counter(
      'ratelimit.store_failure.outages',
      'sluice_store_failure_outages_total',
      'How often STORE_FAILURE_MODE took effect.',
      { formerly: 'ratelimit_store_failure_outages' },
    ),
  ];
}

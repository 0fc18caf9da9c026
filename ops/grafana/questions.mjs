import { CALLS, hits, of, quantiles, rate } from './queries.mjs';

// The first screen of the dashboard. Counters of hits exist from their first hit on, so `or vector(0)` says that there were
// none.

const REQUESTS = [
  {
    expr: `sum(${rate('ratelimit_service_total_requests', 'grpc_method="ShouldRateLimit"')})`,
    legend: 'gRPC',
  },
  { expr: `sum(${rate('sluice_http_requests_total', 'route="json"')})`, legend: 'HTTP' },
];

/** Twelve questions of an operator, which the first screen answers. */
export const QUESTIONS = [
  {
    title: 'Do all instances run?',
    kind: 'stat',
    help: 'Instances by version, and instances that do not answer Prometheus.',
    queries: [
      { expr: `sum by (version) (${of('sluice_build_info')})`, legend: '{{version}}' },
      { expr: `sum(1 - ${of('up')})`, legend: 'down' },
    ],
  },
  {
    title: 'How many requests are there?',
    unit: 'reqps',
    help: 'Requests for decisions per second. Each request has one or more descriptors.',
    queries: REQUESTS,
  },
  {
    title: 'What share of the hits is rejected?',
    unit: 'percentunit',
    help: 'Shares of all hits in the chosen domains: above a limit, near it, and above a limit in shadow mode.',
    queries: [
      { expr: `(sum(${hits('over_limit')}) or vector(0)) / sum(${hits('total_hits')})`, legend: 'rejected' },
      {
        expr: `(sum(${hits('near_limit')}) or vector(0)) / sum(${hits('total_hits')})`,
        legend: 'near limit',
      },
      { expr: `(sum(${hits('shadow_mode')}) or vector(0)) / sum(${hits('total_hits')})`, legend: 'shadow' },
    ],
  },
  {
    title: 'Which limits reject the most?',
    unit: 'reqps',
    help: 'The ten limits with the most rejected hits per second.',
    queries: [
      {
        expr: `topk(10, sum by (domain, key1, key2) (${hits('over_limit')})) or vector(0)`,
        legend: '{{domain}} {{key1}} {{key2}}',
      },
    ],
  },
  {
    title: 'How fast are the answers?',
    unit: 's',
    help: 'Time from the arrival of a gRPC call to its answer.',
    queries: quantiles('ratelimit_service_response_time_seconds', [0.5, 0.9, 0.99], {
      matchers: ['grpc_method="ShouldRateLimit"'],
    }),
  },
  {
    title: 'Do requests fail?',
    unit: 'reqps',
    help: 'Requests that were not decided: because of the store (redis_error), or because they were faulty, had no rules, or met a full queue (service_error).',
    queries: [
      {
        expr: `sum by (err_type) (${rate('ratelimit_service_should_rate_limit_error')})`,
        legend: '{{err_type}}',
      },
    ],
  },
  {
    title: 'Does the store answer?',
    unit: 'percentunit',
    max: 1,
    help: 'Share of the calls of each counter store that fail. A call counts one batch of requests.',
    queries: [
      {
        expr: `sum by (store) (${rate(`${CALLS}_count`, 'outcome!="ok"')} or 0 * ${rate(`${CALLS}_count`)}) / sum by (store) (${rate(`${CALLS}_count`)})`,
        legend: '{{store}} fails',
      },
    ],
  },
  {
    title: 'Are the latest rules active?',
    kind: 'stat',
    help: 'Instances whose last load of rules failed, and the age of the oldest active rules.',
    queries: [
      { expr: `sum(1 - ${of('sluice_rules_last_load_successful')})`, legend: 'not loaded' },
      {
        expr: `time() - min(${of('sluice_rules_last_success_timestamp_seconds')})`,
        legend: 'age',
        unit: 's',
      },
    ],
  },
  {
    title: 'Is there CPU left?',
    unit: 'none',
    help: 'Cores that each instance uses. A thread uses one core at most.',
    queries: [{ expr: `sum by (instance) (${rate('process_cpu_seconds_total')})`, legend: '{{instance}}' }],
  },
  {
    title: 'Is there memory left?',
    unit: 'bytes',
    help: 'Resident memory of each instance.',
    queries: [{ expr: of('process_resident_memory_bytes'), legend: '{{instance}}' }],
  },
  {
    title: 'Do tasks start in time?',
    unit: 's',
    help: 'How long the oldest due task of push workers has waited, and how late tasks have started.',
    queries: [
      { expr: `max(${of('sluice_tasks_oldest_due_seconds')})`, legend: 'oldest due' },
      ...quantiles('sluice_tasks_dispatch_lag_seconds', [0.95]),
    ],
  },
  {
    title: 'What needs attention soon?',
    kind: 'stat',
    help: 'Time until the first certificate expires, starts and lost threads of the last day, and the largest share of file descriptors in use.',
    queries: [
      {
        expr: `min(${of('sluice_certificate_expiry_timestamp_seconds')}) - time()`,
        legend: 'certificate',
        unit: 's',
      },
      { expr: `sum(changes(${of('process_start_time_seconds')}[1d]))`, legend: 'restarts' },
      { expr: `sum(increase(${of('sluice_serving_threads_lost_total')}[1d]))`, legend: 'lost threads' },
      {
        expr: `max(${of('process_open_fds')} / ${of('process_max_fds')})`,
        legend: 'file descriptors',
        unit: 'percentunit',
      },
    ],
  },
];

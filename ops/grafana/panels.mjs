import { CALLS, hits, leasedHits, of, quantiles, rate } from './queries.mjs';

// The panels below the first screen of the dashboard, which questions.mjs has.

const DECISIONS = [
  {
    title: 'Calls by method',
    unit: 'reqps',
    queries: [
      {
        expr: `sum by (grpc_method) (${rate('ratelimit_service_total_requests')})`,
        legend: '{{grpc_method}}',
      },
    ],
  },
  {
    title: 'HTTP requests by status',
    unit: 'reqps',
    queries: [
      { expr: `sum by (code) (${rate('sluice_http_requests_total', 'route="json"')})`, legend: '{{code}}' },
    ],
  },
  {
    title: 'Response time over HTTP',
    unit: 's',
    queries: quantiles('sluice_http_request_duration_seconds', [0.5, 0.99], { matchers: ['route="json"'] }),
  },
  {
    title: 'Slowest calls',
    unit: 's',
    help: 'One gRPC call in a thousand takes longer, by instance.',
    queries: quantiles('ratelimit_service_response_time_seconds', [0.999], { by: 'instance' }),
  },
  {
    title: 'Hits by domain',
    unit: 'reqps',
    queries: [{ expr: `sum by (domain) (${hits('total_hits')})`, legend: '{{domain}}' }],
  },
  {
    title: 'Hits near their limit',
    unit: 'reqps',
    queries: [
      { expr: `topk(10, sum by (domain, key1) (${hits('near_limit')}))`, legend: '{{domain}} {{key1}}' },
    ],
  },
  {
    title: 'Hits that shadow mode lets pass',
    unit: 'reqps',
    queries: [
      { expr: `topk(10, sum by (domain, key1) (${hits('shadow_mode')}))`, legend: '{{domain}} {{key1}}' },
    ],
  },
  {
    title: 'Hits of bans and passes',
    unit: 'reqps',
    queries: [
      { expr: `sum(${rate('sluice_steering_banned_hits_total')})`, legend: 'banned' },
      { expr: `sum(${rate('sluice_steering_passed_hits_total')})`, legend: 'passed' },
    ],
  },
  {
    title: 'Hits of leases',
    unit: 'reqps',
    help: 'Hits that leases have held, those that settlements have spent, those of leases that ended without being settled, and those beyond what leases held.',
    queries: ['held', 'settled', 'expired', 'overdrawn'].map(stat => ({
      expr: leasedHits(stat),
      legend: stat,
    })),
  },
  {
    title: 'Rule loads',
    unit: 'short',
    queries: [
      {
        expr: `sum(increase(${of('ratelimit_service_config_load_success')}[$__rate_interval]))`,
        legend: 'loaded',
      },
      {
        expr: `sum(increase(${of('ratelimit_service_config_load_error')}[$__rate_interval]))`,
        legend: 'failed',
      },
    ],
  },
];

const QUOTAS = [
  {
    title: 'Requests that proxies decide themselves',
    unit: 'reqps',
    help: 'As they have reported them. They are not part of the calls and hits above.',
    queries: [{ expr: `sum by (decision) (${rate('sluice_quota_requests_total')})`, legend: '{{decision}}' }],
  },
  {
    title: 'Assignments to proxies',
    unit: 'ops',
    help: 'Those that were sent, and those of them that deny everything because nothing of a limit is left.',
    queries: [
      { expr: `sum(${rate('sluice_quota_assignments_total')})`, legend: 'sent' },
      { expr: `sum(${rate('sluice_quota_exhausted_assignments_total')})`, legend: 'nothing left' },
    ],
  },
  {
    title: 'Rounds that grant nothing',
    unit: 'ops',
    help: 'Because the store has failed, or has answered too late. Proxies keep the grants that they have until these end.',
    queries: [{ expr: `sum by (cause) (${rate('sluice_quota_failed_rounds_total')})`, legend: '{{cause}}' }],
  },
  {
    title: 'Streams of proxies',
    unit: 'none',
    queries: [{ expr: `sum by (instance) (${of('sluice_quota_streams')})`, legend: '{{instance}}' }],
  },
  {
    title: 'Buckets of proxies',
    unit: 'none',
    queries: [{ expr: `sum by (instance) (${of('sluice_quota_buckets')})`, legend: '{{instance}}' }],
  },
  {
    title: 'Reports of buckets',
    unit: 'ops',
    help: 'Those that arrive, and those of them that cannot be taken because ids are invalid or there are too many buckets.',
    queries: [
      { expr: `sum(${rate('sluice_quota_reports_total')})`, legend: 'reports' },
      { expr: `sum(${rate('sluice_quota_rejected_reports_total')})`, legend: 'rejected' },
    ],
  },
];

const STORE = [
  {
    title: 'Store calls by outcome',
    unit: 'reqps',
    help: 'Each call counts one batch. In the embedded store, a part of the calls is measured.',
    queries: [
      { expr: `sum by (store, outcome) (${rate(`${CALLS}_count`)})`, legend: '{{store}} {{outcome}}' },
    ],
  },
  { title: 'Duration of store calls', unit: 's', queries: quantiles(CALLS, [0.5, 0.99], { by: 'store' }) },
  {
    title: 'Requests per batch',
    unit: 'none',
    help: 'The busier the store, the larger the batches.',
    queries: quantiles('sluice_batch_requests', [0.5, 0.99]),
  },
  {
    title: 'Waiting decisions',
    unit: 'percentunit',
    help: 'Share of the queue that is used. When it is full, requests are rejected.',
    queries: [
      {
        expr: `max by (instance) (${of('sluice_queue_requests')} / ${of('sluice_queue_limit_requests')})`,
        legend: '{{instance}}',
      },
    ],
  },
  {
    title: 'Connections to Redis',
    unit: 'none',
    queries: [
      { expr: `sum by (instance) (${of('ratelimit_redis_pool_cx_active')})`, legend: '{{instance}}' },
    ],
  },
  {
    title: 'Outages and evictions',
    unit: 'none',
    help: 'Threads that STORE_FAILURE_MODE decides for, and counters that the full embedded store evicts per second.',
    queries: [
      { expr: `sum(${of('sluice_store_failure_active')}) or vector(0)`, legend: 'threads without the store' },
      { expr: `sum(${rate('sluice_embedded_store_evicted_total')}) or vector(0)`, legend: 'evictions' },
    ],
  },
];

const PROCESS = [
  {
    title: 'Event loop delay',
    unit: 's',
    help: 'How late timers run, by kind of thread. All requests of a thread wait as long.',
    queries: quantiles('sluice_event_loop_delay_seconds', [0.5, 0.99], { by: 'thread' }),
  },
  {
    title: 'Garbage collection',
    unit: 'percentunit',
    help: 'Share of the time of all threads of a kind that is spent on it.',
    queries: [{ expr: `sum by (thread) (${rate('sluice_gc_duration_seconds_sum')})`, legend: '{{thread}}' }],
  },
  {
    title: 'File descriptors',
    unit: 'none',
    queries: [{ expr: of('process_open_fds'), legend: '{{instance}}' }],
  },
  {
    title: 'Load of serving threads',
    unit: 'percentunit',
    max: 1,
    queries: [
      {
        expr: `max by (instance, thread) (${of('sluice_serving_thread_busy_ratio')})`,
        legend: '{{instance}} {{thread}}',
      },
    ],
  },
  {
    title: 'Decisions by serving thread',
    unit: 'reqps',
    queries: [
      {
        expr: `sum by (instance, thread) (${rate('sluice_serving_thread_decisions_total')})`,
        legend: '{{instance}} {{thread}}',
      },
    ],
  },
  {
    title: 'Uptime',
    unit: 's',
    queries: [{ expr: `time() - ${of('process_start_time_seconds')}`, legend: '{{instance}}' }],
  },
];

const TASKS = [
  {
    title: 'Tasks created and finished',
    unit: 'ops',
    queries: [
      { expr: `sum(${rate('sluice_tasks_created_total')})`, legend: 'created' },
      { expr: `sum by (status) (${rate('sluice_tasks_finished_total')})`, legend: '{{status}}' },
    ],
  },
  {
    title: 'Attempts by outcome',
    unit: 'ops',
    queries: [{ expr: `sum by (outcome) (${rate('sluice_tasks_attempts_total')})`, legend: '{{outcome}}' }],
  },
  {
    title: 'Due tasks and attempts in progress',
    unit: 'none',
    queries: [
      { expr: `max(${of('sluice_tasks_due')})`, legend: 'due' },
      { expr: `sum(${of('sluice_tasks_in_flight')})`, legend: 'in progress' },
    ],
  },
  {
    title: 'How late tasks start',
    unit: 's',
    queries: quantiles('sluice_tasks_dispatch_lag_seconds', [0.5, 0.99]),
  },
  {
    title: 'Duration of push attempts',
    unit: 's',
    queries: quantiles('sluice_tasks_attempt_duration_seconds', [0.5, 0.99]),
  },
  {
    title: 'Requests to the tasks API by status',
    unit: 'reqps',
    queries: [{ expr: `sum by (code) (${rate('sluice_tasks_http_requests_total')})`, legend: '{{code}}' }],
  },
  {
    title: 'Firings of schedules',
    unit: 'ops',
    queries: [
      { expr: `sum by (result) (${rate('sluice_tasks_schedules_fired_total')})`, legend: '{{result}}' },
    ],
  },
  {
    title: 'Duration of operations of the task store',
    unit: 's',
    queries: quantiles('sluice_tasks_store_op_seconds', [0.99], { by: 'op' }),
  },
  {
    title: 'Errors of the task store',
    unit: 'ops',
    queries: [
      { expr: `sum by (instance) (${rate('sluice_tasks_store_errors_total')})`, legend: '{{instance}}' },
    ],
  },
  {
    title: 'Why tasks are not served',
    unit: 'none',
    help: 'Causes that are 1. docs/tasks/operations.md explains each of them.',
    queries: [{ expr: `max by (cause) (${of('sluice_tasks_not_ready')})`, legend: '{{cause}}' }],
  },
];

const WORKER = '{{tenant}} {{worker}}';

const WORKERS = [
  {
    title: 'Workers whose tasks wait longest',
    unit: 's',
    help: 'How long the oldest due task of a worker has waited: the ten longest. Read from the store every 30 s.',
    queries: [
      {
        expr: `topk(10, max by (tenant, worker) (${of('sluice_tasks_worker_oldest_due_seconds')}))`,
        legend: WORKER,
      },
    ],
  },
  {
    title: 'Workers whose tasks start latest',
    unit: 's',
    help: 'Of a hundred tasks that a worker has started, five were later than this: the ten latest workers.',
    queries: quantiles('sluice_tasks_worker_dispatch_lag_seconds', [0.95], { by: 'tenant, worker' }).map(
      ({ expr }) => ({ expr: `topk(10, ${expr})`, legend: WORKER }),
    ),
  },
  {
    title: 'Workers whose attempts fail most',
    unit: 'ops',
    help: 'Failed attempts per second of the ten workers with the most.',
    queries: [
      {
        expr: `topk(10, sum by (tenant, worker) (${rate('sluice_tasks_worker_failures_total')}))`,
        legend: WORKER,
      },
    ],
  },
];

/** What is below the first screen. */
export const ROWS = [
  { title: 'Decisions', panels: DECISIONS },
  { title: 'Quotas', panels: QUOTAS },
  { title: 'Counter store', panels: STORE },
  { title: 'Process', panels: PROCESS },
  { title: 'Tasks', panels: TASKS },
  { title: 'Workers of tasks', panels: WORKERS },
];

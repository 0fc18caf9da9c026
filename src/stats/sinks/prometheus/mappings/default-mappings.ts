import { DEFAULT_BUCKETS, type Mapping, type Mappings, PLAIN_MAPPING } from '../mapping.ts';

/** Mapped statistics of rules. The reference implementation does not map `over_limit_with_local_cache` either. */
const RULE_STATS = {
  total_hits: 'Hits of all kinds.',
  within_limit: 'Hits within the limit.',
  near_limit: 'Hits above the near-limit ratio and within the limit.',
  over_limit: 'Hits over the limit.',
  shadow_mode: 'Hits over the limit that shadow mode allowed.',
  total_negative_hits: 'Hits that refunds asked to return.',
};

const RULE_METRIC = 'ratelimit_service_rate_limit_';

const LEVELS = [
  ['domain', '$1'],
  ['key1', '$2'],
  ['key2', '$3'],
] as const;

/** Buckets below the default ones of Prometheus, because most calls are faster than the smallest default bucket. */
const FINE_BUCKETS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025];

/**
 * The mappings of spec 4.4, and those of serving threads and tasks. A rule with more than two levels is added to the series of its first
 * two levels, as in the reference implementation.
 * @param responseTimeIn the unit of `ratelimit_service_response_time_seconds`; the name does not change with it
 */
export function defaultMappings(responseTimeIn: 'seconds' | 'milliseconds'): Mappings {
  const list = [
    ...Object.entries(RULE_STATS).map(([stat, help]) => oneLevel(stat, help)),
    deeperLevels(Object.keys(RULE_STATS)),
    glob('ratelimit.service.call.should_rate_limit.*', 'ratelimit_service_should_rate_limit_error', {
      labels: [['err_type', '$1']],
      kind: 'counter',
      help: 'Decision calls that failed.',
    }),
    glob('ratelimit_server.*.total_requests', 'ratelimit_service_total_requests', {
      labels: [['grpc_method', '$1']],
      kind: 'counter',
      help: 'Calls over gRPC.',
    }),
    responseTimeMapping(responseTimeIn),
    glob('ratelimit.service.config_load_success', 'ratelimit_service_config_load_success', {
      kind: 'counter',
      help: 'Rule loads that succeeded.',
    }),
    glob('ratelimit.service.config_load_error', 'ratelimit_service_config_load_error', {
      kind: 'counter',
      help: 'Rule loads that failed.',
    }),
    servingThread('connections', 'Open connections of a serving thread.'),
    servingThread('decisions', 'Requests that a serving thread has decided since it started.'),
    servingThread(
      'busy_percent',
      'Share of the last second, in percent, in which a serving thread was busy.',
    ),
    ...TASK_MAPPINGS,
  ];
  return { list, globOrder: 'first' };
}

/** Rules with one level. */
function oneLevel(stat: string, help: string): Mapping {
  return glob(`ratelimit.service.rate_limit.*.*.${stat}`, `${RULE_METRIC}${stat}`, {
    labels: LEVELS.slice(0, 2),
    help,
  });
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
    labels: LEVELS,
  };
}

function responseTimeMapping(unit: 'seconds' | 'milliseconds'): Mapping {
  const buckets = [...FINE_BUCKETS, ...DEFAULT_BUCKETS];
  const inMilliseconds = buckets.map(bound => Math.round(bound * 1e6) / 1e3);
  return glob('ratelimit_server.*.response_time', 'ratelimit_service_response_time_seconds', {
    labels: [['grpc_method', '$1']],
    observer: { type: 'histogram', buckets: unit === 'seconds' ? buckets : inMilliseconds },
    scale: unit === 'seconds' ? 0.001 : 1,
    help: `Time from the start of a call over gRPC to its answer, in ${unit}.`,
  });
}

/** A figure of each serving thread. Threads are numbered from 0. */
function servingThread(figure: string, help: string): Mapping {
  return glob(`ratelimit.service.serving_thread.*.${figure}`, `ratelimit_service_serving_thread_${figure}`, {
    labels: [['thread', '$1']],
    help,
  });
}

function glob(match: string, name: string, rest: Partial<Mapping>): Mapping {
  return { ...PLAIN_MAPPING, match: { glob: match.split('.') }, name, ...rest };
}

/** Attempts may take a quarter of an hour, and tasks may wait longer than that. */
const LONG_BUCKETS = [...DEFAULT_BUCKETS, 30, 60, 300, 900];
const STORE_BUCKETS = [0.0005, 0.001, 0.0025, ...DEFAULT_BUCKETS];

/** Mappings of the task statistics, which are named in `src/tasks/model/task-statistics.ts`. */
export const TASK_MAPPINGS: readonly Mapping[] = [
  counter('created', 'tasks_created_total', 'Tasks created.'),
  counter('finished.*', 'tasks_finished_total', 'Tasks that reached a final status.', 'status'),
  counter('attempts.*', 'attempts_total', 'Attempts that ended.', 'outcome'),
  counter('leases_expired', 'leases_expired_total', 'Attempts whose lease expired.'),
  counter('settle_rejected', 'settle_rejected_total', 'Outcomes reported after their lease was lost.'),
  counter('worker_tests.*', 'worker_tests_total', 'Test requests sent to push workers.', 'outcome'),
  counter('schedules_fired.*', 'schedules_fired_total', 'Occurrences of schedules.', 'result'),
  counter('store_errors', 'store_errors_total', 'Task store operations that failed.'),
  counter('purged', 'tasks_purged_total', 'Finished tasks deleted after their retention time.'),
  {
    ...mapping('http_requests.*.*', 'http_requests_total', 'Requests to the task API.'),
    kind: 'counter',
    labels: [
      ['route', '$1'],
      ['code', '$2'],
    ],
  },
  {
    ...mapping('not_ready.*', 'tasks_not_ready', 'Whether the task service is not ready, 1 or 0, by cause.'),
    labels: [['cause', '$1']],
  },
  mapping('in_flight', 'tasks_in_flight', 'Attempts in progress in this process.'),
  mapping(
    'due',
    'tasks_due',
    'Due tasks that wait in the store, counted up to 100000. Up to 10 s old, with Redis up to 40 s.',
  ),
  {
    ...mapping(
      'oldest_due',
      'oldest_due_seconds',
      'How long the oldest due task of push workers has waited.',
    ),
    scale: 0.001,
  },
  timer('dispatch_lag', 'dispatch_lag_seconds', 'Time from when a task is due to its start.', LONG_BUCKETS),
  timer('attempt_duration', 'attempt_duration_seconds', 'Duration of push attempts.', LONG_BUCKETS),
  {
    ...timer('store_op.*', 'store_op_seconds', 'Duration of task store operations.', STORE_BUCKETS),
    labels: [['op', '$1']],
  },
];

function counter(match: string, name: string, help: string, label?: string): Mapping {
  const labels = label === undefined ? [] : ([[label, '$1']] as const);
  return { ...mapping(match, name, help), kind: 'counter', labels };
}

/** Timers record milliseconds; the metrics show seconds. */
function timer(match: string, name: string, help: string, buckets: readonly number[]): Mapping {
  return { ...mapping(match, name, help), observer: { type: 'histogram', buckets }, scale: 0.001 };
}

function mapping(match: string, name: string, help: string): Mapping {
  return { ...PLAIN_MAPPING, match: { glob: ['tasks', ...match.split('.')] }, name, help };
}

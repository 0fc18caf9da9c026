import { DEFAULT_BUCKETS, type Mapping, PLAIN_MAPPING } from './mapping.ts';

/** Attempts may take a quarter of an hour, and a task may wait as long as its worker lets it. */
const LONG_BUCKETS = [...DEFAULT_BUCKETS, 30, 60, 300, 900];
const STORE_BUCKETS = [0.0005, 0.001, 0.0025, ...DEFAULT_BUCKETS];

/** How the statistics of tasks are shown; their names are those of `src/tasks/model/task-statistics.ts`. */
export const TASK_MAPPINGS: readonly Mapping[] = [
  counter('created', 'tasks_created_total', 'Tasks that were made.'),
  counter('finished.*', 'tasks_finished_total', 'Tasks that reached a final status.', 'status'),
  counter('attempts.*', 'attempts_total', 'Attempts that ended.', 'outcome'),
  counter('leases_expired', 'leases_expired_total', 'Attempts whose lease ran out.'),
  counter('settle_rejected', 'settle_rejected_total', 'Outcomes that came after their lease was lost.'),
  counter('worker_tests.*', 'worker_tests_total', 'Tests of push workers that were sent.', 'outcome'),
  counter('schedules_fired.*', 'schedules_fired_total', 'Nominal times of schedules.', 'result'),
  counter('store_errors', 'store_errors_total', 'Calls of the task store that failed.'),
  counter('purged', 'tasks_purged_total', 'Tasks that were removed when their time was over.'),
  {
    ...mapping('http_requests.*.*', 'http_requests_total', 'Calls of the task interface.'),
    kind: 'counter',
    labels: [
      ['route', '$1'],
      ['code', '$2'],
    ],
  },
  {
    ...mapping('not_ready.*', 'tasks_not_ready', 'Whether tasks cannot be served, 1 or 0, by the cause.'),
    labels: [['cause', '$1']],
  },
  mapping('in_flight', 'tasks_in_flight', 'Attempts that this process is making.'),
  mapping(
    'due',
    'tasks_due',
    'Tasks in the store that are due and wait, at most 100000: up to 10 s old, with Redis up to 40 s.',
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
  timer('attempt_duration', 'attempt_duration_seconds', 'Time that pushed attempts took.', LONG_BUCKETS),
  {
    ...timer('store_op.*', 'store_op_seconds', 'Time that calls of the task store took.', STORE_BUCKETS),
    labels: [['op', '$1']],
  },
];

function counter(match: string, name: string, help: string, label?: string): Mapping {
  const labels = label === undefined ? [] : ([[label, '$1']] as const);
  return { ...mapping(match, name, help), kind: 'counter', labels };
}

/** Timers are kept in milliseconds and shown in seconds. */
function timer(match: string, name: string, help: string, buckets: readonly number[]): Mapping {
  return { ...mapping(match, name, help), observer: { type: 'histogram', buckets }, scale: 0.001 };
}

function mapping(match: string, name: string, help: string): Mapping {
  return { ...PLAIN_MAPPING, match: { glob: ['tasks', ...match.split('.')] }, name, help };
}

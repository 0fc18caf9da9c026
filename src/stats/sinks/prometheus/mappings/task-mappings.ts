import { DEFAULT_BUCKETS, type Mapping, PLAIN_MAPPING } from '../mapping.ts';
import { counter, duration, gauge, growingGauge, labelled } from './mapping-of.ts';

/** Attempts may take a quarter of an hour, and tasks may wait longer than that. */
const LONG_BUCKETS = [...DEFAULT_BUCKETS, 30, 60, 300, 900];

/** Fewer buckets, because there is a histogram for each worker. */
const WORKER_BUCKETS = [0.1, 0.5, 1, 5, 30, 300];

const STORE_BUCKETS = [0.0005, 0.001, 0.0025, ...DEFAULT_BUCKETS];

/** Mappings of the statistics of tasks, which are named in `src/tasks/model/task-statistics.ts`. */
export const TASK_MAPPINGS: readonly Mapping[] = [
  counter('tasks.created', 'sluice_tasks_created_total', 'Tasks created.', {
    formerly: 'tasks_created_total',
  }),
  counter('tasks.finished.*', 'sluice_tasks_finished_total', 'Tasks that reached a final status.', {
    labels: labelled('status'),
    formerly: 'tasks_finished_total',
  }),
  counter('tasks.attempts.*', 'sluice_tasks_attempts_total', 'Attempts that ended.', {
    labels: labelled('outcome'),
    formerly: 'attempts_total',
  }),
  counter('tasks.leases_expired', 'sluice_tasks_leases_expired_total', 'Attempts whose lease expired.', {
    formerly: 'leases_expired_total',
  }),
  counter(
    'tasks.settle_rejected',
    'sluice_tasks_settle_rejected_total',
    'Outcomes reported after their lease was lost.',
    { formerly: 'settle_rejected_total' },
  ),
  counter('tasks.worker_tests.*', 'sluice_tasks_worker_tests_total', 'Test requests sent to push workers.', {
    labels: labelled('outcome'),
    formerly: 'worker_tests_total',
  }),
  counter('tasks.schedules_fired.*', 'sluice_tasks_schedules_fired_total', 'Occurrences of schedules.', {
    labels: labelled('result'),
    formerly: 'schedules_fired_total',
  }),
  counter('tasks.store_errors', 'sluice_tasks_store_errors_total', 'Task store operations that failed.', {
    formerly: 'store_errors_total',
  }),
  counter('tasks.purged', 'sluice_tasks_purged_total', 'Finished tasks deleted after their retention time.', {
    formerly: 'tasks_purged_total',
  }),
  counter('tasks.http_requests.*.*', 'sluice_tasks_http_requests_total', 'Requests to the task API.', {
    labels: labelled('route', 'code'),
    formerly: 'http_requests_total',
  }),
  gauge(
    'tasks.not_ready.*',
    'sluice_tasks_not_ready',
    'Whether the task service is not ready, 1 or 0, by cause.',
    { labels: labelled('cause'), formerly: 'tasks_not_ready' },
  ),
  gauge('tasks.in_flight', 'sluice_tasks_in_flight', 'Attempts in progress in this process.', {
    formerly: 'tasks_in_flight',
  }),
  gauge(
    'tasks.due',
    'sluice_tasks_due',
    'Due tasks that wait in the store, counted up to 100000. Up to 10 s old, with Redis up to 40 s.',
    { formerly: 'tasks_due' },
  ),
  gauge(
    'tasks.oldest_due',
    'sluice_tasks_oldest_due_seconds',
    'How long the oldest due task of push workers has waited.',
    { scale: 0.001, formerly: 'oldest_due_seconds' },
  ),
  duration(
    'tasks.dispatch_lag',
    'sluice_tasks_dispatch_lag_seconds',
    'Time from when a task is due to its start.',
    { buckets: LONG_BUCKETS, formerly: 'dispatch_lag_seconds' },
  ),
  duration('tasks.attempt_duration', 'sluice_tasks_attempt_duration_seconds', 'Duration of push attempts.', {
    buckets: LONG_BUCKETS,
    formerly: 'attempt_duration_seconds',
  }),
  duration('tasks.store_op.*', 'sluice_tasks_store_op_seconds', 'Duration of task store operations.', {
    labels: labelled('op'),
    buckets: STORE_BUCKETS,
    formerly: 'store_op_seconds',
  }),
  ...threadMappings(),
  ...workerMappings(),
];

function threadMappings(): Mapping[] {
  return [
    gauge('tasks.rest_threads', 'sluice_tasks_rest_threads', 'Threads of the task API that are ready.', {
      formerly: 'tasks_rest_threads',
    }),
    gauge(
      'tasks.rest_waiting',
      'sluice_tasks_rest_waiting',
      'Requests to the task API that are being answered.',
      { formerly: 'tasks_rest_waiting' },
    ),
    gauge('tasks.store_waiting', 'sluice_tasks_store_waiting', 'Operations that wait for the task store.', {
      formerly: 'tasks_store_waiting',
    }),
    ...['rest', 'engine', 'delivery'].map(kind =>
      counter(
        `tasks.${kind}_threads_lost`,
        `sluice_tasks_${kind}_threads_lost_total`,
        `Threads that crashed or did not respond: those of the task ${kind === 'rest' ? 'API' : kind}.`,
        { formerly: `tasks_${kind}_threads_lost` },
      ),
    ),
    growingGauge(
      'tasks.clock_backsteps',
      'sluice_tasks_clock_backsteps_total',
      'How often the clock of the machine was set back.',
      { formerly: 'tasks_clock_backsteps' },
    ),
  ];
}

/** Statistics of single workers. Names of workers may contain dots, so patterns match them. */
function workerMappings(): Mapping[] {
  const labels = labelled('tenant', 'worker');
  const ofWorker = (stat: string): Mapping['match'] => ({
    pattern: new RegExp(`^tasks\\.worker\\.([^.]+)\\.(.+)\\.${stat}$`),
  });
  return [
    {
      ...PLAIN_MAPPING,
      kind: 'gauge',
      match: ofWorker('oldest_due'),
      name: 'sluice_tasks_worker_oldest_due_seconds',
      labels,
      scale: 0.001,
      help: 'How long the oldest due task of a worker has waited.',
    },
    {
      ...PLAIN_MAPPING,
      kind: 'observer',
      match: ofWorker('dispatch_lag'),
      name: 'sluice_tasks_worker_dispatch_lag_seconds',
      labels,
      observer: { type: 'histogram', buckets: WORKER_BUCKETS },
      scale: 0.001,
      help: 'Time from when a task of a worker is due to its start.',
    },
    {
      ...PLAIN_MAPPING,
      kind: 'counter',
      match: ofWorker('failures'),
      name: 'sluice_tasks_worker_failures_total',
      labels,
      help: 'Attempts for a worker that failed.',
    },
  ];
}

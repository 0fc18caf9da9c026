import type { Histogram } from '../../stats/histogram.ts';
import type { Counter, StatsRegistry } from '../../stats/registry.ts';

/**
 * The statistics of tasks (specification 3.14). All of their names are here; how they are shown to Prometheus is in
 * `src/stats/sinks/prometheus/mappings/task-mappings.ts`. Names hold nothing that a request says, and no tenant.
 */
export class TaskStatistics {
  readonly #stats: StatsRegistry;
  readonly created: Counter;
  /** Time from when a task is due to the start of its attempt, by the store's clock. */
  readonly dispatchLag: Histogram;
  /** Of attempts that were pushed, by the clock of the process. */
  readonly attemptDuration: Histogram;
  readonly leasesExpired: Counter;
  /** Attempts that ended after their lease was lost, or whose results could not be stored in time. */
  readonly settleRejected: Counter;
  readonly storeErrors: Counter;
  readonly purged: Counter;

  constructor(stats: StatsRegistry) {
    this.#stats = stats;
    this.created = stats.counter('tasks.created');
    this.dispatchLag = stats.timer('tasks.dispatch_lag');
    this.attemptDuration = stats.timer('tasks.attempt_duration');
    this.leasesExpired = stats.counter('tasks.leases_expired');
    this.settleRejected = stats.counter('tasks.settle_rejected');
    this.storeErrors = stats.counter('tasks.store_errors');
    this.purged = stats.counter('tasks.purged');
  }

  /** Tasks that reached a final status. */
  finished(status: 'succeeded' | 'failed' | 'canceled' | 'expired'): Counter {
    return this.#stats.counter(`tasks.finished.${status}`);
  }

  /** Attempts that ended, by the event of the history. */
  attempts(outcome: string): Counter {
    return this.#stats.counter(`tasks.attempts.${outcome}`);
  }

  /** Tests of push workers, by what the answer would mean for a task. */
  workerTests(outcome: string): Counter {
    return this.#stats.counter(`tasks.worker_tests.${outcome}`);
  }

  /** Nominal times of schedules, by result: `fired`, `skipped_overlap`, … */
  schedulesFired(result: string): Counter {
    return this.#stats.counter(`tasks.schedules_fired.${result}`);
  }

  /** Durations of one operation of the store, by its name. */
  storeOperation(operation: string): Histogram {
    return this.#stats.timer(`tasks.store_op.${operation}`);
  }

  /** Calls of the interface. @param route a name of letters, digits, `_` and `-`: never the path that was asked for */
  httpRequests(route: string, status: number): Counter {
    return this.#stats.counter(`tasks.http_requests.${route}.${status}`);
  }

  /** Whether tasks cannot be served, 1 or 0, by the cause. */
  readNotReady(cause: string, read: () => number): void {
    this.#stats.gauge(`tasks.not_ready.${cause}`, read);
  }

  /** Attempts that this process is making. */
  readInFlight(read: () => number): void {
    this.#stats.gauge('tasks.in_flight', read);
  }

  /** Tasks of all tenants that wait although their time has come, as the store knew lately. */
  readDueTasks(read: () => number): void {
    this.#stats.gauge('tasks.due', read);
  }

  /** How long the oldest task that could be pushed has waited, in milliseconds. */
  readOldestDueMs(read: () => number): void {
    this.#stats.gauge('tasks.oldest_due', read);
  }
}

import type { Histogram } from '../../stats/histogram.ts';
import type { Counter, StatsRegistry } from '../../stats/registry.ts';
import { WorkerNames } from './worker-names.ts';

/** The statistics of one worker, or of all workers beyond the bound together. */
interface WorkerStatistics {
  /** Time from when a task is due to the start of its attempt, by the store's clock. */
  readonly dispatchLag: Histogram;
  /** Attempts that failed, and attempts whose lease expired. */
  readonly failures: Counter;
}

/**
 * The statistics of tasks (specification 3.14). All of their names are here; how they are shown to Prometheus is in
 * `src/stats/sinks/prometheus/mappings/task-mappings.ts`. Names hold nothing that a request says, except the domain and the
 * name of a worker in a bounded number of statistics.
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
  readonly #workers: WorkerNames;
  /** By the beginning of their names. */
  readonly #ofWorkers = new Map<string, WorkerStatistics>();

  /** @param workers the workers with statistics of their own; by default none */
  constructor(stats: StatsRegistry, workers = new WorkerNames(0)) {
    this.#stats = stats;
    this.#workers = workers;
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

  /** Null if there are no statistics of single workers. @param worker its name */
  ofWorker(tenant: string, worker: string): WorkerStatistics | null {
    if (!this.#workers.isEnabled) return null;
    const prefix = this.#workers.prefixOf(tenant, worker);
    let found = this.#ofWorkers.get(prefix);
    if (found === undefined) {
      found = {
        dispatchLag: this.#stats.timer(`${prefix}dispatch_lag`),
        failures: this.#stats.counter(`${prefix}failures`),
      };
      this.#ofWorkers.set(prefix, found);
    }
    return found;
  }

  /**
   * How long the oldest due task of a worker has waited, in milliseconds. Returns false, and shows nothing, if the worker
   * has no statistics of its own.
   */
  readOldestDueMsOf(tenant: string, worker: string, read: () => number): boolean {
    if (!this.#workers.has(tenant, worker)) return false;
    this.#stats.gauge(`${this.#workers.prefixOf(tenant, worker)}oldest_due`, read);
    return true;
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

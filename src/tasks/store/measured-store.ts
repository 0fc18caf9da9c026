import { isFinal, type Task } from '../model/task.ts';
import type { TaskStatistics } from '../model/task-statistics.ts';
import { type AnswerOf, type ArgumentsOf, type OperationName, type Operator, storeOf } from './operations.ts';
import type { SettleAnswer, Settlement } from './requests.ts';
import type { TaskStore } from './task-store.ts';
import type { UsageCounts } from './usage-counts.ts';

/** Ends of attempts that are failures of the worker. */
const FAILURES: ReadonlySet<Settlement['event']> = new Set([
  'attempt_failed',
  'timed_out',
  'lease_expired',
  'no_retry',
]);

/** Ends of attempts whose duration says something about the worker. */
const MEASURED: ReadonlySet<Settlement['event']> = new Set([
  'succeeded',
  'attempt_failed',
  'timed_out',
  'no_retry',
]);

interface Measures {
  readonly statistics: TaskStatistics;
  /** A clock that never steps back, in milliseconds with fractions. */
  readonly nowMs: () => number;
  /** Null in a thread that does nothing for tenants. */
  readonly usage: UsageCounts | null;
}

/**
 * Measures a store: the duration and the failures of its operations, and how tasks and attempts end. All callers use the
 * store through it, so that every change of a task is counted, also in the usage of its tenant.
 */
export function measuredStore(store: TaskStore, measures: Measures): TaskStore {
  return storeOf(store.name, new MeasuringOperator(store, measures));
}

/** What is counted after an operation. */
type Counts = { readonly [N in OperationName]?: (answer: AnswerOf<N>, args: ArgumentsOf<N>) => void };

class MeasuringOperator implements Operator {
  readonly #store: TaskStore;
  readonly #measures: Measures;
  readonly #counts: Counts;

  constructor(store: TaskStore, measures: Measures) {
    this.#store = store;
    this.#measures = measures;
    this.#counts = countsOf(measures);
  }

  start(): Promise<void> {
    return this.#store.start();
  }

  stop(): Promise<void> {
    return this.#store.stop();
  }

  async ask<N extends OperationName>(name: N, args: ArgumentsOf<N>): Promise<AnswerOf<N>> {
    const { statistics, nowMs } = this.#measures;
    const startMs = nowMs();
    let answer: AnswerOf<N>;
    try {
      const run = this.#store[name] as (...args: ArgumentsOf<N>) => Promise<AnswerOf<N>>;
      answer = await run.apply(this.#store, args);
    } catch (failure) {
      statistics.storeErrors.add(1);
      throw failure;
    } finally {
      statistics.storeOperation(statisticOf(name)).record(nowMs() - startMs);
    }
    const count: Counts[N] = this.#counts[name];
    count?.(answer, args);
    return answer;
  }
}

/** The name of an operation in statistics: `get_whole`. */
function statisticOf(name: OperationName): string {
  return name.replaceAll(/[A-Z]/g, letter => `_${letter.toLowerCase()}`);
}

function countsOf({ statistics, usage }: Measures): Counts {
  const countFinished = (tenant: string, task: Task): void => {
    const { status } = task;
    if (!isFinal(status)) return;
    statistics.finished(status).add(1);
    usage?.count(tenant, task, status);
  };
  const countEnded = (
    tenant: string,
    event: Settlement['event'],
    { task, beganAt }: Extract<SettleAnswer, { kind: 'settled' }>,
  ): void => {
    if (FAILURES.has(event)) {
      statistics.ofWorker(tenant, task.worker)?.failures.add(1);
      usage?.count(tenant, task, 'attemptsFailed');
    }
    if (MEASURED.has(event) && beganAt !== null) usage?.lasted(tenant, task, task.updatedAt - beganAt);
    // A task with a cancel request becomes canceled with nearly every event.
    statistics.attempts(task.status === 'canceled' ? 'canceled' : event).add(1);
    if (event === 'lease_expired') statistics.leasesExpired.add(1);
    countFinished(tenant, task);
  };
  return {
    create(answer, [tenant]) {
      if (answer.kind !== 'done') return;
      for (const result of answer.results) {
        if (result.kind !== 'created') continue;
        statistics.created.add(1);
        usage?.count(tenant, result.task, 'created');
      }
    },
    change(answer, [tenant]) {
      if (answer.kind === 'done') countFinished(tenant, answer.task);
    },
    claim({ tasks, now }, [tenant]) {
      for (const { task, dueAt } of tasks) {
        const lagMs = Math.max(0, now - dueAt);
        statistics.ofWorker(tenant, task.worker)?.dispatchLag.record(lagMs);
        usage?.started(tenant, task, lagMs);
      }
    },
    settle(answers, [tenant, settlements]) {
      answers.forEach((answer, at) => {
        if (answer.kind === 'settled') countEnded(tenant, settlements[at].event, answer);
      });
    },
    purge({ tasks }) {
      if (tasks > 0) statistics.purged.add(tasks);
    },
  };
}

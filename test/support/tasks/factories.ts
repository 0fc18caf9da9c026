import { idTimeMs } from '../../../src/tasks/model/ids.ts';
import { DEFAULT_RETRY_POLICY, type RetryPolicy } from '../../../src/tasks/model/retry-policy.ts';
import type { Actor, Task } from '../../../src/tasks/model/task.ts';
import { NO_CONTENT } from '../../../src/tasks/model/task-content.ts';
import type {
  ClaimRequest,
  CreateRequest,
  HistoryQuery,
  Idempotency,
  NewTask,
  Settlement,
  TaskChange,
  TaskQuery,
  TaskSearch,
} from '../../../src/tasks/store/requests.ts';
import { DocumentFactory, USER, type WorkerOf } from './document-factory.ts';

export { USER };
export const DISPATCHER: Actor = { type: 'dispatcher', id: 'node-a' };
/** Who takes, extends and ends leases. */
export const PULLER: Actor = { type: 'worker', id: 'host-1' };

const HEX = '0123456789abcdef';

/** Makes documents, tasks and requests. */
export class Factory extends DocumentFactory {
  leaseId(): string {
    return Array.from({ length: 32 }, () => HEX[this.random.below(16)]).join('');
  }

  leaseIds(count: number): string[] {
    return Array.from({ length: count }, () => this.leaseId());
  }

  /** A task of the worker, due at once; `rest` is what {@link NewTask} holds beside the task. */
  newTask(
    worker: WorkerOf,
    task: Partial<NewTask['task']> = {},
    rest: Partial<Omit<NewTask, 'task'>> = {},
  ): NewTask {
    const id = task.id ?? this.id('task');
    const createdAt = idTimeMs(id);
    return {
      task: {
        id,
        workerId: worker.id,
        worker: worker.body.name,
        ...NO_CONTENT,
        priority: 'normal',
        runAt: createdAt,
        expiresAt: null,
        timeoutMs: 30_000,
        retry: DEFAULT_RETRY_POLICY,
        key: null,
        keyTtlMs: 0,
        group: null,
        scheduleId: null,
        scheduledFor: null,
        heldBy: null,
        onFinish: null,
        createdBy: USER,
        createdAt,
        ...task,
      },
      body: { payload: null, headers: {} },
      onConflict: 'return',
      wake: false,
      ...rest,
    };
  }

  createRequest(tasks: readonly NewTask[], rest: Partial<CreateRequest> = {}): CreateRequest {
    return { tasks, atomic: false, maxOpen: 1_000_000, actor: USER, ...rest };
  }

  /** For so many tasks of the worker, without bounds that matter. */
  claimRequest(workerId: string, max: number, rest: Partial<ClaimRequest> = {}): ClaimRequest {
    return {
      workerId,
      leaseIds: this.leaseIds(max),
      lease: { mode: 'push', ms: 15_000 },
      concurrency: null,
      rate: null,
      groups: null,
      tenantInFlight: 1_000_000,
      tenantPerSecond: 1_000_000,
      actor: DISPATCHER,
      ...rest,
    };
  }
}

/** The end of an attempt, without anything to tell. */
export function settlement(
  leaseId: string,
  event: Settlement['event'],
  rest: Partial<Settlement> = {},
): Settlement {
  return {
    leaseId,
    event,
    delayMs: 0,
    last: false,
    result: null,
    error: null,
    http: null,
    throttleMs: 0,
    actor: DISPATCHER,
    ...rest,
  };
}

export function taskChange(
  action: TaskChange['action'],
  patch: TaskChange['patch'] = {},
  rest: Partial<TaskChange> = {},
): TaskChange {
  return { action, patch, expectVersion: null, actor: USER, ...rest };
}

export function retryPolicy(policy: Partial<RetryPolicy>): RetryPolicy {
  return { ...DEFAULT_RETRY_POLICY, ...policy };
}

/** The same key with the same fingerprint is the same request. */
export function idempotency(key: string, rest: Partial<Idempotency> = {}): Idempotency {
  return { scope: 'tok_1 /v1/tasks', key, fingerprint: 'f1', keepMs: 86_400_000, note: '', ...rest };
}

/** All tasks, as they were made. */
export function taskQuery(rest: Partial<TaskQuery> = {}): TaskQuery {
  return {
    workerId: null,
    statuses: null,
    scheduleId: null,
    createdFrom: null,
    createdBefore: null,
    after: null,
    limit: 1_000,
    order: 'asc',
    ...rest,
  };
}

/** The same without a filter. */
export function taskSearch(rest: Partial<TaskSearch> = {}): TaskSearch {
  return {
    ...taskQuery(),
    by: 'created_at',
    key: null,
    type: null,
    tag: null,
    group: null,
    error: null,
    ...rest,
  };
}

/** All entries, the first one first. */
export function historyQuery(rest: Partial<HistoryQuery> = {}): HistoryQuery {
  return { after: null, limit: 2_000, order: 'asc', ...rest };
}

export function idsOf(tasks: readonly Pick<Task, 'id'>[]): string[] {
  return tasks.map(({ id }) => id);
}

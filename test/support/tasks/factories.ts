import type { Clock } from '../../../src/base/clock.ts';
import type {
  Account,
  ApiToken,
  DocumentBodies,
  DocumentKind,
  Schedule,
  Secret,
  User,
  Worker,
} from '../../../src/tasks/model/documents.ts';
import { type IdKind, IdMaker, idTimeMs } from '../../../src/tasks/model/ids.ts';
import { DEFAULT_RETRY_POLICY, type RetryPolicy } from '../../../src/tasks/model/retry-policy.ts';
import type { Actor, Task } from '../../../src/tasks/model/task.ts';
import { ACCOUNT_ID, type PutDocument } from '../../../src/tasks/store/documents.ts';
import type {
  ClaimRequest,
  CreateRequest,
  HistoryQuery,
  Idempotency,
  NewTask,
  Settlement,
  TaskChange,
  TaskQuery,
} from '../../../src/tasks/store/requests.ts';
import { SeededRandom } from '../seeded-random.ts';

export const USER: Actor = { type: 'user', id: 'usr_1' };
export const DISPATCHER: Actor = { type: 'dispatcher', id: 'node-a' };

const HEX = '0123456789abcdef';

/** Where a document lies, beside its body. */
type Filing<K extends DocumentKind> = Partial<Omit<PutDocument<K>, 'op' | 'kind' | 'body'>>;

/** The worker that a task is for: its document, or what matters of it. */
type WorkerOf = { readonly id: string; readonly body: Pick<Worker, 'name'> };

/** Makes documents, tasks and requests. Ids follow from the clock and the seed alone; what is not said has a plain value. */
export class Factory {
  readonly #clock: Clock;
  readonly #random: SeededRandom;
  readonly #ids: IdMaker;

  constructor(clock: Clock, seed = 1) {
    this.#clock = clock;
    this.#random = new SeededRandom(seed);
    this.#ids = new IdMaker(
      () => clock.nowMs(),
      count => Uint8Array.from({ length: count }, () => this.#random.below(256)),
    );
  }

  id(kind: IdKind): string {
    return this.#ids.next(kind);
  }

  leaseId(): string {
    return Array.from({ length: 32 }, () => HEX[this.#random.below(16)]).join('');
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
        type: null,
        priority: 'normal',
        runAt: createdAt,
        expiresAt: null,
        timeoutMs: 30_000,
        retry: DEFAULT_RETRY_POLICY,
        key: null,
        keyTtlMs: 0,
        tags: [],
        metadata: {},
        scheduleId: null,
        scheduledFor: null,
        heldBy: null,
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
      tenantInFlight: 1_000_000,
      tenantPerSecond: 1_000_000,
      actor: DISPATCHER,
      ...rest,
    };
  }

  account(
    domain: string,
    body: Partial<Account> = {},
    filing: Filing<'account'> = {},
  ): PutDocument<'account'> {
    return document('account', ACCOUNT_ID, filing, {
      id: this.id('account'),
      domain,
      status: 'active',
      createdAt: this.#clock.nowMs(),
      owners: 1,
      limits: {},
      dataKey: null,
      ...body,
    });
  }

  user(body: Partial<User> = {}, filing: Filing<'user'> = {}): PutDocument<'user'> {
    const { email = 'ann@example.com', externalId = null } = body;
    const unique = [`email:${email.toLowerCase()}`];
    if (externalId !== null) unique.push(`external:${externalId}`);
    return document(
      'user',
      this.id('user'),
      { unique, ...filing },
      {
        email,
        name: 'Ann',
        role: 'owner',
        status: 'active',
        externalId,
        lastSeenAt: null,
        createdAt: this.#clock.nowMs(),
        updatedAt: this.#clock.nowMs(),
        ...body,
      },
    );
  }

  /** @param hash the SHA-256 of the token, hex */
  token(userId: string, hash: string, body: Partial<ApiToken> = {}): PutDocument<'token'> {
    return document(
      'token',
      this.id('token'),
      { parent: userId, unique: [`hash:${hash}`] },
      {
        userId,
        name: 'laptop',
        scopes: null,
        expiresAt: this.#clock.nowMs() + 90 * 86_400_000,
        lastUsedAt: null,
        createdAt: this.#clock.nowMs(),
        createdBy: USER,
        ...body,
      },
    );
  }

  worker(body: Partial<Worker> = {}, filing: Filing<'worker'> = {}): PutDocument<'worker'> {
    const { name = 'mailer', resumeAt = null } = body;
    return document(
      'worker',
      this.id('worker'),
      { unique: [`name:worker:${name}`], dueAt: resumeAt, ...filing },
      {
        name,
        mode: 'push',
        url: 'https://mailer.example.com/tasks',
        method: 'POST',
        headers: {},
        timeoutMs: 30_000,
        leaseMs: 60_000,
        retry: DEFAULT_RETRY_POLICY,
        concurrency: null,
        rate: null,
        priority: 'normal',
        noRetryOn: [],
        paused: false,
        pauseReason: null,
        resumeAt,
        autoPauseAfterMs: null,
        createdAt: this.#clock.nowMs(),
        updatedAt: this.#clock.nowMs(),
        ...body,
      },
    );
  }

  secret(workerId: string, body: Partial<Secret> = {}, filing: Filing<'secret'> = {}): PutDocument<'secret'> {
    return document(
      'secret',
      this.id('secret'),
      { parent: workerId, ...filing },
      {
        workerId,
        type: 'signing',
        name: 'default',
        fingerprint: '0123456789ab',
        sealed: 'c2VhbGVk',
        createdAt: this.#clock.nowMs(),
        createdBy: USER,
        lastUsedAt: null,
        expiresAt: null,
        ...body,
      },
    );
  }

  schedule(
    worker: WorkerOf,
    body: Partial<Schedule> = {},
    filing: Filing<'schedule'> = {},
  ): PutDocument<'schedule'> {
    const { name = 'nightly', nextAt = this.#clock.nowMs() + 60_000 } = body;
    return document(
      'schedule',
      this.id('schedule'),
      { unique: [`name:schedule:${name}`], dueAt: nextAt, ...filing },
      {
        name,
        workerId: worker.id,
        worker: worker.body.name,
        task: {
          type: null,
          payload: null,
          headers: {},
          priority: null,
          timeoutMs: null,
          retry: null,
          tags: [],
          metadata: {},
        },
        cron: null,
        everyMs: 60_000,
        phaseMs: 0,
        timezone: 'UTC',
        overlap: 'skip',
        catchUp: { mode: 'latest', windowMs: 3_600_000, max: 100 },
        dst: { gap: 'run_after', overlap: 'once' },
        paused: false,
        pauseReason: null,
        resumeAt: null,
        nextAt,
        lastRun: null,
        fired: 0,
        skippedOverlap: 0,
        skippedWindow: 0,
        createdAt: this.#clock.nowMs(),
        updatedAt: this.#clock.nowMs(),
        ...body,
      },
    );
  }
}

function document<K extends DocumentKind>(
  kind: K,
  id: string,
  filing: Filing<K>,
  body: DocumentBodies[K],
): PutDocument<K> {
  return { op: 'put', kind, id, expect: 'absent', parent: '', dueAt: null, unique: [], ...filing, body };
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

/** All entries, the first one first. */
export function historyQuery(rest: Partial<HistoryQuery> = {}): HistoryQuery {
  return { after: null, limit: 2_000, order: 'asc', ...rest };
}

export function idsOf(tasks: readonly Pick<Task, 'id'>[]): string[] {
  return tasks.map(({ id }) => id);
}

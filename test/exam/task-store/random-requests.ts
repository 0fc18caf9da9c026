import { FINAL_STATUSES, PRIORITIES, TASK_STATUSES, type TaskStatus } from '../../../src/tasks/model/task.ts';
import type { PutDocument } from '../../../src/tasks/store/documents.ts';
import type {
  ClaimAnswer,
  ClaimRequest,
  CreateRequest,
  Idempotency,
  NewTask,
  Settlement,
  TaskChange,
  TaskPatch,
  TaskQuery,
} from '../../../src/tasks/store/requests.ts';
import type { ManualClock } from '../../support/manual-clock.ts';
import { SeededRandom } from '../../support/seeded-random.ts';
import {
  Factory,
  idempotency,
  retryPolicy,
  settlement,
  taskChange,
  taskQuery,
} from '../../support/tasks/factories.ts';
import type { MemoryStore } from '../../support/tasks/memory-store.ts';
import { RandomDocuments } from './random-documents.ts';
import type { Step } from './random-steps.ts';

const KEEP = { succeededMs: 60_000, otherMs: 600_000 };
/** More than there ever is: which of several are told of first is for each store to say. */
const ALL = 1_000;

/** Statuses in which a task can be changed so. */
const FITTING: Readonly<Record<TaskChange['action'], readonly TaskStatus[]>> = {
  update: ['scheduled', 'running', 'retry', 'paused'],
  pause: ['scheduled', 'retry'],
  resume: ['paused'],
  cancel: ['scheduled', 'running', 'retry', 'paused'],
  replay: FINAL_STATUSES,
  run: ['scheduled', 'retry'],
  expire: ['scheduled', 'retry'],
};

/** The leases of a tenant, as far as further requests build on them. */
interface Past {
  readonly name: string;
  /** Of attempts that nobody has ended yet, as far as is known. */
  readonly live: Set<string>;
  /** All that there ever were. */
  readonly leaseIds: string[];
}

/** Makes requests that are likely to meet: few workers, keys and times, and tasks and leases that are there. */
export class RandomRequests {
  readonly random: SeededRandom;
  readonly #clock: ManualClock;
  readonly #model: MemoryStore;
  readonly #make: Factory;
  readonly #documents: RandomDocuments;
  readonly #workers: readonly PutDocument<'worker'>[];
  readonly #tenants: readonly Past[];
  #fired = 0;
  /** The tenant of the step that was made last. */
  #past: Past;

  constructor(clock: ManualClock, model: MemoryStore, seed: number) {
    this.random = new SeededRandom(seed);
    this.#clock = clock;
    this.#model = model;
    this.#make = new Factory(clock, seed);
    this.#workers = ['mailer', 'reporter', 'spare'].map(name => this.#make.worker({ name }));
    this.#documents = new RandomDocuments(this.random, this.#make, model, clock, this.#workers);
    this.#tenants = ['acme', 'globex', 'initech'].map(name => ({
      name,
      live: new Set(),
      leaseIds: [],
    }));
    [this.#past] = this.#tenants;
  }

  get #tenant(): string {
    return this.#past.name;
  }

  get #now(): number {
    return this.#clock.nowMs();
  }

  /** Accounts and workers. */
  beginning(): Step[] {
    return this.#tenants.map(({ name }) => ({
      call: 'apply',
      args: [name, [this.#make.account(name), ...this.#workers]],
    }));
  }

  /** Starts and reads everything that is left, so that nothing that differs stays unseen. */
  end(): Step[] {
    const steps: Step[] = [];
    for (const advanceMs of [0, 3_600_000]) {
      steps.push({ advanceMs }, { call: 'overdue', args: [ALL] }, { call: 'dueDocuments', args: [ALL] });
      for (const { name } of this.#tenants) {
        for (const { id } of this.#workers) {
          steps.push({ call: 'claim', args: [name, this.#make.claimRequest(id, 20)] });
        }
      }
    }
    return steps;
  }

  /** Takes notice of what the model answered. */
  learn(answer: unknown): void {
    const { tasks } = (answer ?? {}) as Partial<ClaimAnswer>;
    if (tasks === undefined) return;
    for (const { leaseId } of tasks) {
      this.#past.leaseIds.push(leaseId);
      this.#past.live.add(leaseId);
    }
  }

  async next(kind: string): Promise<Step[]> {
    this.#past = this.#maybe(60) ? this.#tenants[0] : this.random.pick(this.#tenants);
    switch (kind) {
      case 'pass':
        return [
          {
            advanceMs: this.#maybe(15)
              ? this.random.below(1_200_000)
              : this.random.pick([1, 1_000, 5_000, 30_000]),
          },
        ];
      case 'create':
        return [{ call: 'create', args: [this.#tenant, await this.#createRequest()] }];
      case 'claim':
        return [{ call: 'claim', args: [this.#tenant, await this.#claimRequest()] }];
      case 'settle':
        return [{ call: 'settle', args: [this.#tenant, this.#settlements()] }];
      case 'change':
        return [{ call: 'change', args: await this.#change() }];
      case 'extend':
        return [{ call: 'extend', args: [this.#tenant, this.#leaseId(), ...this.#extension()] }];
      case 'remove': {
        const id = await this.#taskId();
        return [{ call: 'remove', args: [this.#tenant, id, await this.#version(id)] }];
      }
      case 'endOverdue':
        return this.#endOverdue();
      case 'purge':
        return [{ call: 'purge', args: [this.#tenant, KEEP, ALL] }];
      case 'apply':
        return [{ call: 'apply', args: await this.#applied() }];
      case 'remember':
        return [{ call: 'remember', args: [this.#tenant, this.#idempotency()] }];
      case 'setWakeup':
        return [{ call: 'setWakeup', args: [this.#tenant, this.random.pick(this.#workers).id, this.#now] }];
      default:
        return [await this.#read()];
    }
  }

  #maybe(percent: number): boolean {
    return this.random.below(100) < percent;
  }

  /** Nearly always of a task that is there, mostly in one of these statuses. */
  async #taskId(statuses: readonly TaskStatus[] | null = null): Promise<string> {
    const wanted = this.#maybe(65) ? statuses : null;
    const tasks = await this.#model.list(this.#tenant, taskQuery({ statuses: wanted }));
    if (tasks.length === 0 || this.#maybe(4)) return this.#make.id('task');
    return this.random.pick(tasks).id;
  }

  /** Mostly one with a task that could start. */
  async #workerId(): Promise<string> {
    const tasks = await this.#model.list(this.#tenant, taskQuery({ statuses: ['scheduled', 'retry'] }));
    const due = tasks.filter(({ dueAt }) => dueAt !== null && dueAt <= this.#now);
    if (due.length > 0 && this.#maybe(75)) return this.random.pick(due).workerId;
    return this.random.pick(this.#workers).id;
  }

  #leaseId(): string {
    const { live, leaseIds } = this.#past;
    if (live.size > 0 && this.#maybe(80)) return this.random.pick([...live]);
    if (leaseIds.length > 0 && this.#maybe(90)) return this.random.pick(leaseIds.slice(-10));
    return this.#make.leaseId();
  }

  async #createRequest(): Promise<CreateRequest> {
    const tasks: NewTask[] = [];
    for (let left = 1 + this.random.below(4); left > 0; left--) tasks.push(await this.#newTask());
    return this.#make.createRequest(tasks, {
      atomic: this.#maybe(25),
      maxOpen: this.random.pick([ALL, ALL, ALL, 8, 20]),
      actor: { type: 'token', id: this.random.pick(['tok_1', 'tok_2']) },
      ...(this.#maybe(8) ? { documents: await this.#documents.changes(this.#tenant) } : {}),
      ...(this.#maybe(20) ? { idempotency: this.#idempotency() } : {}),
    });
  }

  async #newTask(): Promise<NewTask> {
    const { random } = this;
    const worker = random.pick([this.#workers[0], this.#workers[0], this.#workers[1], this.#workers[2]]);
    const scheduleId = this.#maybe(25) ? random.pick(['sch_1', 'sch_2']) : null;
    return this.#make.newTask(
      worker,
      {
        ...this.#content(),
        ...(this.#maybe(3) ? { workerId: 'wrk_nobody' } : {}),
        runAt: this.#time(),
        key: this.#maybe(60) ? random.pick(['a', 'b', 'c']) : null,
        keyTtlMs: random.pick([0, 0, 30_000, 600_000]),
        heldBy: this.#maybe(12) ? await this.#taskId() : null,
        scheduleId,
        scheduledFor: scheduleId === null ? null : ++this.#fired,
      },
      {
        body: { payload: random.pick([null, '1', '{"a":[1,2]}']), headers: random.pick([{}, { a: '1' }]) },
        onConflict: random.pick(['return', 'reject', 'replace', 'replace', 'replace_keep_time']),
        wake: this.#maybe(50),
      },
    );
  }

  #content() {
    const { random } = this;
    return {
      type: random.pick([null, null, 'a', 'b']),
      priority: random.pick(PRIORITIES),
      expiresAt: this.#maybe(70) ? null : this.#now + random.pick([0, 1_000, 60_000, 600_000]),
      timeoutMs: random.pick([1_000, 30_000, 600_000]),
      retry: retryPolicy({ maxAttempts: random.pick([1, 2, 3, 12]) }),
      tags: random.pick([[], ['a'], ['a', 'b']]),
      metadata: random.pick([{}, { a: '1' }]),
    };
  }

  /** Times are few, so that several tasks are due together. */
  #time(): number {
    const minute = Math.floor(this.#now / 60_000) * 60_000;
    return this.random.pick([
      this.#now,
      this.#now,
      minute,
      minute - 300_000,
      this.#now + 10_000,
      minute + 120_000,
    ]);
  }

  #idempotency(): Idempotency {
    const { random } = this;
    return idempotency(random.pick(['i', 'j', 'k']), {
      fingerprint: this.#maybe(80) ? 'f1' : 'f2',
      keepMs: random.pick([10_000, 3_600_000]),
      note: random.pick(['', 'note']),
    });
  }

  async #claimRequest(): Promise<ClaimRequest> {
    const { random } = this;
    return this.#make.claimRequest(await this.#workerId(), random.pick([0, 1, 2, 3, 10]), {
      lease: { mode: random.pick(['push', 'pull']), ms: random.pick([0, 5_000, 60_000]) },
      concurrency: this.#maybe(60) ? null : 1 + random.below(4),
      rate: this.#maybe(50)
        ? null
        : random.pick([
            { limit: 3, perMs: 10_000, burst: 3 },
            { limit: 7, perMs: 60_000, burst: 5 },
            { limit: 1, perMs: 1_000, burst: 2 },
          ]),
      tenantInFlight: random.pick([ALL, ALL, 3, 6]),
      tenantPerSecond: random.pick([ALL, ALL, 2, 5]),
    });
  }

  #settlements(): Settlement[] {
    return Array.from({ length: this.random.pick([1, 1, 1, 2, 3]) }, () => {
      const leaseId = this.#leaseId();
      return this.#settlement(leaseId);
    });
  }

  #settlement(leaseId: string): Settlement {
    const { random } = this;
    const event = random.pick([
      'succeeded',
      'succeeded',
      'attempt_failed',
      'attempt_failed',
      'timed_out',
      'lease_expired',
      'deferred',
      'released',
      'no_retry',
      'canceled',
    ] as const);
    if (event !== 'lease_expired') this.#past.live.delete(leaseId);
    const failed = event !== 'succeeded' && this.#maybe(60);
    return settlement(leaseId, event, {
      delayMs: random.pick([0, 100, 5_000, 120_000]),
      last: this.#maybe(10),
      result: random.pick([null, '1']),
      error: failed
        ? { code: 'http_5xx', message: 'no', ...(this.#maybe(50) ? { httpStatus: 503 } : {}) }
        : null,
      http: this.#maybe(30) ? { status: 503, durationMs: 3, response: 'busy', truncated: false } : null,
      throttleMs: this.#maybe(12) ? random.pick([1_000, 60_000]) : 0,
    });
  }

  async #change(): Promise<[string, string, TaskChange]> {
    const action = this.random.pick([
      'update',
      'update',
      'update',
      'pause',
      'pause',
      'resume',
      'resume',
      'cancel',
      'cancel',
      'replay',
      'replay',
      'run',
      'expire',
    ] as const);
    const id = await this.#taskId(FITTING[action]);
    const patch = action === 'update' ? this.#patch() : {};
    return [this.#tenant, id, taskChange(action, patch, { expectVersion: await this.#version(id) })];
  }

  #patch(): TaskPatch {
    const content = {
      ...this.#content(),
      runAt: this.#time(),
      payload: this.random.pick([null, '1', '2']),
      headers: this.random.pick([{}, { b: '2' }]),
    };
    const all = Object.entries(content);
    const chosen = all.filter(() => this.#maybe(20));
    return Object.fromEntries(chosen.length === 0 ? [this.random.pick(all)] : chosen);
  }

  /** Mostly none; else that of the task, or one that it had. */
  async #version(id: string): Promise<number | null> {
    if (!this.#maybe(12)) return null;
    const version = (await this.#model.get(this.#tenant, id))?.version ?? 1;
    return this.#maybe(70) ? version : version - 1;
  }

  #extension(): [number | null, { percent: number | null; note: string | null } | null] {
    const { random } = this;
    const ms = random.pick([null, 1_000, 60_000, 3_600_000]);
    const progress = this.#maybe(50)
      ? null
      : { percent: random.pick([null, 0, 50]), note: random.pick([null, 'n']) };
    return [ms, progress];
  }

  async #endOverdue(): Promise<Step[]> {
    const steps: Step[] = [{ call: 'overdue', args: [ALL] }];
    for (const { tenant, leases, expired } of await this.#model.overdue(ALL)) {
      for (const { leaseId } of leases.slice(0, 3)) {
        const end = settlement(leaseId, 'lease_expired', { delayMs: 5_000 });
        steps.push({ call: 'settle', args: [tenant, [end]] });
      }
      for (const { id } of expired.slice(0, 3)) {
        steps.push({ call: 'change', args: [tenant, id, taskChange('expire')] });
      }
    }
    return steps;
  }

  async #applied(): Promise<Extract<Step, { call: 'apply' }>['args']> {
    const changes = await this.#documents.changes(this.#tenant);
    return this.#maybe(15) ? [this.#tenant, changes, this.#idempotency()] : [this.#tenant, changes];
  }

  async #read(): Promise<Step> {
    const { random } = this;
    const tenant = this.#tenant;
    const [id, other] = [await this.#taskId(), await this.#taskId()];
    const workerId = random.pick([null, random.pick(this.#workers).id]);
    const limit = random.pick([1, 3, ALL]);
    const order = random.pick(['asc', 'desc'] as const);
    return random.pick<() => Step>([
      () => ({ call: 'get', args: [tenant, id] }),
      () => ({ call: 'getWhole', args: [tenant, id] }),
      () => ({ call: 'bodies', args: [tenant, [id, other]] }),
      () => ({ call: 'list', args: [tenant, this.#query(workerId, other, limit, order)] }),
      () => ({ call: 'list', args: [tenant, this.#query(workerId, other, limit, order)] }),
      () => ({ call: 'history', args: [tenant, id, { after: random.pick([null, 2]), limit, order }] }),
      () => ({ call: 'openOfSchedule', args: [tenant, random.pick(['sch_1', 'sch_2']), limit] }),
      () => ({ call: 'counts', args: [tenant, workerId] }),
      () => ({ call: 'leased', args: [tenant, this.#leaseId()] }),
      () => ({ call: 'recall', args: [tenant, this.#idempotency()] }),
      () => ({ call: 'tenants', args: [random.pick([null, 'acme', 'b']), limit] }),
      () => ({ call: 'dueDocuments', args: [ALL] }),
      () => ({ call: 'now', args: [] }),
      () => this.#documents.read(tenant, limit, order),
    ])();
  }

  #query(workerId: string | null, after: string, limit: number, order: TaskQuery['order']): TaskQuery {
    const { random } = this;
    const statuses = TASK_STATUSES.filter(() => this.#maybe(30));
    const moment = () => (this.#maybe(70) ? null : this.#now - random.below(600_000));
    return taskQuery({
      workerId,
      statuses: statuses.length === 0 || this.#maybe(50) ? null : statuses,
      scheduleId: this.#maybe(80) ? null : random.pick(['sch_1', 'sch_2']),
      createdFrom: moment(),
      createdBefore: moment(),
      after: this.#maybe(60) ? null : after,
      limit,
      order,
    });
  }
}

import { FINAL_STATUSES, TASK_STATUSES, type Task, type TaskStatus } from '../../../src/tasks/model/task.ts';
import type { PutDocument } from '../../../src/tasks/store/documents.ts';
import type {
  BlockedWorker,
  BlockQuery,
  ClaimAnswer,
  CreateRequest,
  Idempotency,
  NewTask,
  TaskChange,
  TaskQuery,
  TaskSearch,
} from '../../../src/tasks/store/requests.ts';
import type { ManualClock } from '../../support/manual-clock.ts';
import { SeededRandom } from '../../support/seeded-random.ts';
import {
  Factory,
  idempotency,
  settlement,
  taskChange,
  taskQuery,
  taskSearch,
} from '../../support/tasks/factories.ts';
import type { MemoryStore } from '../../support/tasks/memory-store.ts';
import { ALL, RandomContent } from './random-content.ts';
import { RandomDocuments } from './random-documents.ts';
import type { Step } from './random-steps.ts';

const KEEP = { succeededMs: 60_000, otherMs: 600_000 };

/** Large steps of time: still less in all than stores may forget the leases of a day after. */
const LARGE_STEP_MS = 1_200_000;

/** Statuses in which a task is mostly changed so. */
const FITTING: Readonly<Record<TaskChange['action'], readonly TaskStatus[]>> = {
  update: ['scheduled', 'running', 'retry', 'paused'],
  pause: ['scheduled', 'retry'],
  resume: ['paused'],
  cancel: ['running'],
  replay: FINAL_STATUSES,
  run: ['scheduled', 'retry'],
  expire: ['scheduled', 'retry'],
};

/** The leases of a tenant, as far as further requests build on them. */
interface Past {
  readonly name: string;
  /** Of attempts that nobody has ended yet, as far as is known, and when each was to end. */
  readonly live: Map<string, number>;
  /** All that there ever were. */
  readonly leaseIds: string[];
}

/** Makes requests that are likely to meet: few workers, keys and times, and tasks and leases that are there. */
export class RandomRequests {
  readonly random: SeededRandom;
  readonly #clock: ManualClock;
  readonly #model: MemoryStore;
  readonly #make: Factory;
  readonly #content: RandomContent;
  readonly #documents: RandomDocuments;
  readonly #workers: readonly PutDocument<'worker'>[];
  readonly #tenants: readonly Past[];
  /** That of the step that was made last. */
  #past: Past;

  constructor(clock: ManualClock, model: MemoryStore, seed: number) {
    this.random = new SeededRandom(seed);
    this.#clock = clock;
    this.#model = model;
    this.#make = new Factory(clock, seed);
    this.#workers = ['mailer', 'reporter', 'spare'].map(name => this.#make.worker({ name }));
    this.#content = new RandomContent(this.random, this.#make, clock, this.#workers);
    this.#documents = new RandomDocuments(this.random, this.#make, model, clock, this.#workers);
    this.#tenants = ['acme', 'globex', 'initech'].map(name => ({ name, live: new Map(), leaseIds: [] }));
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
          const groups = this.#content.groups(id);
          steps.push({ call: 'claim', args: [name, this.#make.claimRequest(id, 20, { groups })] });
        }
      }
    }
    return steps;
  }

  /** Takes notice of what the model answered. */
  learn(answer: unknown): void {
    const { tasks, nextAt } = (answer ?? {}) as Partial<ClaimAnswer>;
    // A search has tasks as well.
    if (!Array.isArray(tasks) || nextAt === undefined) return;
    for (const { leaseId, leaseUntil } of tasks) {
      this.#past.leaseIds.push(leaseId);
      this.#past.live.set(leaseId, leaseUntil);
    }
  }

  async next(kind: string): Promise<Step[]> {
    this.#past = this.#maybe(60) ? this.#tenants[0] : this.random.pick(this.#tenants);
    const tenant = this.#tenant;
    switch (kind) {
      case 'pass':
        return [{ advanceMs: await this.#time() }];
      case 'create':
        return [{ call: 'create', args: [tenant, await this.#createRequest()] }];
      case 'claim':
        return [{ call: 'claim', args: [tenant, this.#content.claimRequest(await this.#workerId())] }];
      case 'settle':
        // Without attempts there is rarely anything to settle.
        if (this.#past.live.size === 0 && this.#maybe(70)) return this.next('claim');
        return [{ call: 'settle', args: [tenant, this.#settlements()] }];
      case 'change':
        return [{ call: 'change', args: await this.#change() }];
      case 'extend':
        return [{ call: 'extend', args: [tenant, this.#leaseId(), ...this.#content.extension()] }];
      case 'remove': {
        const id = await this.#taskId();
        return [{ call: 'remove', args: [tenant, id, await this.#version(id)] }];
      }
      case 'endOverdue':
        return this.#endOverdue();
      case 'purge':
        return [{ call: 'purge', args: [tenant, KEEP, ALL] }];
      case 'apply':
        return [{ call: 'apply', args: await this.#applied() }];
      case 'remember':
        return [{ call: 'remember', args: [tenant, this.#idempotency()] }];
      case 'setWakeup':
        return [{ call: 'setWakeup', args: [tenant, this.random.pick(this.#workers).id, this.#now] }];
      default:
        return [await this.#read()];
    }
  }

  #maybe(percent: number): boolean {
    return this.random.below(100) < percent;
  }

  /** A small step, a large one, or one up to when something happens, or just not yet. */
  async #time(): Promise<number> {
    if (this.#maybe(15)) return this.random.below(LARGE_STEP_MS);
    const tasks = await this.#model.list(this.#tenant, taskQuery());
    const moments = [...tasks.flatMap(momentsOf), ...this.#past.live.values()].map(at => at - this.#now);
    const near = moments.filter(ms => ms > 1 && ms < LARGE_STEP_MS);
    if (near.length > 0 && this.#maybe(60)) return this.random.pick(near) - this.random.pick([0, 0, 1]);
    return this.random.pick([1, 1_000, 5_000, 30_000]);
  }

  /** Nearly always of a task that is there, mostly in one of these statuses. */
  async #taskId(statuses: readonly TaskStatus[] | null = null): Promise<string> {
    const all = await this.#model.list(this.#tenant, taskQuery());
    if (all.length === 0 || this.#maybe(4)) return this.#make.id('task');
    const fitting = all.filter(({ status }) => statuses?.includes(status));
    return this.random.pick(fitting.length > 0 && this.#maybe(65) ? fitting : all).id;
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
    if (live.size > 0 && this.#maybe(80)) return this.random.pick([...live.keys()]);
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

  /** A new task, or one that is there once more. */
  async #newTask(): Promise<NewTask> {
    const heldBy = this.#maybe(12) ? await this.#taskId() : null;
    const worker = this.random.pick([this.#workers[0], ...this.#workers]);
    const item = this.#content.newTask(worker, heldBy);
    const again = this.#maybe(12) ? await this.#model.getWhole(this.#tenant, await this.#taskId()) : null;
    if (again === null) return item;
    const { id, createdAt } = item.task;
    const fields = Object.keys(item.task).map(name => [name, again.task[name as keyof Task]]);
    const { payload, headers } = again.body;
    return {
      task: { ...Object.fromEntries(fields), id, createdAt, scheduleId: null, scheduledFor: null },
      body: { payload, headers },
      ...this.#content.manner(),
    };
  }

  #idempotency(): Idempotency {
    const { random } = this;
    return idempotency(random.pick(['i', 'j', 'k']), {
      fingerprint: this.#maybe(80) ? 'f1' : 'f2',
      keepMs: random.pick([10_000, 3_600_000]),
      note: random.pick(['', 'note']),
    });
  }

  #settlements() {
    return Array.from({ length: this.random.pick([1, 1, 1, 2, 3]) }, () => {
      const end = this.#content.settlement(this.#leaseId());
      if (end.event !== 'lease_expired') this.#past.live.delete(end.leaseId);
      return end;
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
    const patched = action === 'update' || (action === 'replay' && this.#maybe(30));
    const patch = patched ? this.#content.patch() : {};
    return [this.#tenant, id, taskChange(action, patch, { expectVersion: await this.#version(id) })];
  }

  /** Mostly none; else that of the task, or one that it had. */
  async #version(id: string): Promise<number | null> {
    if (!this.#maybe(12)) return null;
    const version = (await this.#model.get(this.#tenant, id))?.version ?? 1;
    return this.#maybe(70) ? version : version - 1;
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
    const query = await this.#query({ workerId, limit, order });
    return random.pick<Step>([
      { call: 'get', args: [tenant, id] },
      { call: 'getWhole', args: [tenant, id] },
      { call: 'bodies', args: [tenant, [id, other]] },
      { call: 'list', args: [tenant, query] },
      { call: 'list', args: [tenant, query] },
      { call: 'search', args: [tenant, await this.#search(query)] },
      { call: 'search', args: [tenant, await this.#search(query)] },
      { call: 'history', args: [tenant, id, { after: random.pick([null, 2]), limit, order }] },
      { call: 'openOfSchedule', args: [tenant, random.pick(['sch_1', 'sch_2']), limit] },
      { call: 'counts', args: [tenant, workerId] },
      { call: 'leased', args: [tenant, this.#leaseId()] },
      { call: 'blocks', args: [tenant, await this.#blockQuery()] },
      { call: 'recall', args: [tenant, this.#idempotency()] },
      { call: 'tenants', args: [random.pick([null, 'acme', 'b']), limit] },
      { call: 'dueDocuments', args: [ALL] },
      { call: 'now', args: [] },
      this.#documents.read(tenant, limit, order),
    ]);
  }

  async #blockQuery(): Promise<BlockQuery> {
    const requests = this.#workers.map(({ id }) => this.#content.claimRequest(id));
    const [{ tenantInFlight, tenantPerSecond }] = requests;
    const workers: BlockedWorker[] = [];
    for (const { groups: rules, ...request } of requests) {
      const taskId = await this.#taskId();
      const task = await this.#model.get(this.#tenant, taskId);
      const group = task?.group ?? null;
      const inGroup = rules === null || group === null ? null : { group, rules, taskId };
      workers.push({ ...request, inGroup });
    }
    return { workers, tenantInFlight, tenantPerSecond };
  }

  async #search(query: TaskQuery): Promise<TaskSearch> {
    const { random } = this;
    const filter = taskSearch({
      ...query,
      key: this.#maybe(60) ? null : random.pick(['a', 'b', 'none']),
      type: this.#maybe(60) ? null : random.pick(['a', 'b']),
      tag: this.#maybe(70) ? null : random.pick(['a', 'b']),
      group: this.#maybe(70) ? null : random.pick(['a', 'b']),
      error: this.#maybe(70) ? null : random.pick(['HTTP', 'no', 'never']),
    });
    if (this.#maybe(50)) return filter;
    const place = await this.#model.get(this.#tenant, await this.#taskId());
    const after = this.#maybe(60) ? null : `${place?.dueAt ?? this.#now} ${place?.id ?? ''}`;
    return { ...filter, by: 'run_at', workerId: random.pick(this.#workers).id, after };
  }

  async #query(rest: Pick<TaskQuery, 'workerId' | 'limit' | 'order'>): Promise<TaskQuery> {
    const statuses = TASK_STATUSES.filter(() => this.#maybe(30));
    const moment = async () => {
      if (this.#maybe(70)) return null;
      const task = await this.#model.get(this.#tenant, await this.#taskId());
      return task?.createdAt ?? this.#now;
    };
    return taskQuery({
      statuses: statuses.length === 0 || this.#maybe(50) ? null : statuses,
      scheduleId: this.#maybe(80) ? null : this.random.pick(['sch_1', 'sch_2']),
      createdFrom: await moment(),
      createdBefore: await moment(),
      after: this.#maybe(60) ? null : await this.#taskId(),
      ...rest,
    });
  }
}

/** When something about a task changes by itself. */
function momentsOf({ status, dueAt, expiresAt, finishedAt, keyTtlMs }: Task): number[] {
  const moments = [dueAt, expiresAt].filter(at => at !== null);
  if (finishedAt === null) return moments;
  const keepMs = status === 'succeeded' ? KEEP.succeededMs : KEEP.otherMs;
  // One more than it is kept, so that the step that comes a millisecond too early is just at the end.
  return [...moments, finishedAt + keyTtlMs, finishedAt + keepMs + 1];
}

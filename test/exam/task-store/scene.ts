import type { Test } from 'tap';
import type { HistoryEntry, Task, TaskStatus } from '../../../src/tasks/model/task.ts';
import type {
  ChangeAnswer,
  ClaimAnswer,
  ClaimedTask,
  ClaimRequest,
  CreateRequest,
  CreateResult,
  NewTask,
  SettleAnswer,
  Settlement,
  TaskChange,
} from '../../../src/tasks/store/requests.ts';
import type { TaskStore } from '../../../src/tasks/store/task-store.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { Factory, historyQuery, settlement, taskChange, taskQuery } from '../../support/tasks/factories.ts';

/** What is examined. */
export interface Backend {
  readonly name: string;
  /** A started, empty store that takes its time from this clock. */
  open(clock: ManualClock): Promise<OpenStore>;
}

export interface OpenStore {
  readonly store: TaskStore;
  /** Stops the store and gives back what it took. */
  close(): Promise<void>;
  /** Stops the store, as a process that ends, and starts another over what it has left. Where that can be done. */
  readonly reopen?: () => Promise<TaskStore>;
  /** Has the store look at once for what it otherwise looks for at intervals. Where it does. */
  readonly lookAround?: () => Promise<void>;
}

/** When every test begins. */
export const START = Date.UTC(2026, 2, 1, 10);

/** The tenant that tests are about, unless they say another. */
export const ACME = 'acme';

/** A store with one account and two workers, and short words for what tests ask of it. */
export class Scene {
  readonly clock: ManualClock;
  readonly make: Factory;
  readonly mailer: ReturnType<Factory['worker']>;
  readonly reporter: ReturnType<Factory['worker']>;
  readonly #open: OpenStore;
  #store: TaskStore;

  /** @param like the scene whose ids go on; null for a new one */
  private constructor(clock: ManualClock, open: OpenStore, like: Scene | null = null) {
    this.clock = clock;
    this.make = like?.make ?? new Factory(clock);
    this.mailer = like?.mailer ?? this.make.worker();
    this.reporter = like?.reporter ?? this.make.worker({ name: 'reporter', mode: 'pull', url: null });
    this.#open = open;
    this.#store = open.store;
  }

  static async open(t: Test, backend: Backend): Promise<Scene> {
    const clock = new ManualClock(START);
    const open = await backend.open(clock);
    t.teardown(() => open.close());
    const scene = new Scene(clock, open);
    await scene.store.apply(ACME, [scene.make.account(ACME), scene.mailer, scene.reporter]);
    return scene;
  }

  /** The same account and workers, which the store has or gets otherwise. */
  over(open: OpenStore): Scene {
    return new Scene(this.clock, open, this);
  }

  get store(): TaskStore {
    return this.#store;
  }

  get now(): number {
    return this.clock.nowMs();
  }

  /** False where the store cannot be opened again. */
  async reopen(): Promise<boolean> {
    if (this.#open.reopen === undefined) return false;
    this.#store = await this.#open.reopen();
    return true;
  }

  /** What a store tells of its last look is as it is now. */
  async lookAround(): Promise<void> {
    await this.#open.lookAround?.();
  }

  newTask(task: Partial<NewTask['task']> = {}, rest: Partial<Omit<NewTask, 'task'>> = {}): NewTask {
    return this.make.newTask(this.mailer, task, rest);
  }

  /** The results of a create that was carried out. */
  async create(
    tasks: readonly NewTask[],
    rest: Partial<CreateRequest> = {},
  ): Promise<readonly CreateResult[]> {
    const answer = await this.store.create(ACME, this.make.createRequest(tasks, rest));
    if (answer.kind !== 'done') throw new Error(`create answered ${JSON.stringify(answer)}`);
    return answer.results;
  }

  async result(item: NewTask, rest: Partial<CreateRequest> = {}): Promise<CreateResult> {
    return (await this.create([item], rest))[0];
  }

  /** A task of the mailer that was just created or replaced, or is an existing one. */
  async add(
    task: Partial<NewTask['task']> = {},
    rest: Partial<Omit<NewTask, 'task'>> = {},
    request: Partial<CreateRequest> = {},
  ): Promise<Task> {
    const result = await this.result(this.newTask(task, rest), request);
    if (result.kind === 'refused') throw new Error(`the task was refused: ${result.reason}`);
    return result.task;
  }

  async get(id: string): Promise<Task> {
    const task = await this.store.get(ACME, id);
    if (task === null) throw new Error(`there is no task ${id}`);
    return task;
  }

  claim(max: number, rest: Partial<ClaimRequest> = {}): Promise<ClaimAnswer> {
    return this.store.claim(ACME, this.make.claimRequest(this.mailer.id, max, rest));
  }

  /** Starts the next task of the mailer. */
  async startOne(rest: Partial<ClaimRequest> = {}): Promise<ClaimedTask> {
    const { tasks, blocked } = await this.claim(1, rest);
    if (tasks.length === 0) throw new Error(`nothing was started; blocked by ${blocked}`);
    return tasks[0];
  }

  async settle(
    leaseId: string,
    event: Settlement['event'],
    rest: Partial<Settlement> = {},
  ): Promise<SettleAnswer> {
    return (await this.store.settle(ACME, [settlement(leaseId, event, rest)]))[0];
  }

  /** Settles what must be settled. */
  async end(leaseId: string, event: Settlement['event'], rest: Partial<Settlement> = {}): Promise<Task> {
    const answer = await this.settle(leaseId, event, rest);
    if (answer.kind !== 'settled') throw new Error(`the attempt was not settled: ${answer.kind}`);
    return answer.task;
  }

  change(
    id: string,
    action: TaskChange['action'],
    patch: TaskChange['patch'] = {},
    rest: Partial<TaskChange> = {},
  ): Promise<ChangeAnswer> {
    return this.store.change(ACME, id, taskChange(action, patch, rest));
  }

  /** Changes what must be changed. */
  async changed(id: string, action: TaskChange['action'], patch: TaskChange['patch'] = {}): Promise<Task> {
    const answer = await this.change(id, action, patch);
    if (answer.kind !== 'done') throw new Error(`${action} was not done: ${JSON.stringify(answer)}`);
    return answer.task;
  }

  async history(id: string): Promise<readonly HistoryEntry[]> {
    const entries = await this.store.history(ACME, id, historyQuery());
    if (entries === null) throw new Error(`there is no task ${id}`);
    return entries;
  }

  async lastEntry(id: string): Promise<HistoryEntry> {
    return (await this.history(id)).at(-1)!;
  }

  async events(id: string): Promise<string[]> {
    return (await this.history(id)).map(({ event }) => event);
  }

  /** Removes every task that does not run. */
  async clear(): Promise<void> {
    for (const { id } of await this.store.list(ACME, taskQuery())) await this.store.remove(ACME, id, null);
  }

  /** A task of the mailer in this status. Nothing else of it must be due before. */
  async taskIn(status: TaskStatus, task: Partial<NewTask['task']> = {}): Promise<Task> {
    if (status === 'expired') {
      const { id } = await this.add({ expiresAt: this.now, ...task });
      return this.changed(id, 'expire');
    }
    const made = await this.add(task);
    if (status === 'scheduled') return made;
    if (status === 'paused') return this.changed(made.id, 'pause');
    if (status === 'canceled') return this.changed(made.id, 'cancel');
    const started = await this.startOne();
    if (started.task.id !== made.id) throw new Error('another task was due before');
    if (status === 'running') return started.task;
    if (status === 'succeeded') return this.end(started.leaseId, 'succeeded');
    if (status === 'failed') return this.end(started.leaseId, 'no_retry');
    return this.end(started.leaseId, 'attempt_failed', { delayMs: 60_000 });
  }
}

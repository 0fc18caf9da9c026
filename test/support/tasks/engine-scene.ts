import type { Clock } from '../../../src/base/clock.ts';
import { Fault } from '../../../src/base/fault.ts';
import type { Service } from '../../../src/base/lifecycle.ts';
import { StatsRegistry } from '../../../src/stats/registry.ts';
import type { Deliveries, DeliveryOutcome, DeliveryRequest } from '../../../src/tasks/delivery/delivery.ts';
import { DEFAULT_TENANT_LIMITS, type TenantLimits, type Worker } from '../../../src/tasks/model/documents.ts';
import { Signals } from '../../../src/tasks/model/signals.ts';
import type { HistoryEvent, Task } from '../../../src/tasks/model/task.ts';
import { TaskStatistics } from '../../../src/tasks/model/task-statistics.ts';
import { WorkerNames } from '../../../src/tasks/model/worker-names.ts';
import type { LimitAsker } from '../../../src/tasks/scheduler/attempts/start-limits.ts';
import { attemptsFor } from '../../../src/tasks/scheduler/push/push-slots.ts';
import type { EngineThread } from '../../../src/tasks/scheduler/tasks-engine.ts';
import type { Sealer } from '../../../src/tasks/sealing/sealer.ts';
import { Directory } from '../../../src/tasks/store/directory.ts';
import type { PutDocument } from '../../../src/tasks/store/documents.ts';
import { measuredStore } from '../../../src/tasks/store/measured-store.ts';
import type { Operation } from '../../../src/tasks/store/operations.ts';
import type { NewTask } from '../../../src/tasks/store/requests.ts';
import { StoreClock } from '../../../src/tasks/store/store-clock.ts';
import { UsageCounts } from '../../../src/tasks/store/usage-counts.ts';
import { KeepingLogger } from '../keeping-logger.ts';
import { ManualClock } from '../manual-clock.ts';
import { SeededRandom } from '../seeded-random.ts';
import { EngineWithDesk } from './engine-with-desk.ts';
import { Factory, historyQuery } from './factories.ts';
import { MemoryStore } from './memory-store.ts';
import { NO_LIMITS } from './no-limits.ts';

export const NOON = Date.UTC(2026, 2, 1, 12);
export const ACME = 'acme';

/** What the engine asks all the time. */
const PROBED = ['claim', 'settle', 'wakeups', 'list', 'overdue', 'ping', 'setWakeup'] as const;
type Probed = (typeof PROBED)[number];

/** A store that a test lets fail, and that says what it was asked. */
export class ProbedStore extends MemoryStore {
  /** What becomes of an operation: it happens, it does not, or it does and the answer is lost. */
  fault: (operation: Probed) => 'none' | 'before' | 'after' = () => 'none';
  /** How often each operation was asked for. */
  readonly asked = Object.fromEntries(PROBED.map(name => [name, 0])) as Record<Probed, number>;
  /** How many attempts each call of `settle` told of. */
  readonly settled: number[] = [];
  /** What claims wait for before they answer. */
  claiming: Promise<void> = Promise.resolve();

  override run(operation: Operation): unknown {
    const { name } = operation;
    return PROBED.includes(name as Probed) ? this.#probed(name as Probed, operation) : super.run(operation);
  }

  async #probed(name: Probed, operation: Operation): Promise<unknown> {
    this.asked[name]++;
    if (operation.name === 'settle') this.settled.push(operation.args[1].length);
    const fault = this.fault(name);
    if (fault === 'before') throw new Fault('store_failed', 'the store is away');
    const answer = super.run(operation);
    if (name === 'claim') await this.claiming;
    if (fault === 'after') throw new Fault('store_failed', 'the answer is lost');
    return answer;
  }
}

export const OK: DeliveryOutcome = {
  kind: 'answered',
  status: 200,
  durationMs: 12,
  http: { status: 200, durationMs: 12, response: '', truncated: false },
  result: null,
  retryAfterMs: null,
  noRetry: false,
  error: null,
};

/** An answer with this status. */
export function answered(status: number, rest: Partial<DeliveryOutcome> = {}): DeliveryOutcome {
  const error = status < 300 ? null : { code: `http_${status}`, message: `${status} from worker` };
  return { ...OK, status, error, ...rest };
}

/** Deliveries that a test answers. */
export class TestDeliveries implements Deliveries {
  readonly capacity: number;
  /** Every delivery so far. */
  readonly requests: DeliveryRequest[] = [];
  /** Answers at once where it says so. */
  reply: (request: DeliveryRequest) => DeliveryOutcome | null = () => null;
  most = 0;
  started = 0;
  stopped = 0;
  readonly #running = new Map<string, (outcome: DeliveryOutcome) => void>();

  constructor(capacity: number) {
    this.capacity = capacity;
  }

  get free(): number {
    return this.capacity - this.#running.size;
  }

  /** Ids of tasks whose delivery is under way, in the order in which they began. */
  get running(): string[] {
    return [...this.#running.keys()];
  }

  async deliver(request: DeliveryRequest): Promise<DeliveryOutcome> {
    if (this.free === 0) throw new Error('more deliveries than there is room for');
    if (this.#running.has(request.task.id)) throw new Error('a task is delivered twice at a time');
    this.requests.push(request);
    const reply = this.reply(request);
    if (reply !== null) return reply;
    const { promise, resolve } = Promise.withResolvers<DeliveryOutcome>();
    this.#running.set(request.task.id, resolve);
    this.most = Math.max(this.most, this.#running.size);
    return promise;
  }

  answer(taskId: string, outcome: DeliveryOutcome = OK): void {
    const resolve = this.#running.get(taskId);
    if (resolve === undefined) throw new Error(`${taskId} is not being delivered`);
    this.#running.delete(taskId);
    resolve(outcome);
  }

  answerAll(outcome: DeliveryOutcome = OK): void {
    for (const id of this.running) this.answer(id, outcome);
  }

  abort(_tenant: string, taskId: string): void {
    if (!this.#running.has(taskId)) return;
    this.answer(taskId, { ...OK, kind: 'aborted', status: 0, http: null });
  }

  async start(): Promise<void> {
    this.started++;
  }

  async stop(): Promise<void> {
    this.stopped++;
  }
}

/** Seals by turning texts around; what begins with `broken` does not open. */
export const TEST_SEALER: Pick<Sealer, 'open' | 'knows' | 'currentKeyId' | 'keyIds'> = {
  currentKeyId: 'test',
  keyIds: ['test'],
  knows: () => true,
  open(sealed) {
    if (sealed.startsWith('broken')) throw new Error('the master key is another');
    return [...sealed].reverse().join('');
  },
};

export interface ProcessOptions {
  /** Pushes that may be short at the same time. */
  readonly slots?: number;
  readonly limits?: Partial<TenantLimits>;
  readonly drainMs?: number;
  readonly maxWaitingPulls?: number;
  /** `TASKS_METRICS_MAX_WORKERS`. */
  readonly workersWithStatistics?: number;
  /** Decides about limits of workers. */
  readonly limitAsker?: LimitAsker;
}

/** One process of the service. */
export interface Process {
  readonly engine: EngineWithDesk;
  /** What the engine takes for the time. */
  readonly clock: StoreClock;
  readonly signals: Signals;
  readonly directory: Directory;
  readonly deliveries: TestDeliveries;
  readonly stats: StatsRegistry;
  readonly logger: KeepingLogger;
  /** What the firer was given. */
  readonly workerDue: (tenant: string, workerId: string) => Promise<void>;
}

/** A store with the account `acme`, and any number of processes over it. Time moves when a test says so. */
export class EngineScene {
  /** The store's. */
  readonly clock = new ManualClock(NOON);
  /** How far the clock of the processes is ahead of the store's; what they wait for takes as long as ever. */
  aheadMs = 0;
  readonly #processClock: Clock = {
    nowMs: () => this.clock.nowMs() + this.aheadMs,
    after: (delayMs, run) => this.clock.after(delayMs, run),
  };
  readonly store = new ProbedStore(this.clock);
  readonly make = new Factory(this.clock);
  readonly random = new SeededRandom(7);

  static async open(): Promise<EngineScene> {
    const scene = new EngineScene();
    await scene.store.apply(ACME, [scene.make.account(ACME)]);
    return scene;
  }

  /** The same with a process that runs until the test ends, and a worker that is pushed to. */
  static async serving(t: { teardown(run: () => Promise<void>): void }) {
    const scene = await EngineScene.open();
    return { scene, process: await scene.process(t), worker: await scene.worker() };
  }

  /** A process that runs until the test ends. */
  async process(
    t: { teardown(run: () => Promise<void>): void },
    options: ProcessOptions = {},
  ): Promise<Process> {
    const clock = new StoreClock(this.store, this.#processClock, () => this.clock.nowMs());
    const process = this.#process(options, clock);
    await clock.start();
    await process.engine.start();
    t.teardown(async () => {
      this.store.fault = () => 'none';
      const stopped = process.engine.stop();
      let over = false;
      stopped.finally(() => {
        over = true;
      });
      while (!over) await this.pass(1_000, 1_000);
      await stopped;
      await clock.stop();
    });
    await this.turn();
    return process;
  }

  #process(options: ProcessOptions, clock: StoreClock): Process {
    const slots = options.slots ?? 100;
    const stats = new StatsRegistry();
    const statistics = new TaskStatistics(stats, new WorkerNames(options.workersWithStatistics ?? 0));
    const signals = new Signals();
    const logger = new KeepingLogger();
    const deliveries = new TestDeliveries(attemptsFor(slots));
    const usage = new UsageCounts();
    const store = measuredStore(this.store, { statistics, nowMs: () => this.clock.nowMs(), usage });
    const directory = new Directory(store, clock);
    let workerDue: Process['workerDue'] | null = null;
    const firer: Service = { name: 'firer', start: async () => {}, stop: async () => {} };
    const parts: EngineThread = {
      store,
      usage,
      directory,
      signals,
      deliveries,
      sealer: TEST_SEALER as Sealer,
      firer: due => {
        workerDue = due;
        return firer;
      },
      statistics,
      limits: { ...DEFAULT_TENANT_LIMITS, ...options.limits },
      limitAsker: options.limitAsker ?? NO_LIMITS,
      notReady: () => {},
      clock,
      random: () => this.random.next(),
      randomBytes: count => Buffer.from(Array.from({ length: count }, () => this.random.below(256))),
      logger,
      options: {
        node: 'node-a',
        pushSlots: slots,
        drainMs: options.drainMs ?? 30_000,
      },
    };
    const engine = new EngineWithDesk(parts, options.maxWaitingPulls ?? 1_000);
    return {
      engine,
      clock,
      signals,
      directory,
      deliveries,
      stats,
      logger,
      workerDue: (tenant, id) => workerDue?.(tenant, id) ?? Promise.resolve(),
    };
  }

  /** Lets everything happen that needs no time. */
  turn(): Promise<void> {
    return new Promise(resolve => setImmediate(resolve));
  }

  /** Lets time pass, in steps small enough for what happens in between. */
  async pass(ms: number, stepMs = 5): Promise<void> {
    await this.turn();
    for (let left = ms; left > 0; left -= stepMs) {
      this.clock.advance(Math.min(left, stepMs));
      await this.turn();
    }
  }

  async worker(body: Partial<Worker> = {}, tenant = ACME): Promise<PutDocument<'worker'>> {
    const worker = this.make.worker(body);
    await this.store.apply(tenant, [worker]);
    return worker;
  }

  /** Tasks of the worker, made by another process, or by this one, which hears of it. */
  async add(
    worker: PutDocument<'worker'>,
    count = 1,
    task: Partial<NewTask['task']> = {},
    { tenant = ACME, heardBy }: { readonly tenant?: string; readonly heardBy?: Process | undefined } = {},
  ): Promise<string[]> {
    const wake = worker.body.mode === 'push';
    const tasks = Array.from({ length: count }, () => this.make.newTask(worker, task, { wake }));
    const answer = await this.store.create(tenant, this.make.createRequest(tasks));
    if (answer.kind !== 'done') throw new Error(`create answered ${answer.kind}`);
    for (const result of answer.results) {
      if (result.kind === 'refused') throw new Error(`a task was refused: ${result.reason}`);
      heardBy?.signals.tell('taskDue', tenant, worker.id, result.task.dueAt ?? result.task.runAt);
    }
    return tasks.map(({ task: { id } }) => id);
  }

  async get(id: string, tenant = ACME): Promise<Task> {
    const task = await this.store.get(tenant, id);
    if (task === null) throw new Error(`there is no task ${id}`);
    return task;
  }

  async statuses(ids: readonly string[], tenant = ACME): Promise<string[]> {
    return Promise.all(ids.map(async id => (await this.get(id, tenant)).status));
  }

  async events(id: string, tenant = ACME): Promise<HistoryEvent[]> {
    const entries = (await this.store.history(tenant, id, historyQuery())) ?? [];
    return entries.map(({ event }) => event);
  }

  async workerBody(id: string, tenant = ACME): Promise<Worker> {
    const document = await this.store.getDocument(tenant, 'worker', id);
    if (document === null) throw new Error(`there is no worker ${id}`);
    return document.body;
  }

  /** Writes a worker anew, as somebody does over the interface of `process`. */
  async change(worker: PutDocument<'worker'>, changes: Partial<Worker>, process?: Process): Promise<void> {
    const body = { ...(await this.workerBody(worker.id)), ...changes };
    await this.store.apply(ACME, [{ ...worker, expect: 'any', dueAt: body.resumeAt, body }]);
    process?.directory.changed(ACME);
    process?.signals.tell('workerChanged', ACME, worker.id);
  }
}

import type { Clock } from '../../../src/base/clock.ts';
import { Fault } from '../../../src/base/fault.ts';
import { DEFAULT_TENANT_LIMITS, type Schedule, type Worker } from '../../../src/tasks/model/documents.ts';
import { IdMaker } from '../../../src/tasks/model/ids.ts';
import { scheduleDueAt } from '../../../src/tasks/model/schedules/schedule-times.ts';
import { Signals } from '../../../src/tasks/model/signals.ts';
import type { Task } from '../../../src/tasks/model/task.ts';
import { ScheduleFirer } from '../../../src/tasks/scheduler/schedules/schedule-firer.ts';
import type { ScheduleResult } from '../../../src/tasks/scheduler/schedules/schedule-step.ts';
import { Directory } from '../../../src/tasks/store/directory.ts';
import type { PutDocument, StoredDocument } from '../../../src/tasks/store/documents.ts';
import type { Operation } from '../../../src/tasks/store/operations.ts';
import { JumpingClock } from '../jumping-clock.ts';
import { KeepingLogger } from '../keeping-logger.ts';
import { SeededRandom } from '../seeded-random.ts';
import { Factory, taskChange, taskQuery } from './factories.ts';
import { MemoryStore } from './memory-store.ts';

export const TENANT = 'acme';
export const MINUTE = 60_000;
const LOOK_EVERY_MS = 250;

/** What a store can do to a write: nothing, not do it, or do it and lose the answer. */
export type WriteFault = 'none' | 'before' | 'after';

/** A store that a test lets fail. */
export class FaultyStore extends MemoryStore {
  /** Asked before each write. */
  fault: (tenant: string) => WriteFault = () => 'none';
  /** `dueDocuments` fails as well. */
  away = false;
  /** The store answers, and takes no writes. */
  isFull = false;
  /** How often it was asked for documents that are due. */
  looks = 0;
  creates = 0;

  override run(operation: Operation): unknown {
    const { name } = operation;
    if (name === 'dueDocuments') {
      this.looks++;
      if (this.away) throw new Fault('store_failed', 'the store is away');
    }
    if (name === 'ping' && this.isFull) throw new Fault('store_failed', 'the store is full');
    if (name === 'create') this.creates++;
    return name === 'create' || name === 'apply' ? this.#written(operation) : super.run(operation);
  }

  /** It takes some turns, in which others write as well. */
  async #written(operation: Operation<'create' | 'apply'>): Promise<unknown> {
    const fault = this.isFull ? 'before' : this.fault(operation.args[0]);
    if (fault === 'before') throw new Fault('store_failed', 'the store is away');
    const answer = await super.run(operation);
    if (fault === 'after') throw new Fault('store_failed', 'the answer is lost');
    return answer;
  }
}

/** A tenant with a worker, and one process or several that fire its schedules. Time moves when a test says so. */
export class Firing {
  /** The store's. */
  readonly clock: JumpingClock;
  /** How far the clocks of the processes are ahead of the store's. */
  aheadMs = 0;
  readonly store: FaultyStore;
  readonly signals = new Signals();
  readonly factory: Factory;
  readonly logger = new KeepingLogger();
  readonly counts = new Map<ScheduleResult, number>();
  readonly workersDue: string[] = [];
  /** What becomes of a worker that is to be resumed. */
  resume: (workerId: string) => Promise<void> = async () => {};
  readonly firers: ScheduleFirer[] = [];
  worker!: PutDocument<'worker'>;

  constructor(start: string) {
    this.clock = new JumpingClock(Date.parse(start));
    this.store = new FaultyStore(this.clock);
    this.factory = new Factory(this.clock);
  }

  /** With so many processes, which have looked once already. */
  static async begun(start: string, processes = 1, worker: Partial<Worker> = {}): Promise<Firing> {
    const firing = new Firing(start);
    firing.worker = firing.factory.worker(worker);
    await firing.store.apply(TENANT, [firing.factory.account(TENANT), firing.worker]);
    for (let count = 0; count < processes; count++) firing.add(count);
    await firing.done();
    return firing;
  }

  /** With one process, until the test ends. */
  static async running(t: { teardown(run: () => Promise<void>): void }, start: string): Promise<Firing> {
    const firing = await Firing.begun(start);
    t.teardown(() => firing.stop());
    return firing;
  }

  /** Another process. */
  add(seed: number): ScheduleFirer {
    const { store, signals, logger } = this;
    const clock: Clock = {
      nowMs: () => this.clock.nowMs() + this.aheadMs,
      after: (delayMs, run) => this.clock.after(delayMs, run),
    };
    const random = new SeededRandom(1_000 + seed);
    const thread = {
      store,
      directory: new Directory(store, clock),
      signals,
      ids: new IdMaker(
        () => clock.nowMs(),
        count => Uint8Array.from({ length: count }, () => random.below(256)),
      ),
      clock,
      random: () => random.next(),
      logger,
      limits: DEFAULT_TENANT_LIMITS,
    };
    const firer = new ScheduleFirer(
      thread,
      { count: (result, by) => this.counts.set(result, (this.counts.get(result) ?? 0) + by) },
      async (_tenant, workerId) => {
        this.workersDue.push(workerId);
        await this.resume(workerId);
      },
    );
    this.firers.push(firer);
    void firer.start();
    return firer;
  }

  async stop(): Promise<void> {
    await Promise.all(this.firers.map(firer => firer.stop()));
  }

  /** A schedule of the worker; of every minute, unless it says something else. */
  async schedule(body: Partial<Schedule> = {}): Promise<string> {
    const named = { name: this.factory.id('schedule').toLowerCase(), nextAt: null, ...body };
    const put = this.factory.schedule(this.worker, named);
    const answer = await this.store.apply(TENANT, [{ ...put, dueAt: scheduleDueAt(put.id, put.body) }]);
    if (answer.kind !== 'done') throw new Error(`no schedule: ${answer.kind}`);
    return put.id;
  }

  /** Changes a schedule as a person would. */
  async change(id: string, body: Partial<Schedule>): Promise<void> {
    const { version, body: before } = await this.read(id);
    const after = { ...before, ...body };
    const filing = { id, expect: version, dueAt: scheduleDueAt(id, after) };
    await this.store.apply(TENANT, [this.factory.schedule(this.worker, after, filing)]);
  }

  async read(id: string): Promise<StoredDocument<'schedule'>> {
    const found = await this.store.getDocument(TENANT, 'schedule', id);
    if (found === null) throw new Error(`no schedule ${id}`);
    return found;
  }

  /** Waits for what is under way: nothing of it takes longer than the promises that are there. */
  async done(): Promise<void> {
    await new Promise(resolve => setImmediate(resolve));
  }

  /** Lets time pass, in steps. At the end of each there is a look, as there is every 250 ms. */
  async pass(ms: number, step = ms): Promise<void> {
    for (let left = ms; left > 0; left -= step) {
      const now = Math.min(step, left);
      if (now > LOOK_EVERY_MS) {
        this.clock.advance(now - LOOK_EVERY_MS);
        await this.done();
      }
      this.clock.advance(Math.min(now, LOOK_EVERY_MS));
      await this.done();
    }
  }

  async tasks(scheduleId: string | null = null): Promise<readonly Task[]> {
    return this.store.list(TENANT, taskQuery({ scheduleId }));
  }

  /** The nominal times of the tasks, as minutes and seconds. */
  async fired(scheduleId: string | null = null): Promise<string[]> {
    const tasks = await this.tasks(scheduleId);
    return tasks.map(({ scheduledFor }) => new Date(scheduledFor!).toISOString().slice(11, 19));
  }

  /** Starts a task; it is running then. */
  async run(): Promise<string> {
    const request = this.factory.claimRequest(this.worker.id, 1);
    const { tasks } = await this.store.claim(TENANT, request);
    return tasks[0].task.id;
  }

  async cancel(id: string): Promise<void> {
    await this.store.change(TENANT, id, taskChange('cancel'));
  }
}

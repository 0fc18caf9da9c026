import { join } from 'node:path';
import type { Test } from 'tap';
import t from 'tap';
import { HOUR_MS } from '../../../../src/base/clock.ts';
import { StatsRegistry } from '../../../../src/stats/registry.ts';
import type { Deliveries, DeliveryOutcome } from '../../../../src/tasks/delivery/delivery.ts';
import { DEFAULT_TENANT_LIMITS } from '../../../../src/tasks/model/documents.ts';
import { IdMaker } from '../../../../src/tasks/model/ids.ts';
import { Signals } from '../../../../src/tasks/model/signals.ts';
import { type HistoryEntry, isFinal } from '../../../../src/tasks/model/task.ts';
import { TaskStatistics } from '../../../../src/tasks/model/task-statistics.ts';
import { attemptsFor } from '../../../../src/tasks/scheduler/push/push-slots.ts';
import { ScheduleFirer } from '../../../../src/tasks/scheduler/schedules/schedule-firer.ts';
import type { EngineThread } from '../../../../src/tasks/scheduler/tasks-engine.ts';
import { Directory } from '../../../../src/tasks/store/directory.ts';
import type { PutDocument } from '../../../../src/tasks/store/documents.ts';
import { StoreClock } from '../../../../src/tasks/store/store-clock.ts';
import type { TaskStore } from '../../../../src/tasks/store/task-store.ts';
import { UsageCounts } from '../../../../src/tasks/store/usage-counts.ts';
import { violationsOf } from '../../../exam/task-store/invariants.ts';
import { JumpingClock } from '../../../support/jumping-clock.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';
import { answered, NOON, OK, TEST_SEALER } from '../../../support/tasks/engine-scene.ts';
import { EngineWithDesk } from '../../../support/tasks/engine-with-desk.ts';
import { Factory, historyQuery, PULLER, retryPolicy, taskQuery } from '../../../support/tasks/factories.ts';
import { NO_LIMITS } from '../../../support/tasks/no-limits.ts';
import { sameThreadSqliteStore } from '../../../support/tasks/same-thread-store.ts';
import { tempDirectory } from '../../../support/temp-directory.ts';

const ACME = 'acme';
const TIMEOUT_MS = 1_000;
const PULL_LEASE_MS = 5_000;
/** How much longer than its timeout the lease of a push lasts. */
const MARGIN_MS = 15_000;

/** Workers that take a while to answer, by the clock; now and then with a failure. */
class SlowWorkers implements Deliveries {
  readonly capacity = attemptsFor(8);
  readonly sent: string[] = [];
  readonly #clock: JumpingClock;
  readonly #random: SeededRandom;
  #running = 0;

  constructor(clock: JumpingClock, random: SeededRandom) {
    this.#clock = clock;
    this.#random = random;
  }

  get free(): number {
    return this.capacity - this.#running;
  }

  deliver({ task }: Parameters<Deliveries['deliver']>[0]): Promise<DeliveryOutcome> {
    this.sent.push(task.id);
    this.#running++;
    const { promise, resolve } = Promise.withResolvers<DeliveryOutcome>();
    this.#clock.after(this.#random.below(TIMEOUT_MS), () => {
      this.#running--;
      resolve(this.#random.below(4) === 0 ? answered(500) : OK);
    });
    return promise;
  }

  abort(): void {}
  async start(): Promise<void> {}
  async stop(): Promise<void> {}
}

/** The whole engine over a SQLite file, on a clock that somebody sets. */
class Scene {
  readonly clock = new JumpingClock(NOON);
  readonly random: SeededRandom;
  readonly store: TaskStore;
  readonly workers: SlowWorkers;
  readonly signals = new Signals();
  readonly make: Factory;
  readonly engine: EngineWithDesk;
  readonly storeClock: StoreClock;

  private constructor(path: string, seed: number) {
    this.random = new SeededRandom(seed);
    this.make = new Factory(this.clock, seed);
    this.store = sameThreadSqliteStore({ path }, this.clock);
    this.workers = new SlowWorkers(this.clock, this.random);
    const { random, store, signals } = this;
    const host = this.clock;
    const clock = new StoreClock(store, host, () => host.monotonicMs());
    this.storeClock = clock;
    const randomBytes = (count: number) =>
      Buffer.from(Array.from({ length: count }, () => random.below(256)));
    const common = {
      store,
      directory: new Directory(store, clock),
      signals,
      clock,
      random: () => random.next(),
      randomBytes,
      logger: new KeepingLogger(),
      statistics: new TaskStatistics(new StatsRegistry()),
      limits: DEFAULT_TENANT_LIMITS,
    };
    const ids = new IdMaker(() => clock.nowMs(), randomBytes);
    const parts: EngineThread = {
      ...common,
      usage: new UsageCounts(),
      deliveries: this.workers,
      sealer: TEST_SEALER as never,
      firer: workerDue => new ScheduleFirer({ ...common, ids }, { count() {} }, workerDue),
      limitAsker: NO_LIMITS,
      notReady: () => {},
      options: {
        node: 'node-a',
        pushSlots: 8,
        drainMs: 5_000,
      },
    };
    this.engine = new EngineWithDesk(parts, 100);
  }

  static async open(t: Test, seed = 1): Promise<Scene> {
    const scene = new Scene(join(tempDirectory(t), 'tasks.db'), seed);
    await scene.store.start();
    await scene.store.apply(ACME, [scene.make.account(ACME)]);
    await scene.storeClock.start();
    await scene.engine.start();
    t.teardown(async () => {
      let isOver = false;
      const stopped = scene.engine.stop().finally(() => {
        isOver = true;
      });
      while (!isOver) await scene.pass(1_000, 1_000);
      await stopped;
      await scene.storeClock.stop();
      await scene.store.stop();
    });
    return scene;
  }

  async worker(mode: 'push' | 'pull'): Promise<PutDocument<'worker'>> {
    const url = mode === 'push' ? 'https://worker.example.com' : null;
    const retry = retryPolicy({ maxAttempts: 100, baseMs: 100, factor: 1 });
    const body = { name: mode, mode, url, timeoutMs: TIMEOUT_MS, leaseMs: PULL_LEASE_MS, retry };
    const worker = this.make.worker(body);
    await this.store.apply(ACME, [worker]);
    return worker;
  }

  /** A task as another process makes it: only the store knows of it. */
  async add(worker: PutDocument<'worker'>, delayMs = 0): Promise<string> {
    const { mode, retry } = worker.body;
    const timeoutMs = mode === 'push' ? TIMEOUT_MS : HOUR_MS;
    const fields = { runAt: this.clock.nowMs() + delayMs, retry, timeoutMs };
    const task = this.make.newTask(worker, fields, { wake: mode === 'push' });
    await this.store.create(ACME, this.make.createRequest([task]));
    return task.task.id;
  }

  /** Takes what is there for a pull worker, and completes some of it. */
  async pull(workerId: string): Promise<void> {
    const leases = await this.engine.pullDesk.lease({
      tenant: ACME,
      workerId,
      max: 4,
      waitMs: 0,
      leaseMs: null,
      actor: PULLER,
      allowed: async () => {},
      gone: new AbortController().signal,
    });
    for (const { leaseId } of leases) {
      if (this.random.below(5) === 0) continue;
      await this.engine.pullDesk.leases.end(ACME, leaseId, { kind: 'complete', result: null }, PULLER);
    }
  }

  async pass(ms: number, stepMs = 10): Promise<void> {
    for (let left = ms; left > 0; left -= stepMs) {
      this.clock.advance(Math.min(left, stepMs));
      await new Promise(resolve => setImmediate(resolve));
    }
  }

  async open(): Promise<number> {
    const counts = Object.entries(await this.store.counts(ACME, null));
    return counts.reduce((sum, [status, count]) => sum + (isFinal(status as never) ? 0 : count), 0);
  }

  async history(id: string): Promise<readonly HistoryEntry[]> {
    return (await this.store.history(ACME, id, historyQuery())) ?? [];
  }
}

/** Leases that ended before their time, by the clock of the store. */
function earlyEnds(entries: readonly HistoryEntry[], leaseMs: number): HistoryEntry[] {
  return entries.filter((entry, at) => {
    const started = entries.slice(0, at).findLast(({ event }) => event === 'started');
    return entry.event === 'lease_expired' && entry.at < started!.at + leaseMs;
  });
}

for (const [name, byMs] of [
  ['set back an hour', -HOUR_MS],
  ['set forward an hour', HOUR_MS],
] as const) {
  t.test(`the clock is ${name}: what is due starts, and so does what comes next`, async t => {
    const scene = await Scene.open(t);
    const worker = await scene.worker('push');
    await scene.pass(2_500);
    const before = await scene.add(worker);
    scene.clock.jump(byMs);
    await scene.pass(3_000);
    t.ok(scene.workers.sent.includes(before), 'what was made before');
    const after = await scene.add(worker);
    await scene.pass(3_000);
    t.ok(scene.workers.sent.includes(after), 'what was made after');
  });

  t.test(`the clock is ${name}: what is not due waits, as long as the store knows it`, async t => {
    const scene = await Scene.open(t);
    const worker = await scene.worker('push');
    const id = await scene.add(worker, 2 * HOUR_MS);
    await scene.pass(2_000);
    scene.clock.jump(byMs);
    await scene.pass(5_000);
    t.strictSame(scene.workers.sent, []);
    await scene.pass(2 * HOUR_MS - byMs, 1_000);
    await scene.pass(5_000);
    t.ok(scene.workers.sent.includes(id));
    const [, { at }] = await scene.history(id);
    t.ok(at >= NOON + 2 * HOUR_MS);
  });

  t.test(`the clock is ${name}: a schedule goes on, and fires once for each time`, async t => {
    const scene = await Scene.open(t);
    const worker = await scene.worker('push');
    const schedule = scene.make.schedule(worker, {
      everyMs: 600_000,
      nextAt: NOON + 600_000,
      overlap: 'allow',
      catchUp: { mode: 'all', windowMs: 24 * HOUR_MS, max: 100 },
    });
    await scene.store.apply(ACME, [schedule]);
    await scene.pass(1_300_000, 250);
    scene.clock.jump(byMs);
    await scene.pass(2 * HOUR_MS, 250);
    const tasks = await scene.store.list(ACME, taskQuery());
    const times = tasks.map(({ scheduledFor }) => (scheduledFor! - NOON) / 600_000).sort((a, b) => a - b);
    t.ok(times.length >= 8, times.join());
    t.strictSame(
      times,
      times.map((_, at) => at + 1),
      'each time once, none left out',
    );
  });
}

for (const seed of [1, 2, 3]) {
  t.test(`the clock jumps by hours, again and again: all comes to its end (seed ${seed})`, async t => {
    const scene = await Scene.open(t, seed);
    const { clock, random } = scene;
    const [push, pull] = [await scene.worker('push'), await scene.worker('pull')];
    let latest = clock.nowMs();
    for (let step = 0; step < 150; step++) {
      const what = random.below(10);
      if (what < 5) await scene.add(random.pick([push, pull]), random.below(4) * 500);
      else if (what < 9) await scene.pull(pull.id);
      else clock.jump(clock.aheadMs === 0 ? random.pick([-HOUR_MS, HOUR_MS]) : -clock.aheadMs);
      await scene.pass(random.below(400));
      latest = Math.max(latest, clock.nowMs());
    }
    // Time that the store has seen goes on only where the clock is there again.
    if (clock.nowMs() < latest) clock.jump(latest - clock.nowMs());
    for (let round = 0; round < 600 && (await scene.open()) > 0; round++) {
      await scene.pull(pull.id);
      await scene.pass(1_000, 50);
    }
    t.equal(await scene.open(), 0, 'nothing hangs');
    t.strictSame(await violationsOf(scene.store, { finished: true }), []);
    for (const { id, workerId } of await scene.store.list(ACME, taskQuery())) {
      const leaseMs = workerId === push.id ? TIMEOUT_MS + MARGIN_MS : PULL_LEASE_MS;
      t.strictSame(earlyEnds(await scene.history(id), leaseMs), []);
    }
  });
}

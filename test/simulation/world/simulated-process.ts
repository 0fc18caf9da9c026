import { within } from '../../../src/base/clock.ts';
import { StatsRegistry } from '../../../src/stats/registry.ts';
import { DEFAULT_TENANT_LIMITS } from '../../../src/tasks/model/documents.ts';
import { IdMaker } from '../../../src/tasks/model/ids.ts';
import { Signals } from '../../../src/tasks/model/signals.ts';
import { TaskStatistics } from '../../../src/tasks/model/task-statistics.ts';
import type { RestRequest, RestResponse } from '../../../src/tasks/rest/http/http.ts';
import { RestService } from '../../../src/tasks/rest/rest-service.ts';
import { tenantRoutes } from '../../../src/tasks/rest/routes.ts';
import { UsedShares } from '../../../src/tasks/rest/threads/thread-signals.ts';
import { StartLimits } from '../../../src/tasks/scheduler/attempts/start-limits.ts';
import { PullClaims } from '../../../src/tasks/scheduler/pull/pull-claims.ts';
import { PullDesk } from '../../../src/tasks/scheduler/pull/pull-desk.ts';
import { PullLeases } from '../../../src/tasks/scheduler/pull/pull-leases.ts';
import { attemptsFor } from '../../../src/tasks/scheduler/push/push-slots.ts';
import { ScheduleFirer } from '../../../src/tasks/scheduler/schedules/schedule-firer.ts';
import { TasksEngine } from '../../../src/tasks/scheduler/tasks-engine.ts';
import type { TasksThread } from '../../../src/tasks/scheduler/thread/tasks-thread.ts';
import { UsageWriter } from '../../../src/tasks/scheduler/upkeep/usage-writer.ts';
import { parseMasterKey } from '../../../src/tasks/sealing/master-key.ts';
import { Sealer } from '../../../src/tasks/sealing/sealer.ts';
import { Directory } from '../../../src/tasks/store/directory.ts';
import { measuredStore } from '../../../src/tasks/store/measured-store.ts';
import { storeOf } from '../../../src/tasks/store/operations.ts';
import { StoreClock } from '../../../src/tasks/store/store-clock.ts';
import { UsageCounts } from '../../../src/tasks/store/usage-counts.ts';
import { KeepingLogger } from '../../support/keeping-logger.ts';
import { SeededRandom } from '../../support/seeded-random.ts';
import { HARNESS_CONFIG } from '../../support/tasks/rest-harness.ts';
import { HostClock } from './host-clock.ts';
import type { LimitService } from './limit-service.ts';
import type { Receivers } from './receivers.ts';
import { connectSignals } from './signal-link.ts';
import { type LinkParts, StoreLink } from './store-link.ts';

/** The token of the operator of all simulated processes. */
export const OPERATOR_TOKEN = 'the-token-of-the-operator';
export const LIMIT_DOMAIN = 'edge';
export const DRAIN_MS = 5_000;
const MASTER_KEY = parseMasterKey(Buffer.alloc(32, 5).toString('hex'), 'the simulation');
const SEALER = new Sealer({ current: MASTER_KEY, older: [] });
const MAX_WAITING_PULLS = 100;

/** What a process shares with the others. */
export interface ProcessWorld extends Omit<LinkParts, 'random'> {
  readonly seed: number;
  readonly receivers: Receivers;
  readonly limits: LimitService;
  readonly slots: number;
}

/** One process of the service, from its start to its end, without threads and ports. */
export class SimulatedProcess {
  readonly number: number;
  readonly name: string;
  readonly clock: HostClock;
  readonly logger = new KeepingLogger();
  isAlive = true;
  /** Takes calls. */
  isServing = true;
  readonly #random: SeededRandom;
  readonly #rest: RestService;
  readonly #desk: PullDesk;
  /** Calls in progress. */
  readonly #calls = new Set<Promise<unknown>>();
  readonly #services: { start(): Promise<void>; stop(): Promise<void> }[];
  #onDeath: () => void = () => {};

  /** @param life how many processes with this number there were before */
  constructor(world: ProcessWorld, number: number, life: number) {
    this.number = number;
    this.name = `process-${number}-${life}`;
    this.#random = new SeededRandom(world.seed * 7_919 + number * 101 + life);
    this.clock = new HostClock(world.time, () => this.isAlive);
    const [engineThread, restThread] = [this.#thread(world), this.#thread(world)];
    connectSignals(engineThread.tasks.signals, restThread.tasks.signals, (signal, arrived) => {
      if (world.troubles.isDeaf(number)) return;
      this.clock.after(0, () => arrived(signal));
    });
    const { limits: limitAsker } = world;
    const ids = this.#ids(engineThread.tasks);
    const engine = new TasksEngine({
      ...engineThread.tasks,
      usage: engineThread.usage,
      deliveries: world.receivers.deliveriesOf(this, attemptsFor(world.slots)),
      limitAsker,
      firer: workerDue => new ScheduleFirer({ ...engineThread.tasks, ids }, { count() {} }, workerDue),
      notReady: () => {},
      options: { node: this.name, pushSlots: world.slots, drainMs: DRAIN_MS },
    });
    const { tasks } = restThread;
    const desk = new PullDesk(
      tasks,
      new PullClaims(tasks, new StartLimits(tasks, limitAsker)),
      new PullLeases(tasks),
      MAX_WAITING_PULLS,
    );
    this.#desk = desk;
    const apiLimits = { ask: async () => ({ allowed: true, nearest: null }) };
    const parts = {
      ...tasks,
      pullDesk: desk,
      tester: { test: async () => ({ kind: 'refused', reason: 'busy', retryAfterMs: 1_000 }) as const },
      usedShares: new UsedShares(tasks.clock, tasks.signals),
      limitAsker,
      apiLimits,
      identities: null,
      ids: this.#ids(tasks),
      config: { ...HARNESS_CONFIG, operatorToken: OPERATOR_TOKEN, limitDomains: [LIMIT_DOMAIN] },
    };
    this.#rest = new RestService({ parts, limits: apiLimits, version: '1.2.3', routes: tenantRoutes(parts) });
    this.#services = [
      engineThread.clock,
      restThread.clock,
      engine,
      desk,
      new UsageWriter({ ...tasks, clock: this.clock }, restThread.usage),
    ];
  }

  #thread(world: ProcessWorld) {
    const signals = new Signals();
    const link = new StoreLink({ ...world, random: this.#random }, this);
    const statistics = new TaskStatistics(new StatsRegistry());
    const usage = new UsageCounts();
    const nowMs = this.clock.monotonicMs;
    const store = measuredStore(storeOf('memory', link), { statistics, nowMs, usage });
    const clock = new StoreClock(store, this.clock, nowMs);
    const tasks: TasksThread = {
      store,
      directory: new Directory(store, clock, signals),
      signals,
      sealer: SEALER,
      statistics,
      limits: DEFAULT_TENANT_LIMITS,
      clock,
      random: () => this.#random.next(),
      randomBytes: count => Buffer.from(Array.from({ length: count }, () => this.#random.below(256))),
      logger: this.logger,
    };
    return { tasks, usage, clock };
  }

  #ids({ clock, randomBytes }: TasksThread): IdMaker {
    return new IdMaker(() => clock.nowMs(), randomBytes);
  }

  onDeath(run: () => void): void {
    this.#onDeath = run;
  }

  async start(): Promise<void> {
    try {
      for (const service of this.#services) await service.start();
    } catch (failure) {
      // A stop interrupts the start.
      if (this.isServing) throw failure;
    }
  }

  /** As on a signal: what is in progress ends, and nothing begins. */
  async stop(): Promise<void> {
    this.isServing = false;
    // What waits for tasks ends at once, and other calls may finish.
    await this.#desk.stop();
    await within(this.clock, DRAIN_MS, Promise.allSettled(this.#calls));
    for (const service of this.#services.toReversed()) await service.stop();
    this.isAlive = false;
  }

  /** As with a kill: nothing of it runs any more. */
  die(): void {
    if (!this.isAlive) return;
    this.isAlive = false;
    this.isServing = false;
    this.#onDeath();
  }

  async handle(request: RestRequest): Promise<RestResponse> {
    const answer = this.#rest.handle(request);
    this.#calls.add(answer);
    try {
      return await answer;
    } finally {
      this.#calls.delete(answer);
    }
  }
}

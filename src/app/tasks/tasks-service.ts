import { randomBytes } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { type Service, ServiceStack } from '../../base/lifecycle.ts';
import { LOG_LEVELS, type Logger } from '../../base/logger.ts';
import type { Decider } from '../../decision/decider.ts';
import type { CompiledRules } from '../../rules/compiled-rules.ts';
import type { Settings } from '../../settings/table.ts';
import type { StatsRegistry } from '../../stats/registry.ts';
import type { SharedRecordsReader } from '../../steering/shared-records.ts';
import type { DeliverySetup } from '../../tasks/delivery/delivery-thread.ts';
import { IdMaker } from '../../tasks/model/ids.ts';
import { SignalMesh } from '../../tasks/model/signals.ts';
import { TaskStatistics } from '../../tasks/model/task-statistics.ts';
import { WorkerNames } from '../../tasks/model/worker-names.ts';
import { AskedTenants } from '../../tasks/rest/threads/asked-tenants.ts';
import { RestThreads } from '../../tasks/rest/threads/rest-threads.ts';
import { ThreadLinks } from '../../tasks/rest/threads/thread-links.ts';
import type { TroubledPart } from '../../tasks/scheduler/health/troubles.ts';
import { attemptsFor } from '../../tasks/scheduler/push/push-slots.ts';
import { MAX_TESTS, type WorkerTester } from '../../tasks/scheduler/workers/worker-tests.ts';
import type { MasterKeys } from '../../tasks/sealing/sealer.ts';
import { measuredStore } from '../../tasks/store/measured-store.ts';
import type { TaskStore } from '../../tasks/store/task-store.ts';
import type { OperatorRoute } from '../../transports/debug/operator/route.ts';
import { tenantRoutes } from '../../transports/debug/operator/tenant-routes.ts';
import { NotReadyError, type ReadinessChecks } from '../../transports/http/routes/health-routes.ts';
import { DecidedApiLimits } from '../api-limits.ts';
import { DecidedStartLimits } from '../start-limits.ts';
import { StartRefunds } from '../start-refunds.ts';
import { type StatsChange, ThreadsStats } from '../statistics/thread-stats.ts';
import { readCa } from '../stores/client-tls.ts';
import type { EngineThreadSetup } from './engine-thread.ts';
import { KeptEngine } from './kept-engine.ts';
import { LimitWatch } from './limit-watch.ts';
import type { RestThreadSetup } from './rest-thread.ts';
import type { TaskStoreFactory } from './task-store.ts';
import { limitDomains, workerModule, workerNetworks } from './tasks-config.ts';
import { connectTasks } from './tasks-connection.ts';
import { restRoutes, type TasksFront, tenantNames } from './tasks-front.ts';

/** Dependencies of the task service, which the process provides. */
interface TasksServiceParts {
  readonly settings: Settings;
  readonly keys: MasterKeys;
  /** Creates the store selected by the settings. */
  readonly createStore: TaskStoreFactory;
  /** Version of this program, for the user agent of pushes and the OpenAPI document. */
  readonly version: string;
  readonly clock: Clock;
  /** From 0 to below 1. */
  readonly random: () => number;
  readonly logger: Logger;
}

/** Parts of the decision service that the task service uses. */
export interface TasksShared {
  readonly decider: Decider;
  /** Returns the active rules of the decider; null before the first rules are loaded. */
  readonly rules: () => CompiledRules | null;
  /** Null if steering records are disabled. */
  readonly steering: SharedRecordsReader | null;
  readonly stats: StatsRegistry;
}

/** The task service: the store thread, the engine thread, and the threads of the REST interface. */
export class TasksService implements Service {
  readonly name = 'tasks';
  readonly front: TasksFront;
  /** Routes of the operator's API. */
  readonly operatorRoutes: readonly OperatorRoute[];
  readonly #store: TaskStore;
  readonly #engine: KeptEngine;
  readonly #rest: RestThreads<StatsChange>;
  readonly #limits: LimitWatch;
  readonly #stack = new ServiceStack();

  /** @throws Error that names the setting, if a file of a setting cannot be used */
  constructor(parts: TasksServiceParts, shared: TasksShared) {
    const { settings } = parts;
    const workers = new WorkerNames(settings.tasksMetricsMaxWorkers);
    const statistics = new TaskStatistics(shared.stats, workers);
    const opened = parts.createStore({ ...parts, stats: shared.stats });
    this.#store = measuredStore(opened.store, { statistics, nowMs: () => performance.now(), usage: null });
    const mesh = new SignalMesh();
    this.#limits = new LimitWatch({ ...shared, mesh, clock: parts.clock });
    const links = new ThreadLinks({
      signals: mesh,
      store: opened.shared,
      limitAsker: new DecidedStartLimits({
        decider: shared.decider,
        clock: parts.clock,
        domains: limitDomains(settings),
        refunds: new StartRefunds(shared.rules),
      }),
    });
    const engine = keptEngine(parts, new ThreadsStats(shared.stats, workers.nameHere), {
      links,
      stats: shared.stats,
    });
    const rest = restThreads(parts, shared, { links, workers, statistics, tester: engine });
    this.#engine = engine;
    this.operatorRoutes = tenantRoutes(new AskedTenants(rest));
    this.#rest = rest;
    const readiness: ReadinessChecks = {
      task_store: () => partReady(engine, 'task_store'),
      master_key: () => partReady(engine, 'master_key'),
      task_interface: async () => {
        if (rest.ready === 0) throw new Error('the REST threads are starting');
      },
      task_engine: async () => {
        if (!engine.running) throw new Error('the task engine thread is starting');
      },
    };
    this.front = {
      routes: restRoutes(settings, rest),
      readiness,
      connect: () => connectTasks(rest, readiness, parts.clock),
      listeningOn: port => rest.listeningOn(port),
    };
  }

  /** @throws Error if the store cannot be opened or a part does not start. No part runs then. */
  async start(): Promise<void> {
    await this.#stack.start({
      name: 'task store',
      start: () => this.#store.start(),
      stop: () => this.#store.stop(),
    });
    // In parallel, because most of the startup time is spent on loading the code of the threads.
    await Promise.all([this.#stack.start(this.#rest), this.#stack.start(this.#engine)]);
    await this.#stack.start(this.#limits);
  }

  /** Stops claiming tasks and answers waiting pull calls. The REST interface continues to work. */
  drain(): void {
    this.#rest.drain();
    this.#engine.drain();
  }

  stop(): Promise<void> {
    return this.#stack.stop();
  }
}

/** The engine monitors these parts, so readiness checks do not access the store. */
async function partReady(engine: KeptEngine, part: TroubledPart): Promise<void> {
  if (!engine.running) throw new Error('unknown, because the task engine thread is starting');
  const notReady = engine.notReady(part);
  if (notReady !== null) throw new NotReadyError(notReady.cause, notReady.text);
}

/** What the REST threads use of the rest of the service. */
interface RestSharing {
  readonly links: ThreadLinks;
  readonly workers: WorkerNames;
  readonly statistics: TaskStatistics;
  readonly tester: WorkerTester;
}

function restThreads(
  { settings, keys, version, clock, random, logger }: TasksServiceParts,
  { decider, rules, stats }: TasksShared,
  { links, workers, statistics, tester }: RestSharing,
): RestThreads<StatsChange> {
  const setup: RestThreadSetup = {
    settings,
    keys,
    version,
    logLevels: LOG_LEVELS.filter(level => logger.enabled(level)),
  };
  const ids = new IdMaker(() => clock.nowMs(), randomBytes);
  const threadsStats = new ThreadsStats(stats, workers.nameHere);
  const lost = stats.counter('tasks.rest_threads_lost');
  const threads = new RestThreads<StatsChange>({
    module: workerModule('rest'),
    count: settings.tasksRestThreads,
    workerData: () => setup,
    tenantOf: tenantNames(settings),
    limits: new DecidedApiLimits(decider, rules, clock),
    tester,
    links,
    nextRequestId: () => ids.next('request'),
    events: {
      answered: (operation, status) => statistics.httpRequests(operation, status).add(1),
      counted: (place, change) => threadsStats.add(place, change),
    },
    lost: place => {
      lost.add(1);
      threadsStats.ended(place);
    },
    clock,
    random,
    logger,
  });
  stats.gauge('tasks.rest_threads', () => threads.ready);
  stats.gauge('tasks.rest_waiting', () => threads.pending);
  return threads;
}

function keptEngine(
  { settings, keys, version, clock, random, logger }: TasksServiceParts,
  threadsStats: ThreadsStats,
  { links, stats }: { readonly links: ThreadLinks; readonly stats: StatsRegistry },
): KeptEngine {
  const setup: EngineThreadSetup = {
    settings,
    keys,
    delivery: deliverySetup(settings, version),
    logLevels: LOG_LEVELS.filter(level => logger.enabled(level)),
  };
  const lost = stats.counter('tasks.engine_threads_lost');
  // The engine thread increments it. It is registered here so that it exists with the value 0 from the start.
  stats.counter('tasks.delivery_threads_lost');
  return new KeptEngine({
    module: workerModule('tasks'),
    workerData: () => setup,
    links,
    stats: threadsStats,
    lost: () => lost.add(1),
    clock,
    random,
    logger,
  });
}

function deliverySetup(settings: Settings, version: string): DeliverySetup {
  return {
    ...workerNetworks(settings),
    capacity: attemptsFor(settings.tasksPushConcurrency) + MAX_TESTS,
    userAgent: `sluice/${version}`,
    ca: readCa(settings.tasksPushCaCert, 'TASKS_PUSH_CACERT') || null,
  };
}

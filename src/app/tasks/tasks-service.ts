import { randomBytes } from 'node:crypto';
import { type Service, ServiceStack } from '../../base/lifecycle.ts';
import { workerModule } from '../../base/threads/same-build.ts';
import type { CompiledRules } from '../../rules/compiled-rules.ts';
import type { Settings } from '../../settings/table.ts';
import { ThreadsStats } from '../../stats/thread-stats.ts';
import type { DeliverySetup } from '../../tasks/delivery/delivery-thread.ts';
import { IdMaker } from '../../tasks/model/ids.ts';
import { SignalMesh } from '../../tasks/model/signals.ts';
import { TaskStatistics } from '../../tasks/model/task-statistics.ts';
import { WorkerNames } from '../../tasks/model/worker-names.ts';
import { refuseMoved } from '../../tasks/move/move-record.ts';
import { AskedTenants } from '../../tasks/rest/threads/asked-tenants.ts';
import { RestThreads } from '../../tasks/rest/threads/rest-threads.ts';
import { ThreadLinks } from '../../tasks/rest/threads/thread-links.ts';
import type { TroubledPart } from '../../tasks/scheduler/health/troubles.ts';
import { attemptsFor } from '../../tasks/scheduler/push/push-slots.ts';
import { MAX_TESTS } from '../../tasks/scheduler/workers/worker-tests.ts';
import type { MasterKeys } from '../../tasks/sealing/sealer.ts';
import { measuredStore } from '../../tasks/store/measured-store.ts';
import type { TaskStore } from '../../tasks/store/task-store.ts';
import type { OperatorRoute } from '../../transports/debug/operator/route.ts';
import { tenantRoutes } from '../../transports/debug/operator/tenant-routes.ts';
import { NotReadyError, type ReadinessChecks } from '../../transports/http/routes/health-routes.ts';
import { DecidedApiLimits } from '../api-limits.ts';
import type { Decisions } from '../decision/decisions.ts';
import { DecidedStartLimits } from '../start-limits.ts';
import { StartRefunds } from '../start-refunds.ts';
import { readCa } from '../stores/client-tls.ts';
import type { PrimaryThread } from '../surroundings.ts';
import type { EngineThreadSetup } from './engine-thread.ts';
import { KeptEngine } from './kept-engine.ts';
import { LimitWatch } from './limit-watch.ts';
import type { RestThreadSetup } from './rest-thread.ts';
import type { TaskStoreFactory } from './task-store.ts';
import { limitDomains, workerNetworks } from './tasks-config.ts';
import { connectTasks } from './tasks-connection.ts';
import { restRoutes, type TasksFront, tenantNames } from './tasks-front.ts';

/** Parts of the decision service that the task service uses. */
export interface TasksShared {
  readonly decisions: Pick<Decisions, 'batcher' | 'records'>;
  /** Returns the active rules of the decider; null before the first rules are loaded. */
  readonly rules: () => CompiledRules | null;
}

/** The task service: the store thread, the engine thread, and the threads of the REST interface. */
export class TasksService implements Service {
  readonly name = 'tasks';
  readonly front: TasksFront;
  /** Routes of the operator's API. */
  readonly operatorRoutes: readonly OperatorRoute[];
  readonly #store: TaskStore;
  readonly #engine: KeptEngine;
  readonly #rest: RestThreads;
  readonly #limits: LimitWatch;
  readonly #stack = new ServiceStack();

  /** @throws Error that names the setting, if a file of a setting cannot be used */
  constructor(primary: PrimaryThread, keys: MasterKeys, createStore: TaskStoreFactory, shared: TasksShared) {
    const { settings, stats, clock } = primary;
    const { decisions, rules } = shared;
    const workers = new WorkerNames(settings.tasksMetricsMaxWorkers);
    const statistics = new TaskStatistics(stats, workers);
    const opened = createStore(primary);
    this.#store = measuredStore(opened.store, { statistics, nowMs: () => performance.now(), usage: null });
    const mesh = new SignalMesh();
    this.#limits = new LimitWatch(mesh, rules, decisions.records, clock);
    const links = new ThreadLinks({
      signals: mesh,
      store: opened.shared,
      limitAsker: new DecidedStartLimits(
        decisions.batcher,
        limitDomains(settings),
        new StartRefunds(rules),
        clock,
      ),
    });
    const engine = keptEngine(primary, keys, links, new ThreadsStats(stats, workers.nameHere));
    const ids = new IdMaker(() => clock.nowMs(), randomBytes);
    const setup: RestThreadSetup = { settings, keys, version: primary.version };
    const lost = stats.counter('tasks.rest_threads_lost');
    const rest = new RestThreads({
      ...primary,
      module: workerModule('rest'),
      count: settings.tasksRestThreads,
      workerData: () => setup,
      tenantOf: tenantNames(settings),
      limits: new DecidedApiLimits(decisions.batcher, rules, clock),
      tester: engine,
      links,
      nextRequestId: () => ids.next('request'),
      answered: (operation, status) => statistics.httpRequests(operation, status).add(1),
      stats: new ThreadsStats(stats, workers.nameHere),
      lost: () => lost.add(1),
    });
    stats.gauge('tasks.rest_threads', () => rest.ready);
    stats.gauge('tasks.rest_waiting', () => rest.pending);
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
      connect: () => connectTasks(rest, readiness, clock),
      listeningOn: port => rest.listeningOn(port),
    };
  }

  /** @throws Error if the store cannot be opened or a part does not start. No part runs then. */
  async start(): Promise<void> {
    await this.#stack.start({
      name: 'task store',
      start: () => startStore(this.#store),
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

/** @throws Error if the store cannot be opened, or its tasks were moved elsewhere */
async function startStore(store: TaskStore): Promise<void> {
  await store.start();
  // A move writes its record before it looks for uses of the store, so one of both sees the other.
  await store.ping();
  await store.lastUse();
  await refuseMoved(store);
}

/** The engine monitors these parts, so readiness checks do not access the store. */
async function partReady(engine: KeptEngine, part: TroubledPart): Promise<void> {
  if (!engine.running) throw new Error('unknown, because the task engine thread is starting');
  const notReady = engine.notReady(part);
  if (notReady !== null) throw new NotReadyError(notReady.cause, notReady.text);
}

function keptEngine(
  { settings, stats, version, clock, random, logger }: PrimaryThread,
  keys: MasterKeys,
  links: ThreadLinks,
  threadsStats: ThreadsStats,
): KeptEngine {
  const setup: EngineThreadSetup = { settings, keys, delivery: deliverySetup(settings, version) };
  const lost = stats.counter('tasks.engine_threads_lost');
  // The engine thread increments it. It is registered here so that it exists with the value 0 from the start.
  stats.counter('tasks.delivery_threads_lost');
  const creation = {
    module: workerModule('tasks'),
    workerData: () => setup,
    lost: () => lost.add(1),
    clock,
    random,
    logger,
  };
  return new KeptEngine(creation, links, threadsStats);
}

function deliverySetup(settings: Settings, version: string): DeliverySetup {
  return {
    ...workerNetworks(settings),
    capacity: attemptsFor(settings.tasksPushConcurrency) + MAX_TESTS,
    userAgent: `sluice/${version}`,
    ca: readCa(settings.tasksPushCaCert, 'TASKS_PUSH_CACERT') || null,
  };
}

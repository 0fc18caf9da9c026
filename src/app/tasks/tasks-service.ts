import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { Clock } from '../../base/clock.ts';
import { type Service, ServiceStack } from '../../base/lifecycle.ts';
import { LOG_LEVELS, type Logger } from '../../base/logger.ts';
import type { Decider } from '../../decision/decider.ts';
import type { CompiledRules } from '../../rules/compiled-rules.ts';
import type { Settings } from '../../settings/table.ts';
import type { StatsRegistry } from '../../stats/registry.ts';
import type { DeliverySetup } from '../../tasks/delivery/local-deliveries.ts';
import { PiscinaDeliveries } from '../../tasks/delivery/piscina-deliveries.ts';
import type { TenantLimits } from '../../tasks/model/documents.ts';
import { IdMaker } from '../../tasks/model/ids.ts';
import { Signals } from '../../tasks/model/signals.ts';
import { TaskStatistics } from '../../tasks/model/task-statistics.ts';
import type { RestHead } from '../../tasks/rest/http.ts';
import { placeOf } from '../../tasks/rest/tenant-host.ts';
import { RestThreads } from '../../tasks/rest/threads/rest-threads.ts';
import { attemptsFor } from '../../tasks/scheduler/push-slots.ts';
import { ScheduleFirer } from '../../tasks/scheduler/schedule-firer.ts';
import { TasksEngine, type TasksEngineParts } from '../../tasks/scheduler/tasks-engine.ts';
import { WorkerBook } from '../../tasks/scheduler/worker-book.ts';
import { MAX_TESTS, type WorkerTester, WorkerTests } from '../../tasks/scheduler/worker-tests.ts';
import { AesSealer, type MasterKeys } from '../../tasks/sealing/aes-sealer.ts';
import { Directory } from '../../tasks/store/directory.ts';
import { MeasuredStore } from '../../tasks/store/measured-store.ts';
import { StoreClock } from '../../tasks/store/store-clock.ts';
import type { TaskStore } from '../../tasks/store/task-store.ts';
import type { ReadinessChecks } from '../../transports/http/readiness-routes.ts';
import { jsonNotFound, type Route } from '../../transports/http/routes.ts';
import { tasksRoutes } from '../../transports/http/tasks-routes.ts';
import type { CallTracing } from '../../transports/tracing.ts';
import { DecidedApiLimits } from '../api-limits.ts';
import { readCa } from '../client-tls.ts';
import { logLine } from '../thread-logger.ts';
import { type StatsChange, ThreadsStats } from '../thread-stats.ts';
import type { RestThreadSetup } from './rest-thread.ts';
import type { OpenedTaskStore, TaskStoreFactory } from './task-store.ts';
import { tenantLimits, workerNetworks } from './tasks-config.ts';

/** What the process gives the task service. */
export interface TasksServiceParts {
  readonly settings: Settings;
  readonly keys: MasterKeys;
  /** Creates the store selected by the settings. */
  readonly createStore: TaskStoreFactory;
  /** Of this program: what workers and the OpenAPI document are told. */
  readonly version: string;
  readonly clock: Clock;
  /** From 0 to below 1. */
  readonly random: () => number;
  readonly logger: Logger;
}

/** What it shares with the decision service. */
export interface TasksShared {
  readonly decider: Decider;
  /** Returns the active rules of the decider; null before the first ones are loaded. */
  readonly rules: () => CompiledRules | null;
  readonly stats: StatsRegistry;
}

/** What the HTTP port needs to serve tasks. */
export interface TasksFront {
  /** What is served beside these routes. */
  routes(others: readonly Route[], tracing: CallTracing | null): readonly Route[];
  /** What has to hold before requests are sent here. */
  readonly readiness: ReadinessChecks;
  /** Tells the port that URLs in answers have to show. */
  listeningOn(port: number): void;
}

/** The task service: store, engine and REST interface, wired together. */
export class TasksService implements Service {
  readonly name = 'tasks';
  readonly front: TasksFront;
  readonly #store: TaskStore;
  readonly #clock: StoreClock;
  readonly #engine: TasksEngine;
  readonly #rest: RestThreads<StatsChange>;
  readonly #stack = new ServiceStack();

  /** @throws Error naming the setting, when a file that it names cannot be used */
  constructor(parts: TasksServiceParts, shared: TasksShared) {
    const { settings, keys, logger } = parts;
    const statistics = new TaskStatistics(shared.stats);
    const opened = parts.createStore({ ...parts, stats: shared.stats });
    this.#store = new MeasuredStore(opened.store, statistics, () => performance.now());
    const clock = new StoreClock({
      store: this.#store,
      clock: parts.clock,
      monotonicMs: () => performance.now(),
    });
    this.#clock = clock;
    const signals = new Signals();
    const common = {
      store: this.#store,
      directory: new Directory(this.#store, clock, signals),
      signals,
      sealer: new AesSealer(keys),
      clock,
      random: parts.random,
      randomBytes,
      logger,
    };
    const limits = tenantLimits(settings);
    const ids = new IdMaker(() => clock.nowMs(), randomBytes);
    const pushes = deliveries(deliverySetup(settings, parts.version), parts, shared.stats);
    this.#engine = new TasksEngine({
      ...common,
      deliveries: pushes,
      firer: workerDue =>
        new ScheduleFirer({
          ...common,
          ids,
          limits,
          workerDue,
          counters: { count: (result, by) => statistics.schedulesFired(result).add(by) },
        }),
      statistics,
      options: engineOptions(settings, limits),
    });
    const book = new WorkerBook({ ...common, limits });
    const tester = new WorkerTests({ ...common, book, deliveries: pushes, statistics });
    const rest = restThreads(parts, shared, { opened, signals, ids, statistics, tester });
    this.#rest = rest;
    this.front = {
      routes: (others, tracing) => {
        // At the top, a host that is not for accounts has nothing.
        const unknown = jsonNotFound(others);
        const { serviceHost } = settings;
        return tasksRoutes({ calls: rest, serviceHost, unknown, tracing });
      },
      readiness: {
        task_store: () => this.#store.ping(),
        task_interface: async () => {
          if (rest.ready === 0) throw new Error('the threads of the REST interface are starting');
        },
      },
      listeningOn: port => rest.listeningOn(port),
    };
  }

  /** @throws Error when the store cannot be opened, or a part does not start: nothing runs then */
  async start(): Promise<void> {
    await this.#stack.start({
      name: 'task store',
      start: () => this.#store.start(),
      stop: () => this.#store.stop(),
    });
    await this.#stack.start(this.#clock);
    await this.#stack.start(this.#rest);
    await this.#stack.start(this.#engine);
  }

  /** Nothing is claimed any more, and calls that wait are answered; the interface goes on. */
  drain(): void {
    this.#rest.drain();
    // Whoever stops the service waits for the same, and is told how it went.
    this.#engine.stop().catch(() => {});
  }

  stop(): Promise<void> {
    return this.#stack.stop();
  }
}

interface RestSharing {
  readonly opened: OpenedTaskStore;
  readonly signals: Signals;
  readonly ids: IdMaker;
  readonly statistics: TaskStatistics;
  readonly tester: WorkerTester;
}

function restThreads(
  { settings, keys, version, clock, random, logger }: TasksServiceParts,
  { decider, rules, stats }: TasksShared,
  { opened, signals, ids, statistics, tester }: RestSharing,
): RestThreads<StatsChange> {
  const setup: RestThreadSetup = {
    settings,
    keys,
    version,
    logLevels: LOG_LEVELS.filter(level => logger.enabled(level)),
  };
  const threadsStats = new ThreadsStats(stats);
  const lost = stats.counter('tasks.rest_threads_lost');
  const threads = new RestThreads<StatsChange>({
    module: workerModule('rest'),
    count: settings.tasksRestThreads,
    workerData: () => setup,
    tenantOf: tenantNames(settings),
    limits: new DecidedApiLimits(decider, rules),
    tester,
    signals,
    store: opened.shared,
    nextRequestId: () => ids.next('request'),
    onAnswer: (operation, status) => statistics.httpRequests(operation, status).add(1),
    logged: ({ level, message, fields }) => logLine(logger, level, message, fields),
    counted: (place, change) => threadsStats.told(place, change),
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

/**
 * Returns the tenant of a call, as far as its head shows. Calls without a tenant share the quota of a single tenant.
 */
function tenantNames({ serviceHost, tasksTenantHeader }: Settings): (head: RestHead) => string {
  const config = { serviceHost, tenantHeader: tasksTenantHeader };
  return ({ host, headers }) => {
    const place = placeOf(host, headers['x-tenant-domain'], config);
    // Never equal to a tenant, because domains of tenants are not empty.
    return place.kind === 'tenant' ? place.tenant : '';
  };
}

function workerModule(name: string): URL {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return new URL(`../../../workers/${name}.${extension}`, import.meta.url);
}

function deliverySetup(settings: Settings, version: string): DeliverySetup {
  return {
    ...workerNetworks(settings),
    capacity: attemptsFor(settings.tasksPushConcurrency) + MAX_TESTS,
    userAgent: `sluice/${version}`,
    ca: readCa(settings.tasksPushCaCert, 'TASKS_PUSH_CACERT') || null,
  };
}

function deliveries(
  setup: DeliverySetup,
  { settings, clock, random, logger }: TasksServiceParts,
  stats: StatsRegistry,
): PiscinaDeliveries {
  return new PiscinaDeliveries({
    module: workerModule('deliver'),
    count: settings.tasksPushThreads,
    setup,
    lost: stats.counter('tasks.delivery_threads_lost'),
    clock,
    random,
    logger,
  });
}

function engineOptions(settings: Settings, limits: TenantLimits): TasksEngineParts['options'] {
  return {
    roles: new Set(['dispatcher', 'scheduler', 'reaper']),
    node: `${hostname()}-${process.pid}`,
    limits,
    pushSlots: settings.tasksPushConcurrency,
    drainMs: settings.tasksDrainTimeoutMs,
  };
}

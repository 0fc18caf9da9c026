import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { Clock } from '../../base/clock.ts';
import { type Service, ServiceStack } from '../../base/lifecycle.ts';
import type { Logger } from '../../base/logger.ts';
import type { Decider } from '../../decision/decider.ts';
import type { Settings } from '../../settings/table.ts';
import type { StatsRegistry } from '../../stats/registry.ts';
import { type DeliverySetup, urlRules } from '../../tasks/delivery/local-deliveries.ts';
import { PiscinaDeliveries } from '../../tasks/delivery/piscina-deliveries.ts';
import type { TenantLimits } from '../../tasks/model/documents.ts';
import { IdMaker } from '../../tasks/model/ids.ts';
import { Signals } from '../../tasks/model/signals.ts';
import { TaskStatistics } from '../../tasks/model/task-statistics.ts';
import { limitRoutes } from '../../tasks/rest/limits.ts';
import type { RestConfig, RestParts } from '../../tasks/rest/parts.ts';
import { RestService } from '../../tasks/rest/rest-service.ts';
import { scheduleRoutes } from '../../tasks/rest/schedules.ts';
import { taskRoutes } from '../../tasks/rest/task-routes.ts';
import { tokenRoutes } from '../../tasks/rest/tokens.ts';
import { userRoutes } from '../../tasks/rest/users.ts';
import { ScheduleFirer } from '../../tasks/scheduler/schedule-firer.ts';
import { TasksEngine, type TasksEngineParts } from '../../tasks/scheduler/tasks-engine.ts';
import { AesSealer, type MasterKeys } from '../../tasks/sealing/aes-sealer.ts';
import { Directory } from '../../tasks/store/directory.ts';
import { MeasuredStore } from '../../tasks/store/measured-store.ts';
import type { TaskStore } from '../../tasks/store/task-store.ts';
import type { ReadinessChecks } from '../../transports/http/readiness-routes.ts';
import { jsonNotFound, type Route } from '../../transports/http/routes.ts';
import { tasksRoutes } from '../../transports/http/tasks-routes.ts';
import type { CallTracing } from '../../transports/tracing.ts';
import { DecidedApiLimits } from '../api-limits.ts';
import { readCa } from '../client-tls.ts';
import { cursorKey } from './master-keys.ts';
import { createTaskStore } from './task-store.ts';

/** What the process gives the task service. */
export interface TasksServiceParts {
  readonly settings: Settings;
  readonly keys: MasterKeys;
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

/**
 * Calls of pull workers that may wait for tasks at once, half of them of a tenant that is alone: each holds a connection
 * and a few hundred bytes.
 */
const MAX_WAITING_PULLS = 20_000;

/** The task service: store, engine and REST interface, wired together. */
export class TasksService implements Service {
  readonly name = 'tasks';
  readonly front: TasksFront;
  readonly #store: TaskStore;
  readonly #engine: TasksEngine;
  readonly #stack = new ServiceStack();

  /** @throws Error naming the setting, when a file that it names cannot be used */
  constructor(parts: TasksServiceParts, shared: TasksShared) {
    const { settings, keys, clock, logger } = parts;
    const statistics = new TaskStatistics(shared.stats);
    this.#store = new MeasuredStore(createTaskStore({ ...parts, stats: shared.stats }), statistics, () =>
      performance.now(),
    );
    const common = {
      store: this.#store,
      directory: new Directory(this.#store, clock),
      signals: new Signals(),
      sealer: new AesSealer(keys),
      clock,
      random: parts.random,
      randomBytes,
      logger,
    };
    const setup = deliverySetup(settings, parts.version);
    const limits = tenantLimits(settings);
    const ids = new IdMaker(() => clock.nowMs(), randomBytes);
    this.#engine = new TasksEngine({
      ...common,
      deliveries: deliveries(setup, parts, shared.stats),
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
    const port = { shown: 0 };
    const rest: RestParts = {
      ...common,
      pullDesk: this.#engine.pullDesk,
      ids,
      config: restConfig(settings, { limits, setup, keys, port }),
    };
    const handler = restService(rest, parts.version, shared, statistics);
    this.front = {
      routes: (others, tracing) => {
        // At the top, a host that is not for accounts has nothing.
        const unknown = jsonNotFound(others);
        const { serviceHost } = settings;
        return tasksRoutes({ handler, serviceHost, unknown, tracing });
      },
      readiness: { task_store: () => this.#store.ping() },
      listeningOn: opened => {
        port.shown = opened;
      },
    };
  }

  /** @throws Error when the store cannot be opened, or a part does not start: nothing runs then */
  async start(): Promise<void> {
    await this.#stack.start({
      name: 'task store',
      start: () => this.#store.start(),
      stop: () => this.#store.stop(),
    });
    await this.#stack.start(this.#engine);
  }

  /** Nothing is claimed any more, and calls that wait are answered; the interface goes on. */
  drain(): void {
    // Whoever stops the service waits for the same, and is told how it went.
    this.#engine.stop().catch(() => {});
  }

  stop(): Promise<void> {
    return this.#stack.stop();
  }
}

function restService(
  parts: RestParts,
  version: string,
  { decider }: TasksShared,
  statistics: TaskStatistics,
): RestService {
  return new RestService({
    parts,
    limits: new DecidedApiLimits(decider),
    version,
    routes: [
      ...taskRoutes(parts),
      ...scheduleRoutes(parts),
      ...userRoutes(parts),
      ...tokenRoutes(parts),
      ...limitRoutes(parts),
    ],
    onAnswer: (operation, status) => statistics.httpRequests(operation, status).add(1),
  });
}

interface RestConfigParts {
  readonly limits: TenantLimits;
  readonly setup: DeliverySetup;
  readonly keys: MasterKeys;
  /** Known when the port is open, before the first request. */
  readonly port: { readonly shown: number };
}

function restConfig(settings: Settings, { limits, setup, keys, port }: RestConfigParts): RestConfig {
  const isLocal = settings.serviceHost === 'localhost';
  return {
    serviceHost: settings.serviceHost,
    scheme: isLocal ? 'http' : 'https',
    get publicPort() {
      return isLocal ? port.shown : 0;
    },
    signup: settings.accountsSignup,
    operatorToken: settings.accountsOperatorToken,
    tenantHeader: settings.tasksTenantHeader,
    urls: urlRules(setup),
    limits,
    cursorKey: cursorKey(keys),
  };
}

function deliverySetup(settings: Settings, version: string): DeliverySetup {
  return {
    capacity: settings.tasksPushConcurrency,
    networks: listOf(settings.tasksPushNetworks),
    ports: listOf(settings.tasksPushPorts).map(Number),
    allowHttp: settings.tasksPushHttp,
    userAgent: `sluice/${version}`,
    ca: readCa(settings.tasksPushCaCert, 'TASKS_PUSH_CACERT') || null,
  };
}

function listOf(text: string): string[] {
  return text === '' ? [] : text.split(',');
}

function deliveries(
  setup: DeliverySetup,
  { settings, clock, random, logger }: TasksServiceParts,
  stats: StatsRegistry,
): PiscinaDeliveries {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return new PiscinaDeliveries({
    module: new URL(`../../../workers/deliver.${extension}`, import.meta.url),
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
    drainMs: settings.tasksDrainTimeoutMs,
    maxWaitingPulls: MAX_WAITING_PULLS,
  };
}

function tenantLimits(settings: Settings): TenantLimits {
  return {
    openTasks: settings.tasksMaxOpen,
    retainSucceededMs: settings.tasksRetainSucceededMs,
    retainOtherMs: settings.tasksRetainOtherMs,
    payloadBytes: settings.tasksMaxPayloadBytes,
    workers: settings.tasksMaxWorkers,
    schedules: settings.tasksMaxSchedules,
    users: settings.tasksMaxUsers,
    tokensPerUser: settings.tasksMaxTokens,
    inFlight: settings.tasksMaxInFlight,
    dispatchPerSecond: settings.tasksDispatchRate,
  };
}

import { Health } from '../base/health.ts';
import { type Service, ServiceStack } from '../base/lifecycle.ts';
import { OutageLog } from '../base/outage-log.ts';
import { servingThreads } from '../settings/thread-counts.ts';
import { StatsRegistry } from '../stats/registry.ts';
import { Steering } from '../steering/steering.ts';
import { decided } from './decision/create-batcher.ts';
import { Decisions } from './decision/decisions.ts';
import { deciderOfCallers } from './decision/rejected-refunds.ts';
import type { DecisionLog, OpenedDecisionLog } from './decision-log/decision-log.ts';
import { createOperatorApi } from './operator/operator-api.ts';
import { type Addresses, Ports } from './ports/ports.ts';
import { Rules } from './rules/rules.ts';
import { ShutdownDelay } from './shutdown-delay.ts';
import { MetricsEndpoint } from './statistics/metrics-endpoint.ts';
import { openStatistics } from './statistics/sinks.ts';
import type { OpenSteeringStore } from './steering/open-steering.ts';
import type { OpenedStore, StoreFactory } from './stores/opened-store.ts';
import { openPrimaryStore } from './stores/thread-store.ts';
import type { PrimaryThread } from './surroundings.ts';
import type { TasksService, TasksShared } from './tasks/tasks-service.ts';
import type { OpenTracing } from './tracing/load-tracing.ts';

/** What the process gives the service. Code that only some settings need was loaded for them, or is null. */
interface ServiceParts extends Omit<PrimaryThread, 'stats' | 'health' | 'outages'> {
  /** Opens tracing in this thread; null if it is disabled. */
  readonly openTracing: OpenTracing | null;
  /** Creates the store selected by the settings. */
  readonly createStore: StoreFactory;
  /** Creates the store of steering records; null if they are disabled. */
  readonly openSteeringStore: OpenSteeringStore | null;
  /** Creates the task service; null if the task service is disabled. */
  readonly openTasks: ((primary: PrimaryThread, shared: TasksShared) => TasksService) | null;
  /** Creates the decision log and its observer of this thread; null if the decision log is disabled. */
  readonly openDecisionLog: ((stats: StatsRegistry) => OpenedDecisionLog) | null;
}

/** Addresses of a started service. */
export interface StartedAt extends Addresses {
  /** Address of the Prometheus endpoint; undefined if it is disabled, null if its port could not be opened. */
  readonly metrics: string | null | undefined;
  /** Number of threads that serve gRPC; null if the primary thread does. */
  readonly serveThreads: number | null;
}

/** Log messages of the ports. */
const LISTENING: Readonly<Record<keyof Addresses, string>> = {
  http: 'HTTP server listening',
  grpc: 'gRPC server listening',
  debug: 'Debug server listening',
};

/** The health component that a termination signal sets unhealthy (spec 3.4). */
const TERMINATION_COMPONENT = 'termination';

/**
 * The service, as the primary thread puts it together. Its parts are started in order and stopped in reverse order.
 *
 * Ports open when the store is reachable and rules are active, so that callers that reach the service get decisions.
 * With `FORCE_START_WITHOUT_INITIAL_CONFIG`, ports open without rules.
 */
export class DecisionService {
  readonly #primary: PrimaryThread;
  readonly #stack = new ServiceStack();
  /** Null if tracing is disabled, as the parts below that can be null. */
  readonly #tracing: ReturnType<OpenTracing> | null;
  readonly #decisionLog: DecisionLog | null;
  readonly #store: OpenedStore;
  readonly #steering: Steering | null;
  readonly #rules: Rules;
  readonly #decisions: Decisions;
  readonly #tasks: TasksService | null;
  /** Null if the processes that share the store do not tell each other. */
  readonly #presence: Service | null;
  readonly #ports: Ports;
  readonly #shutdownDelay: ShutdownDelay;
  #portsOpen = false;
  #stopping: Promise<void> | null = null;
  /** Deadline of calls in progress during a shutdown, in milliseconds since the epoch. */
  #drainUntilMs = 0;
  readonly #stopAsked = Promise.withResolvers<void>();

  constructor({
    openTracing,
    createStore,
    openSteeringStore,
    openTasks,
    openDecisionLog,
    ...given
  }: ServiceParts) {
    const primary = openPrimary(given);
    const { settings, stats, clock } = primary;
    this.#primary = primary;
    this.#shutdownDelay = new ShutdownDelay(clock, settings.shutdownDelayMs);
    this.#tracing = openTracing?.(stats) ?? null;
    const { store, storeHealth } = openPrimaryStore(primary, createStore);
    const steeringStore = openSteeringStore?.(store, primary) ?? null;
    const steering = steeringStore === null ? null : new Steering(steeringStore, clock);
    const decisionLog = openDecisionLog?.(stats) ?? null;
    const rules = new Rules(primary);
    const opened = { store, storeHealth, steering, decisionLog };
    const decisions = new Decisions(primary, rules, opened, () => this.#tasks?.front.connect() ?? null);
    rules.publishTo(generation => decisions.use(generation));
    const tasks = openTasks?.(primary, { decisions, rules: () => rules.current }) ?? null;
    const operator = createOperatorApi(primary, rules, decisions, steering, tasks?.operatorRoutes ?? null);
    const served = {
      ...primary,
      decider: deciderOfCallers(settings, stats, decisions.batcher),
      rules: () => rules.current,
      quotas: decisions.quotas,
      tracing: this.#tracing,
    };
    this.#ports = new Ports(served, primary.httpEngine, tasks?.front ?? null, decisions.serving, {
      dumpRules: () => rules.dump(),
      dumpResources: () => rules.dumpResources(),
      explain: request => decisions.explainer.explain(request),
      operator: operator.api,
    });
    this.#store = store;
    this.#steering = steering;
    this.#decisionLog = decisionLog?.log ?? null;
    this.#rules = rules;
    this.#decisions = decisions;
    this.#tasks = tasks;
    this.#presence = operator.presence;
  }

  /**
   * Starts the service. Returns null if {@link stop} is called before the start is complete.
   *
   * @throws Error if the store cannot be reached in time or a port cannot be opened. All parts are stopped then.
   */
  async start(): Promise<StartedAt | null> {
    this.#primary.health.set(TERMINATION_COMPONENT, true);
    try {
      return await this.#startAll();
    } catch (failure) {
      // After `stop`, starts fail, so the failure is expected.
      if (this.#stopping !== null) return null;
      // The caller needs the first failure. Failures to stop are often a consequence of it.
      await this.stop().catch(() => {});
      throw failure;
    }
  }

  async #startAll(): Promise<StartedAt> {
    const { threads, serving } = this.#decisions;
    // Tracing starts first and therefore stops last, so that the spans of the last calls are sent.
    await this.#startEach(this.#tracing, this.#decisionLog);
    // Sinks start before all parts with statistics and stop after them, so that the last statistics are sent.
    const statistics = await openStatistics(this.#primary);
    await this.#startEach(...statistics, this.#store, this.#steering, threads, serving);
    await this.#rules.start(this.#stack, this.#stopAsked.promise);
    await this.#startEach(this.#tasks, this.#rules.rates, this.#rules.rehearsals, this.#presence);
    const addresses = await this.#openPorts();
    const metrics = statistics.find(each => each instanceof MetricsEndpoint)?.address;
    return { ...addresses, metrics, serveThreads: serving?.serving ?? null };
  }

  async #startEach(...services: readonly (Service | null)[]): Promise<void> {
    for (const service of services) if (service !== null) await this.#stack.start(service);
  }

  /**
   * Shuts down. The service becomes unhealthy immediately and continues to serve requests for `SHUTDOWN_DELAY`, which a
   * second call cuts short. Then calls in progress may finish within their timeout, and all parts are stopped.
   */
  stop(): Promise<void> {
    if (this.#stopping === null) this.#stopping = this.#stopAll();
    else this.#shutdownDelay.requestedAgain();
    return this.#stopping;
  }

  async #stopAll(): Promise<void> {
    const { settings, health, outages, clock, logger } = this.#primary;
    health.set(TERMINATION_COMPONENT, false, 'the process shuts down');
    if (this.#portsOpen && settings.shutdownDelayMs > 0) {
      const seconds = settings.shutdownDelayMs / 1_000;
      logger.info('Reporting unhealthy; serving requests until SHUTDOWN_DELAY has passed', { seconds });
      await this.#shutdownDelay.passed();
      logger.info('Draining connections');
    }
    this.#drainUntilMs = clock.nowMs() + settings.shutdownTimeoutMs;
    this.#ports.drain();
    this.#tasks?.drain();
    this.#stopAsked.resolve();
    try {
      await this.#stack.stop();
    } finally {
      outages.stop();
    }
  }

  async #openPorts(): Promise<Addresses> {
    const { clock, logger } = this.#primary;
    const { batcher, quotas } = this.#decisions;
    await this.#stack.start({
      name: 'decisions in progress',
      start: async () => {},
      stop: () => decided(batcher, quotas, Math.max(this.#drainUntilMs - clock.nowMs(), 0), this.#primary),
    });
    await this.#stack.start(this.#ports);
    this.#portsOpen = true;
    const { addresses } = this.#ports;
    for (const [name, address] of Object.entries(addresses)) {
      if (address !== null) logger.info(LISTENING[name as keyof Addresses], { name, address });
    }
    return addresses;
  }
}

/** Opens the statistics, the health and the log of outages of the process. */
function openPrimary(given: Omit<PrimaryThread, 'stats' | 'health' | 'outages'>): PrimaryThread {
  const { settings, clock, logger } = given;
  const { reason } = servingThreads(settings);
  if (reason !== null) logger.info('gRPC is served by the primary thread', { reason });
  return {
    ...given,
    stats: new StatsRegistry(),
    health: new Health(),
    outages: new OutageLog({ clock, logger }),
  };
}

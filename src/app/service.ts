import type { Clock } from '../base/clock.ts';
import { Health } from '../base/health.ts';
import { type Service, ServiceStack } from '../base/lifecycle.ts';
import type { AuditLogger } from '../base/logger.ts';
import { OutageLog } from '../base/outage-log.ts';
import type { Batcher } from '../decision/batching/batcher.ts';
import { Explainer } from '../decision/explain/explain.ts';
import { BatchFigures } from '../decision/statistics/batch-figures.ts';
import { RuleRates } from '../decision/statistics/rule-rates.ts';
import { RuleStatistics } from '../decision/statistics/rule-statistics.ts';
import { dumpRules } from '../rules/compiled-rules.ts';
import { RuleLoads } from '../rules/rule-loads.ts';
import type { FileRuleSource } from '../rules/source/file-source.ts';
import type { Settings } from '../settings/table.ts';
import { servingThreads } from '../settings/thread-counts.ts';
import { StatsRegistry } from '../stats/registry.ts';
import { SharedRecordsReader } from '../steering/shared-records.ts';
import type { Steering } from '../steering/steering.ts';
import type { HttpEngine } from '../transports/http/listener.ts';
import { createBatcher, engineCounters } from './decision/create-batcher.ts';
import { createDecisionThreads, type DecisionThreads } from './decision/decision-threads.ts';
import { DecisionsInProgress } from './decision/decisions-in-progress.ts';
import { engineOptions, loadSettingsOf, openOverLimitCache } from './decision/engine-settings.ts';
import { createHotKeySeats, hotKeyObservers } from './decision/hot-keys.ts';
import type { DecisionLog, OpenedDecisionLog } from './decision-log/decision-log.ts';
import { createOperatorApi } from './operator/operator-api.ts';
import { type Addresses, Ports } from './ports/ports.ts';
import { createRehearsals, type OpenRehearsals } from './rehearsal/open-rehearsals.ts';
import { rehearsalObserver } from './rehearsal/rehearsal-observer.ts';
import { CountedFileReads, LoadStatistics } from './rules/load-statistics.ts';
import { RuleCompiler } from './rules/rule-compiler.ts';
import { RuleLoader } from './rules/rule-loader.ts';
import { createRuleSource, type RuleSource } from './rules/rule-source.ts';
import { createServing, type Serving } from './serving/create-serving.ts';
import { ShutdownDelay } from './shutdown-delay.ts';
import { MetricsEndpoint } from './statistics/metrics-endpoint.ts';
import { OverLimitFigures } from './statistics/over-limit-figures.ts';
import { openStatistics } from './statistics/sinks.ts';
import { type OpenSteeringStore, openSteering } from './steering/open-steering.ts';
import type { OpenedStore, StoreFactory } from './stores/opened-store.ts';
import { StoreHealth } from './stores/store-health.ts';
import type { TasksService, TasksShared } from './tasks/tasks-service.ts';
import type { OpenTracing } from './tracing/load-tracing.ts';

/** Dependencies of the service, which the process provides. */
interface ServiceParts {
  readonly settings: Settings;
  readonly logger: AuditLogger;
  readonly clock: Clock;
  /** From 0 to below 1. */
  readonly random: () => number;
  /** Opens tracing in this thread; null if it is disabled. */
  readonly openTracing: OpenTracing | null;
  readonly httpEngine: HttpEngine;
  /** The version of the program. */
  readonly version: string;
  /** Creates the store selected by the settings. */
  readonly createStore: StoreFactory;
  /** Creates the store of steering records; null if they are disabled. */
  readonly openSteeringStore: OpenSteeringStore | null;
  /** Creates the task service; null if the task service is disabled. */
  readonly openTasks: ((shared: TasksShared) => TasksService) | null;
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
 * The service with all of its parts, which are started in order and stopped in reverse order.
 *
 * Ports open when the store is reachable and rules are active, so that callers that reach the service get decisions.
 * With `FORCE_START_WITHOUT_INITIAL_CONFIG`, ports open without rules.
 */
export class DecisionService {
  readonly #parts: ServiceParts;
  readonly #stack = new ServiceStack();
  readonly #health = new Health();
  readonly #stats = new StatsRegistry();
  /** Null if tracing is disabled. */
  readonly #tracing: ReturnType<OpenTracing> | null;
  readonly #outages: OutageLog;
  readonly #store: OpenedStore;
  /** Null if steering records are disabled. */
  readonly #steering: Steering | null;
  readonly #batcher: Batcher;
  /** Null when this thread decides everything. */
  readonly #threads: DecisionThreads | null;
  /** Null when this thread has the gRPC connections. */
  readonly #serving: Serving | null;
  readonly #compiler = new RuleCompiler();
  readonly #loader: RuleLoader;
  readonly #fileReads: CountedFileReads;
  readonly #tasks: TasksService | null;
  readonly #rates: RuleRates;
  /** Null if the processes that share the store do not tell each other. */
  readonly #presence: Service | null;
  /** Null if the decision log is disabled. */
  readonly #decisionLog: DecisionLog | null;
  readonly #rehearsals: OpenRehearsals;
  /** The source of the rule files; null before the start, and with xDS. */
  #ruleFiles: FileRuleSource | null = null;
  readonly #ports: Ports;
  readonly #shutdownDelay: ShutdownDelay;
  #portsOpen = false;
  #stopping: Promise<void> | null = null;
  /** Deadline of calls in progress during a shutdown, in milliseconds since the epoch. */
  #drainUntilMs = 0;
  #announceStop: () => void = () => {};
  readonly #stopAsked: Promise<void>;

  constructor(parts: ServiceParts) {
    const { settings, logger, clock, random } = parts;
    const stats = this.#stats;
    this.#parts = parts;
    this.#stopAsked = new Promise(resolve => {
      this.#announceStop = resolve;
    });
    this.#tracing = parts.openTracing?.(stats) ?? null;
    this.#shutdownDelay = new ShutdownDelay(clock, settings.shutdownDelayMs);
    this.#outages = new OutageLog({ clock, logger });
    const connectionsDecide = settings.redisHealthCheckActiveConnection;
    const storeHealth = new StoreHealth(this.#health, connectionsDecide, this.#outages);
    // Only the Redis stores report connections. They may connect after the start, so the initial state is set here.
    if (settings.backendType === 'redis') storeHealth.connectionsChanged(false);
    const { threads: servingCount, reason } = servingThreads(settings);
    if (reason !== null) logger.info('gRPC is served by the primary thread', { reason });
    this.#store = parts.createStore({
      settings,
      logger,
      clock,
      random,
      stats,
      outages: storeHealth,
      connectionsChanged: connected => storeHealth.connectionsChanged(connected),
      ...(servingCount > 1 && { serving: { count: servingCount, thread: null } }),
    });
    this.#steering = openSteering(parts.openSteeringStore, { store: this.#store, clock, logger });
    const steering = this.#steering?.memory ?? null;
    const statistics = new RuleStatistics();
    stats.addSource(statistics);
    const counters = engineCounters(stats);
    const opened = parts.openDecisionLog?.(stats) ?? null;
    const decisionLog = opened?.log ?? null;
    this.#decisionLog = decisionLog;
    const overLimit = openOverLimitCache(settings, clock, this.#store);
    const figures = overLimit === null ? null : new OverLimitFigures(overLimit, stats);
    const hotKeys = createHotKeySeats(settings);
    const loadSettings = loadSettingsOf(settings);
    const loads = new RuleLoads(clock);
    const rehearsing = createRehearsals({
      ...parts,
      compiler: this.#compiler,
      loadSettings,
      activeFiles: () => this.#ruleFiles,
      lastLoad: () => this.#loader.settled().then(() => loads.all[0]),
    });
    this.#rehearsals = rehearsing;
    const rehearsal = rehearsing.channel;
    const figuresOfBatches = BatchFigures.create();
    const batchFigures = figuresOfBatches.buffer;
    this.#threads =
      settings.workerThreads === 0
        ? null
        : createDecisionThreads({
            settings,
            store: this.#store,
            steering,
            batchFigures,
            rehearsal,
            statistics,
            counters,
            overLimit: figures,
            stats,
            storeHealth,
            decisionLog,
            hotKeys,
            clock,
            random,
            logger,
          });
    this.#serving =
      servingCount === 1
        ? null
        : createServing({
            ...parts,
            count: servingCount,
            store: this.#store,
            steering,
            batchFigures,
            rehearsal,
            hotKeys,
            storeHealth,
            health: this.#health,
            stats,
            statistics,
            overLimit: figures,
            decisionLog,
            tasks: () => this.#tasks?.front.connect() ?? null,
          });
    this.#batcher = createBatcher({
      settings,
      store: this.#store,
      named: statistics,
      counters,
      overLimit,
      ...(this.#serving !== null && { sharedBounds: this.#serving.queueBounds }),
      pool: this.#threads?.pool ?? null,
      steering,
      batchFigures,
      observers: [
        ...hotKeyObservers(settings, this.#store, hotKeys),
        ...(opened === null ? [] : [opened.observer]),
        rehearsalObserver({ settings, store: this.#store, steering }, rehearsing.publisher),
      ],
      stats,
      clock,
      random,
      logger,
    });
    this.#loader = new RuleLoader({
      compiler: this.#compiler,
      batcher: this.#batcher,
      loads,
      ...(this.#serving !== null && { publisher: this.#serving.rules }),
      statistics,
      health: this.#health,
      logger,
      settings: loadSettings,
      healthNeedsDomain: settings.healthyWithAtLeastOneConfigLoaded,
      counted: new LoadStatistics(stats, clock),
    });
    this.#fileReads = new CountedFileReads(this.#loader, stats);
    const rules = () => this.#loader.current;
    const records = steering === null ? null : new SharedRecordsReader(steering);
    const explainer = new Explainer({
      options: engineOptions(settings),
      store: this.#store.store,
      fingerprintKey: this.#store.fingerprintKey,
      rules: () => this.#loader.current,
      ...(records !== null && { steering: records }),
      marks: overLimit?.marks ?? null,
      clock,
      logger,
    });
    this.#rates = new RuleRates(statistics, clock);
    this.#tasks = parts.openTasks?.({ decider: this.#batcher, rules, steering: records, stats }) ?? null;
    const operator = createOperatorApi({
      ...parts,
      store: this.#store,
      hotKeys,
      rules,
      rates: this.#rates,
      explainer,
      loads,
      steering: this.#steering,
      health: this.#health,
      batchFigures: figuresOfBatches,
      rehearsals: rehearsing.rehearsals,
      taskRoutes: this.#tasks?.operatorRoutes ?? null,
    });
    this.#presence = operator.presence;
    this.#ports = new Ports({
      settings,
      decider: this.#batcher,
      tasks: this.#tasks?.front ?? null,
      tracing: this.#tracing,
      serving: this.#serving?.threads ?? null,
      health: this.#health,
      stats,
      dumpRules: () => (this.#loader.current === null ? [] : dumpRules(this.#loader.current)),
      explain: request => explainer.explain(request),
      operator: operator.api,
      httpEngine: parts.httpEngine,
      clock,
      logger,
    });
  }

  /**
   * Starts the service. Returns null if {@link stop} is called before the start is complete.
   *
   * @throws Error if the store cannot be reached in time or a port cannot be opened. All parts are stopped then.
   */
  async start(): Promise<StartedAt | null> {
    const { settings } = this.#parts;
    this.#health.set(TERMINATION_COMPONENT, true);
    try {
      // Tracing starts first and therefore stops last, so that the spans of the last calls are sent.
      if (this.#tracing !== null) await this.#stack.start(this.#tracing);
      if (this.#decisionLog !== null) await this.#stack.start(this.#decisionLog);
      // Sinks start before all parts with statistics and stop after them, so that the last statistics are sent.
      const statistics = await openStatistics({ ...this.#parts, stats: this.#stats, outages: this.#outages });
      for (const each of statistics) await this.#stack.start(each);
      await this.#stack.start(this.#store);
      if (this.#steering !== null) await this.#stack.start(this.#steering);
      if (this.#threads !== null) await this.#stack.start(this.#threads.threads);
      if (this.#serving !== null) await this.#stack.start(this.#serving.threads);
      await this.#stack.start(this.#compiler);
      const source = await createRuleSource({
        ...this.#parts,
        stats: this.#stats,
        outages: this.#outages,
        loader: this.#loader,
        fileReads: this.#fileReads,
      });
      this.#ruleFiles = source.files;
      await this.#stack.start(source.service);
      await this.#loader.settled();
      if (!settings.forceStartWithoutInitialConfig) await this.#firstRules(source);
      if (this.#tasks !== null) await this.#stack.start(this.#tasks);
      await this.#stack.start(this.#rates);
      await this.#stack.start(this.#rehearsals);
      if (this.#presence !== null) await this.#stack.start(this.#presence);
      const metrics = statistics.find(each => each instanceof MetricsEndpoint)?.address;
      const addresses = await this.#openPorts();
      return { ...addresses, metrics, serveThreads: this.#serving?.threads.serving ?? null };
    } catch (failure) {
      // After `stop`, starts fail, so the failure is expected.
      if (this.#stopping !== null) return null;
      // The caller needs the first failure. Failures to stop are often a consequence of it.
      await this.stop().catch(() => {});
      throw failure;
    }
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
    const { settings, clock, logger } = this.#parts;
    this.#health.set(TERMINATION_COMPONENT, false, 'the process shuts down');
    if (this.#portsOpen && settings.shutdownDelayMs > 0) {
      const seconds = settings.shutdownDelayMs / 1_000;
      logger.info('Reporting unhealthy; serving requests until SHUTDOWN_DELAY has passed', { seconds });
      await this.#shutdownDelay.passed();
      logger.info('Draining connections');
    }
    this.#drainUntilMs = clock.nowMs() + settings.shutdownTimeoutMs;
    this.#ports.drain();
    this.#tasks?.drain();
    this.#announceStop();
    try {
      await this.#stack.stop();
    } finally {
      this.#outages.stop();
    }
  }

  /** Resolves when rules are active, or when `stop` is called. */
  async #firstRules({ patienceMs, advice }: RuleSource): Promise<void> {
    if (this.#loader.current !== null) return;
    const { clock, logger } = this.#parts;
    const timer = clock.after(patienceMs, () =>
      logger.warning(
        'Ports stay closed until rules are loaded; set FORCE_START_WITHOUT_INITIAL_CONFIG=true to open them without rules',
        { advice },
      ),
    );
    await Promise.race([this.#loader.firstLoad, this.#stopAsked]);
    timer.cancel();
  }

  async #openPorts(): Promise<Addresses> {
    await this.#stack.start(new DecisionsInProgress(this.#batcher, () => this.#drainUntilMs, this.#parts));
    await this.#stack.start(this.#ports);
    this.#portsOpen = true;
    const { addresses } = this.#ports;
    for (const [name, address] of Object.entries(addresses)) {
      if (address !== null) this.#parts.logger.info(LISTENING[name as keyof Addresses], { name, address });
    }
    return addresses;
  }
}

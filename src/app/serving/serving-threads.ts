import type { Clock, Timer } from '../../base/clock.ts';
import type { Health } from '../../base/health.ts';
import type { Service } from '../../base/lifecycle.ts';
import { LOG_LEVELS, type LogFields, type Logger } from '../../base/logger.ts';
import type { LastingThread } from '../../base/threads/lasting-thread.ts';
import { LastingThreads } from '../../base/threads/lasting-threads.ts';
import type { RulesPublisher } from '../../decision/generations/rules-publisher.ts';
import type { Seats } from '../../decision/hot-keys/seats.ts';
import type { Settings } from '../../settings/table.ts';
import type { Counter, StatsRegistry } from '../../stats/registry.ts';
import type { TlsMaterial } from '../../transports/grpc/tls/tls-material.ts';
import type { ThreadEvents } from '../decision/thread-events.ts';
import type { DecisionLogSharing } from '../decision-log/open-decision-logger.ts';
import type { ThreadReports } from '../statistics/thread-reports.ts';
import type { OpenedStore } from '../stores/opened-store.ts';
import type { TasksConnection } from '../tasks/tasks-connection.ts';
import { Answers } from './answers.ts';
import { Balance } from './balance.ts';
import type { FromServingThread, ServingPorts, ServingThreadSetup, ToServingThread } from './messages.ts';
import type { ServingBounds } from './serving-bounds.ts';
import { ServingHealth } from './serving-health.ts';
import { ServingListeners } from './serving-listeners.ts';
import { ThreadFigures } from './thread-figures.ts';

type Thread = LastingThread<ToServingThread>;

interface ServingThreadsParts {
  readonly settings: Settings;
  readonly count: number;
  readonly store: OpenedStore;
  /** Memory of the steering records; null if they are disabled. */
  readonly steering: SharedArrayBuffer | null;
  /** Memory of `BatchFigures`. */
  readonly batchFigures: SharedArrayBuffer;
  /** Name of the channel that tells the rehearsal; see `RehearsalPublisher`. */
  readonly rehearsal: string;
  /** Null if hot keys are disabled. */
  readonly hotKeys: Seats | null;
  readonly rules: RulesPublisher;
  readonly bounds: ServingBounds;
  /** Whether the threads serve HTTP. */
  readonly servesHttp: boolean;
  /** Opens a connection of a thread to the task service; null if that is disabled. */
  readonly tasks: () => TasksConnection | null;
  readonly health: Health;
  readonly stats: StatsRegistry;
  readonly events: ThreadEvents;
  readonly reports: ThreadReports;
  /** Null if the decision log is disabled. */
  readonly decisionLog: DecisionLogSharing | null;
  readonly clock: Clock;
  /** From 0 to below 1. */
  readonly random: () => number;
  readonly logger: Logger;
}

/** How long a shutdown waits until all threads know that the process is unhealthy. */
const CONFIRM_MS = 1_000;
/** How long a start waits for all threads. Those that need longer open their ports later. */
const START_MS = 10_000;
/** How often the load of the threads is compared; they write their figures as often. */
const BALANCE_MS = 1_000;
/** How much longer than calls in progress a thread may take to close its connections. */
const DRAIN_MARGIN_MS = 1_000;

/**
 * The threads that have the connections, as seen by the primary thread. It gives them rules, TLS files and the health of
 * the process, and opens and closes their ports. A thread that dies takes its connections with it. Its replacement
 * listens on the same ports.
 */
export class ServingThreads implements Service {
  readonly name: string;
  readonly figures: ThreadFigures;
  readonly #parts: ServingThreadsParts;
  readonly #threads: LastingThreads<ToServingThread, FromServingThread>;
  readonly #answers: Answers<Thread>;
  readonly #serving: ServingHealth;
  /** The threads that accept messages. */
  readonly #ready = new Set<Thread>();
  /** Called for each thread that becomes ready. */
  #onReady: () => void = () => {};
  readonly #listeners: ServingListeners;
  readonly #moved: Counter;
  readonly #balance: Balance;
  #balancing: Timer | null = null;
  #material: TlsMaterial | null = null;
  #stopMirroring: () => void = () => {};
  /** Ends the wait of the start for all threads. */
  #stopWaiting: () => void = () => {};

  constructor(parts: ServingThreadsParts) {
    const { settings, count, store, stats, logger, clock } = parts;
    this.#parts = parts;
    this.figures = ThreadFigures.create(count);
    this.#balance = new Balance(this.figures);
    this.#moved = stats.counter('ratelimit.service.serving_thread_moves');
    this.#answers = new Answers(clock);
    this.#serving = new ServingHealth(parts.health, clock);
    const { figures } = this;
    this.#listeners = new ServingListeners({
      ready: this.#ready,
      figures,
      health: this.#serving,
      clock,
      logger,
    });
    const lost = stats.counter('ratelimit.service.serving_threads_lost');
    const { fingerprintKey, memory, refundMarks } = store;
    const setup: ServingThreadSetup = {
      settings,
      store: { fingerprintKey, memory, refundMarks },
      decisionLog: parts.decisionLog,
      steering: parts.steering,
      batchFigures: parts.batchFigures,
      rehearsal: parts.rehearsal,
      hotKeys: parts.hotKeys?.buffers ?? null,
      threads: count,
      figures: this.figures.buffer,
      logLevels: LOG_LEVELS.filter(level => logger.enabled(level)),
    };
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
    this.#threads = new LastingThreads<ToServingThread, FromServingThread>({
      ...parts,
      what: 'serving thread',
      module: new URL(`../../../workers/serve.${extension}`, import.meta.url),
      workerData: () => setup,
      lost: () => {
        lost.add(1);
        this.#serving.died();
      },
      ready: thread => this.#begins(thread),
      heard: (thread, message) => this.#heard(thread, message),
      // A thread that hangs does not serve its connections, whether or not the primary thread waits for it.
      isAwaited: ({ state }) => state === 'ready',
      ended: thread => this.#ended(thread),
      exited: ({ threadId, place }) => {
        parts.rules.detach(threadId);
        parts.bounds.left(threadId);
        parts.events.ended(threadId);
        parts.reports.ended(threadId);
        this.figures.clear(place);
      },
    });
    this.name = this.#threads.name;
    stats.gauge('ratelimit.service.serving_threads', () => this.#listeners.count);
    for (let place = 0; place < count; place++) this.#publishFigures(place);
  }

  /** Whether the threads serve HTTP; otherwise the primary thread does. */
  get servesHttp(): boolean {
    return this.#parts.servesHttp;
  }

  /** @throws Error if the first thread does not start */
  async start(): Promise<void> {
    this.#stopMirroring = this.#parts.health.onComponentChange(() => this.#mirrorHealth());
    await this.#threads.start();
    const allReady = Promise.withResolvers<void>();
    this.#stopWaiting = allReady.resolve;
    const timer = this.#parts.clock.after(START_MS, allReady.resolve);
    this.#onReady = () => {
      if (this.#ready.size === this.#parts.count) allReady.resolve();
    };
    this.#onReady();
    await allReady.promise;
    timer.cancel();
    const { count, logger } = this.#parts;
    if (this.#ready.size < count && !this.#threads.stopped) {
      logger.warning('Some serving threads are not ready yet; they open their ports when they are', {
        ready: this.#ready.size,
        threads: count,
      });
    }
    this.#balanceLater();
  }

  /** Lets the threads close their stores, and ends them. */
  async stop(): Promise<void> {
    this.#stopWaiting();
    this.#stopMirroring();
    this.#balancing?.cancel();
    this.#serving.stop();
    await this.#threads.stop();
  }

  /** New connections of all threads use these TLS files. */
  useTls(material: TlsMaterial): void {
    this.#material = material;
    this.#tellAll({ kind: 'tls', material });
  }

  /**
   * Opens the ports in all threads.
   *
   * @returns the ports that were opened
   * @throws Error that names the setting to change, if a port cannot be opened
   */
  listen(ports: ServingPorts): Promise<ServingPorts> {
    return this.#listeners.open(ports);
  }

  /** Number of threads that listen. */
  get serving(): number {
    return this.#listeners.count;
  }

  /**
   * Closes the ports and lets calls in progress finish. Before the first thread asks its callers to leave, all threads
   * know the health of the process and have closed their gRPC ports. So no caller is sent from one thread to another,
   * where its connection would be reset if it is established at the moment when the port closes.
   */
  async close(): Promise<void> {
    const { settings, logger } = this.#parts;
    this.#listeners.close();
    this.#balancing?.cancel();
    await this.#answers.ask(
      this.#ready,
      (thread, number) => thread.post({ kind: 'close_grpc_port', number }),
      CONFIRM_MS,
    );
    const late = await this.#answers.ask(
      this.#ready,
      (thread, number) => thread.post({ kind: 'drain', number }),
      settings.shutdownTimeoutMs + DRAIN_MARGIN_MS,
    );
    if (late.size > 0) {
      logger.warning('Shutdown timeout: serving threads did not close their connections', {
        threads: late.size,
      });
    }
  }

  #begin(thread: Thread): void {
    const { rules, bounds, store, tasks } = this.#parts;
    const { threadId, place } = thread;
    const message = {
      kind: 'begin',
      place,
      rules: rules.attach(threadId),
      bounds: bounds.join(threadId),
      storeLink: store.links?.attach(place) ?? null,
      tasks: this.servesHttp ? tasks() : null,
      waitsForStore: !this.#listeners.areOpen,
    } as const;
    const ports = [message.rules.port, message.storeLink, message.tasks?.port];
    thread.post(
      message,
      ports.filter(port => port != null),
    );
  }

  #begins(thread: Thread): void {
    const { reports } = this.#parts;
    this.#ready.add(thread);
    reports.started(thread.threadId, request => thread.post({ kind: 'report', request }));
    thread.post({ kind: 'health', components: this.#parts.health.components });
    if (this.#material !== null) thread.post({ kind: 'tls', material: this.#material });
    void this.#listeners.join(thread);
    this.#onReady();
  }

  #heard(thread: Thread, message: Exclude<FromServingThread, { kind: 'ready' }>): void {
    switch (message.kind) {
      case 'hello':
        this.#begin(thread);
        break;
      case 'listening':
      case 'not_listening':
        this.#listeners.heard(thread, message);
        break;
      case 'report':
        this.#parts.reports.add(message.threadId, message.report);
        break;
      case 'moved':
        this.#moved.add(message.connections);
        break;
      case 'answered':
        this.#answers.answered(thread, message.number);
        break;
      default:
        this.#parts.events.received(message);
    }
  }

  #ended(thread: Thread): LogFields {
    this.#ready.delete(thread);
    this.#listeners.ended(thread);
    this.#answers.ended(thread);
    const { connections } = this.figures.of(thread.place);
    return { thread: thread.place, connections };
  }

  /** Moves connections away from a thread that has much more to do than others. */
  #balanceLater(): void {
    this.#balancing = this.#parts.clock.after(BALANCE_MS, () => {
      const move = this.#balance.look();
      if (move !== null) {
        for (const thread of this.#ready)
          if (thread.place === move.from) thread.post({ kind: 'move', mostShare: move.mostShare });
      }
      this.#balanceLater();
    });
  }

  #mirrorHealth(): void {
    this.#tellAll({ kind: 'health', components: this.#parts.health.components });
  }

  #tellAll(message: ToServingThread): void {
    for (const thread of this.#ready) thread.post(message);
  }

  #publishFigures(place: number): void {
    const { stats } = this.#parts;
    const name = `ratelimit.service.serving_thread.${place}`;
    stats.gauge(`${name}.connections`, () => this.figures.of(place).connections);
    stats.gauge(`${name}.decisions`, () => this.figures.of(place).decisions);
    stats.gauge(`${name}.busy_percent`, () => Math.round(this.figures.of(place).busy * 100));
  }
}

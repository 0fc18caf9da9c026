import { type Timer, within } from '../../base/clock.ts';
import type { Service } from '../../base/lifecycle.ts';
import type { LogFields } from '../../base/logger.ts';
import type { HeardMessage, LastingThread } from '../../base/threads/lasting-thread.ts';
import { LastingThreads } from '../../base/threads/lasting-threads.ts';
import { askAll, Questions } from '../../base/threads/questions.ts';
import { workerModule } from '../../base/threads/same-build.ts';
import type { QueueBounds } from '../../decision/batching/queue-room.ts';
import { RulesPublisher } from '../../decision/generations/rules-publisher.ts';
import { servingThreads } from '../../settings/thread-counts.ts';
import type { Counter } from '../../stats/registry.ts';
import type { TlsMaterial } from '../../transports/grpc/tls/tls-material.ts';
import type { DecidingSetup } from '../decision/deciding.ts';
import type { ThreadEvents } from '../decision/thread-events.ts';
import { ThreadReports } from '../statistics/thread-reports.ts';
import type { OpenedStore } from '../stores/opened-store.ts';
import type { PrimaryThread } from '../surroundings.ts';
import type { TasksConnection } from '../tasks/tasks-connection.ts';
import { Balance } from './balance.ts';
import type { FromServingThread, ServingPorts, ServingThreadSetup, ToServingThread } from './messages.ts';
import { QuotaLooks } from './quota-looks.ts';
import { ServingBounds } from './serving-bounds.ts';
import { ServingHealth } from './serving-health.ts';
import { ServingListeners } from './serving-listeners.ts';
import { ThreadFigures } from './thread-figures.ts';

type Thread = LastingThread<ToServingThread>;

/** The messages that threads answer when they have done what was asked. */
type Asked = Exclude<Extract<ToServingThread, { readonly number: number }>['kind'], 'quotas'>;

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
  /** Looks at the quotas of the threads. */
  readonly quotas: QuotaLooks;
  /** Passes rules on to the threads. */
  readonly rules = new RulesPublisher();
  /** The bounds of the queue of the primary thread, as a part of those of the process. */
  readonly queueBounds: QueueBounds;
  /** Whether the threads serve HTTP; otherwise the primary thread does. */
  readonly servesHttp: boolean;
  readonly #primary: PrimaryThread;
  readonly #count: number;
  readonly #store: OpenedStore;
  readonly #events: ThreadEvents;
  readonly #tasks: () => TasksConnection | null;
  readonly #bounds: ServingBounds;
  readonly #threads: LastingThreads<ToServingThread, FromServingThread>;
  readonly #serving: ServingHealth;
  /** The threads that accept messages, with the questions that each has not answered. */
  readonly #ready = new Map<Thread, Questions<true>>();
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

  /**
   * @param store of the primary thread
   * @param events receives what the threads tell about themselves
   * @param tasks opens a connection of a thread to the task service; returns null if that is disabled
   */
  constructor(
    primary: PrimaryThread,
    setup: DecidingSetup,
    store: OpenedStore,
    events: ThreadEvents,
    tasks: () => TasksConnection | null,
  ) {
    const { settings, stats, clock, logger } = primary;
    const count = servingThreads(settings).threads;
    const figures = ThreadFigures.create(count);
    const lost = stats.counter('ratelimit.service.serving_threads_lost');
    const ofThreads: ServingThreadSetup = { ...setup, threads: count, figures: figures.buffer };
    this.#primary = primary;
    this.#count = count;
    this.#store = store;
    this.#events = events;
    this.#tasks = tasks;
    this.figures = figures;
    this.servesHttp = primary.httpEngine.inThreads;
    this.#bounds = new ServingBounds(settings, count);
    this.queueBounds = this.#bounds.ofPrimary();
    this.#balance = new Balance(figures);
    this.#moved = stats.counter('ratelimit.service.serving_thread_moves');
    this.#serving = new ServingHealth(primary.health, clock);
    this.quotas = new QuotaLooks(() => this.#ready.keys(), clock);
    this.#listeners = new ServingListeners(this.#ready, figures, this.#serving, clock, logger);
    this.#threads = new LastingThreads<ToServingThread, FromServingThread>({
      ...primary,
      what: 'serving thread',
      module: workerModule('serve'),
      count,
      workerData: () => ofThreads,
      lost: () => {
        lost.add(1);
        this.#serving.died();
      },
      ready: thread => this.#begins(thread),
      heard: (thread, message) => this.#heard(thread, message),
      // A thread that hangs does not serve its connections, whether or not the primary thread waits for it.
      isAwaited: ({ state }) => state === 'ready',
      ended: thread => this.#ended(thread),
      exited: thread => this.#exited(thread),
    });
    this.name = this.#threads.name;
    const reports = new ThreadReports(
      () => this.#ready.keys(),
      (thread: Thread) => this.#ask(thread, 'report'),
      clock,
    );
    stats.onCollect(() => reports.collect());
    stats.gauge('ratelimit.service.serving_threads', () => this.#listeners.count);
    for (let place = 0; place < count; place++) this.#publishFigures(place);
  }

  /** @throws Error if the first thread does not start */
  async start(): Promise<void> {
    const { health, clock, logger } = this.#primary;
    this.#stopMirroring = health.onComponentChange(() => this.#mirrorHealth());
    await this.#threads.start();
    const allReady = Promise.withResolvers<void>();
    this.#stopWaiting = allReady.resolve;
    this.#onReady = () => {
      if (this.#ready.size === this.#count) allReady.resolve();
    };
    this.#onReady();
    await within(clock, START_MS, allReady.promise);
    if (this.#ready.size < this.#count && !this.#threads.stopped) {
      logger.warning('Some serving threads are not ready yet; they open their ports when they are', {
        ready: this.#ready.size,
        threads: this.#count,
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
    const { settings, clock, logger } = this.#primary;
    const drainMs = settings.shutdownTimeoutMs + DRAIN_MARGIN_MS;
    const all = (kind: Asked, boundMs: number): Promise<ReadonlySet<Thread>> =>
      askAll(this.#ready.keys(), thread => this.#ask(thread, kind), clock, boundMs);
    this.#listeners.close();
    this.#balancing?.cancel();
    await all('close_grpc_port', CONFIRM_MS);
    const late = await all('drain', drainMs);
    if (late.size > 0) {
      logger.warning('Shutdown timeout: serving threads did not close their connections', {
        threads: late.size,
      });
    }
  }

  /** @throws (rejects with) Fault if the thread ends before it answers */
  async #ask(thread: Thread, kind: Asked): Promise<void> {
    await this.#ready.get(thread)?.ask(number => thread.post({ kind, number }));
  }

  #begin(thread: Thread): void {
    const { threadId, place } = thread;
    const message = {
      kind: 'begin',
      place,
      rules: this.rules.attach(threadId),
      bounds: this.#bounds.join(threadId),
      storeLink: this.#store.links?.attach(place) ?? null,
      tasks: this.servesHttp ? this.#tasks() : null,
      waitsForStore: !this.#listeners.areOpen,
    } as const;
    const ports = [message.rules.port, message.storeLink, message.tasks?.port];
    thread.post(
      message,
      ports.filter(port => port != null),
    );
  }

  #begins(thread: Thread): void {
    this.#ready.set(thread, new Questions());
    thread.post({ kind: 'health', components: this.#primary.health.components });
    if (this.#material !== null) thread.post({ kind: 'tls', material: this.#material });
    void this.#listeners.join(thread);
    this.#onReady();
  }

  #heard(thread: Thread, message: HeardMessage<FromServingThread>): void {
    switch (message.kind) {
      case 'hello':
        this.#begin(thread);
        break;
      case 'listening':
      case 'not_listening':
        this.#listeners.heard(thread, message);
        break;
      case 'moved':
        this.#moved.add(message.connections);
        break;
      case 'answered':
        this.#ready.get(thread)?.answered(message.number, [true, '']);
        break;
      case 'quotas':
        this.quotas.answered(thread, message.number, message.answer);
        break;
      default:
        this.#events.received(thread.threadId, message);
    }
  }

  #ended(thread: Thread): LogFields {
    const questions = this.#ready.get(thread);
    this.#ready.delete(thread);
    this.#listeners.ended(thread);
    this.quotas.ended(thread);
    questions?.lost('the serving thread ended');
    const { connections } = this.figures.of(thread.place);
    return { thread: thread.place, connections };
  }

  #exited({ threadId, place }: Thread): void {
    this.rules.detach(threadId);
    this.#bounds.left(threadId);
    this.#events.ended(threadId);
    this.figures.clear(place);
  }

  /** Moves connections away from a thread that has much more to do than others. */
  #balanceLater(): void {
    this.#balancing = this.#primary.clock.after(BALANCE_MS, () => {
      const move = this.#balance.look();
      if (move !== null) {
        for (const thread of this.#ready.keys())
          if (thread.place === move.from) thread.post({ kind: 'move', mostShare: move.mostShare });
      }
      this.#balanceLater();
    });
  }

  #mirrorHealth(): void {
    this.#tellAll({ kind: 'health', components: this.#primary.health.components });
  }

  #tellAll(message: ToServingThread): void {
    for (const thread of this.#ready.keys()) thread.post(message);
  }

  #publishFigures(place: number): void {
    const { stats } = this.#primary;
    const name = `ratelimit.service.serving_thread.${place}`;
    stats.gauge(`${name}.connections`, () => this.figures.of(place).connections);
    stats.gauge(`${name}.decisions`, () => this.figures.of(place).decisions);
    stats.gauge(`${name}.busy_percent`, () => Math.round(this.figures.of(place).busy * 100));
  }
}

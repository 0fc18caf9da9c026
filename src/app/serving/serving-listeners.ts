import type { Clock, Timer } from '../../base/clock.ts';
import { asError } from '../../base/fault.ts';
import type { Logger } from '../../base/logger.ts';
import type { LastingThread } from '../../base/threads/lasting-thread.ts';
import type { FromServingThread, ServingPorts, ToServingThread } from './messages.ts';
import type { ServingHealth } from './serving-health.ts';
import type { ThreadFigures } from './thread-figures.ts';

type Thread = LastingThread<ToServingThread>;

/** The threads that accept messages. */
type ReadyThreads = Pick<ReadonlyMap<Thread, unknown>, 'has' | 'keys'>;

/** Delay before a thread tries again to open its ports. */
const JOIN_AGAIN_MS = 1_000;

/** Delay before connections are spread. Callers that wait for a port connect at once, and figures are a second old. */
const SPREAD_MS = 2_000;

/** The ports of the serving threads: opens them in all threads, also in those that become ready later. */
export class ServingListeners {
  readonly #ready: ReadyThreads;
  readonly #figures: ThreadFigures;
  readonly #health: ServingHealth;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #listening = new Set<Thread>();
  readonly #opening = new Map<Thread, PromiseWithResolvers<ServingPorts>>();
  /** The ports of all threads; null while they are closed. */
  #ports: ServingPorts | null = null;
  /** By place of the thread: why it could not open its ports, as it was last logged. */
  readonly #logged = new Map<number, string>();
  readonly #timers = new Set<Timer>();

  constructor(
    ready: ReadyThreads,
    figures: ThreadFigures,
    health: ServingHealth,
    clock: Clock,
    logger: Logger,
  ) {
    this.#ready = ready;
    this.#figures = figures;
    this.#health = health;
    this.#clock = clock;
    this.#logger = logger;
  }

  /** Number of threads that listen. */
  get count(): number {
    return this.#listening.size;
  }

  get areOpen(): boolean {
    return this.#ports !== null;
  }

  /**
   * Opens the ports in all threads: at the same moment, because callers that wait for a port connect to the first thread
   * that has it. Only if the system chooses a port, one thread opens it first. A thread that ends meanwhile is skipped:
   * its replacement joins.
   *
   * @returns the ports that were opened
   * @throws Error that names the setting to change, if a port cannot be opened
   */
  async open(ports: ServingPorts): Promise<ServingPorts> {
    try {
      this.#ports = ports.grpc === 0 || ports.http === 0 ? await this.#openFirst(ports) : ports;
      const others = [...this.#ready.keys()].filter(thread => !this.#listening.has(thread));
      await Promise.all(others.map(thread => this.#listenUnlessEnded(thread, this.#ports!)));
      if (this.#listening.size === 0)
        throw new Error(
          'the serving threads ended while they opened their ports; see the log for the reason',
        );
      this.#later(SPREAD_MS, () => this.#spread());
      return this.#ports;
    } catch (failure) {
      this.close();
      throw failure;
    }
  }

  /** Opens no more ports. */
  close(): void {
    this.#ports = null;
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
  }

  /** Opens the ports in a thread that became ready after the others. */
  async join(thread: Thread): Promise<void> {
    if (this.#ports === null || !this.#ready.has(thread) || this.#opening.has(thread)) return;
    try {
      if ((await this.#listenUnlessEnded(thread, this.#ports)) === null) return;
      this.#logged.delete(thread.place);
      this.#later(SPREAD_MS, () => this.#spread());
    } catch (failure) {
      this.#logFailure(thread, asError(failure).message);
      this.#later(JOIN_AGAIN_MS, () => void this.join(thread));
    }
  }

  heard(thread: Thread, message: Extract<FromServingThread, { kind: 'listening' | 'not_listening' }>): void {
    const opening = this.#opening.get(thread);
    if (message.kind === 'listening') opening?.resolve(message.ports);
    else opening?.reject(new Error(message.message));
  }

  ended(thread: Thread): void {
    this.#listening.delete(thread);
    this.#opening.get(thread)?.reject(new Error('the serving thread ended'));
    this.#tellHealth();
  }

  async #openFirst(ports: ServingPorts): Promise<ServingPorts> {
    for (const thread of this.#ready.keys()) {
      const opened = await this.#listenUnlessEnded(thread, ports);
      if (opened !== null) return opened;
    }
    throw new Error('the serving threads ended while they opened their ports; see the log for the reason');
  }

  /** Resolves with null if the thread ends. Its replacement opens the ports itself. */
  async #listenUnlessEnded(thread: Thread, ports: ServingPorts): Promise<ServingPorts | null> {
    try {
      return await this.#listen(thread, ports);
    } catch (failure) {
      if (this.#ready.has(thread)) throw failure;
      return null;
    }
  }

  /** @throws (rejects with) Error that names the setting to change */
  async #listen(thread: Thread, ports: ServingPorts): Promise<ServingPorts> {
    const opening = Promise.withResolvers<ServingPorts>();
    this.#opening.set(thread, opening);
    thread.post({ kind: 'listen', ports });
    try {
      const opened = await opening.promise;
      this.#listening.add(thread);
      this.#tellHealth();
      return opened;
    } finally {
      this.#opening.delete(thread);
    }
  }

  #tellHealth(): void {
    if (this.#ports !== null) this.#health.servingThreads(this.#listening.size);
  }

  #logFailure({ place }: Thread, reason: string): void {
    if (this.#logged.get(place) === reason) return;
    this.#logged.set(place, reason);
    this.#logger.error('Serving thread could not open its ports; retrying every second', {
      thread: place,
      reason,
    });
  }

  /**
   * After threads have opened their ports, a thread may have far fewer connections than its share: callers that waited
   * are connected to the threads that were first. The others then ask the connections beyond their share to reconnect.
   */
  #spread(): void {
    const loads = [...this.#listening].map(thread => ({
      thread,
      connections: this.#figures.of(thread.place).connections,
    }));
    const counts = loads.map(({ connections }) => connections);
    const share = Math.ceil(counts.reduce((sum, count) => sum + count, 0) / counts.length);
    if (Math.min(...counts) * 2 >= share) return;
    for (const { thread, connections } of loads) {
      if (connections > share) thread.post({ kind: 'spread', connections: connections - share });
    }
  }

  #later(delayMs: number, run: () => void): void {
    if (this.#ports === null) return;
    const timer = this.#clock.after(delayMs, () => {
      this.#timers.delete(timer);
      run();
    });
    this.#timers.add(timer);
  }
}

import type { ResourceLimits } from 'node:worker_threads';
import type { Service } from '../../base/lifecycle.ts';
import type { LogFields } from '../../base/logger.ts';
import type { HeardMessage, LastingThread } from '../../base/threads/lasting-thread.ts';
import { LastingThreads, type ThreadCreation } from '../../base/threads/lasting-threads.ts';
import { Questions } from '../../base/threads/questions.ts';
import type { ThreadsStats } from '../../stats/thread-stats.ts';
import type { ThreadLinks } from '../../tasks/rest/threads/thread-links.ts';
import type { NotReady, TroubledPart } from '../../tasks/scheduler/health/troubles.ts';
import type {
  WorkerTest,
  WorkerTestAnswer,
  WorkerTester,
} from '../../tasks/scheduler/workers/worker-tests.ts';
import type { FromEngineThread, ToEngineThread } from './engine-messages.ts';

/**
 * As for REST threads: a larger young generation would only hold garbage. The old one is not limited, because it holds
 * the payloads of pushes in progress, whose number and size are settings.
 */
const RESOURCES: ResourceLimits = { maxYoungGenerationSizeMb: 48 };

/** Retry delay for callers while the thread is being replaced. */
const TEST_AGAIN_MS = 1_000;

type EngineThread = LastingThread<ToEngineThread>;

/**
 * The task engine in a thread of its own (`engine-thread.ts`), as seen by the primary thread. If the thread dies or
 * hangs, it is replaced. Its delivery threads end with it, and the tasks that it had claimed are delivered again when
 * their leases expire, as after a crash of the process.
 */
export class KeptEngine implements Service, WorkerTester {
  readonly name = 'task engine';
  readonly #links: ThreadLinks;
  readonly #stats: ThreadsStats;
  readonly #threads: LastingThreads<ToEngineThread, FromEngineThread>;
  readonly #tests = new Questions<WorkerTestAnswer>();
  /** The thread that runs the engine, or is starting it. */
  #thread: EngineThread | null = null;
  #running = false;
  readonly #notReady = new Map<TroubledPart, NotReady>();
  #draining = false;
  readonly #begun = Promise.withResolvers<void>();
  readonly #drained = Promise.withResolvers<void>();

  /**
   * @param creation its module is `workers/tasks.ts`
   * @param stats adds up the statistics of the thread
   */
  constructor(creation: Omit<ThreadCreation, 'count'>, links: ThreadLinks, stats: ThreadsStats) {
    this.#links = links;
    this.#stats = stats;
    this.#threads = new LastingThreads<ToEngineThread, FromEngineThread>({
      ...creation,
      count: 1,
      what: 'task engine thread',
      resourceLimits: RESOURCES,
      ready: thread => this.#ready(thread),
      heard: (thread, message) => this.#heard(thread, message),
      // Tasks become due without any message.
      isAwaited: () => true,
      ended: thread => this.#ended(thread),
      lost: place => {
        creation.lost(place);
        stats.ended(place);
      },
    });
    // The rejection is handled here in case nobody waits for the start.
    this.#begun.promise.catch(() => {});
  }

  /** Whether tasks are started. */
  get running(): boolean {
    return this.#running;
  }

  /** The latest reason why a part of the engine does not work; null while it works. */
  notReady(part: TroubledPart): NotReady | null {
    return this.#notReady.get(part) ?? null;
  }

  /** @throws Error if the first thread, or the engine in it, does not start */
  async start(): Promise<void> {
    await this.#threads.start();
    try {
      await this.#begun.promise;
    } catch (failure) {
      await this.#threads.stop();
      throw failure;
    }
  }

  async test(test: WorkerTest): Promise<WorkerTestAnswer> {
    if (!this.#running) return { kind: 'refused', reason: 'busy', retryAfterMs: TEST_AGAIN_MS };
    return this.#tests.ask(ask => this.#thread?.post({ kind: 'test', ask, test }));
  }

  /** Claims stop; pushes in progress may continue for the drain time. */
  drain(): void {
    if (this.#draining) return;
    this.#draining = true;
    this.#begun.reject(new Error('the task engine is stopped'));
    if (this.#thread === null) this.#drained.resolve();
    else this.#thread.post({ kind: 'drain' });
  }

  /** Waits for the drain, or until the thread dies or hangs. */
  async stop(): Promise<void> {
    this.drain();
    await this.#drained.promise;
    await this.#threads.stop();
  }

  #ready(thread: EngineThread): void {
    // This thread replaces one that was lost during the drain, and will be stopped soon.
    if (this.#draining) return;
    this.#thread = thread;
    this.#links.connect(thread);
    thread.post({ kind: 'begin' });
  }

  #heard(thread: EngineThread, message: HeardMessage<FromEngineThread>): void {
    switch (message.kind) {
      case 'stats':
        this.#stats.add(0, message.stats);
        break;
      case 'store_wanted':
      case 'limit_asked':
      case 'limit_unused':
        this.#links.heard(thread, message);
        break;
      case 'not_ready':
        if (message.notReady === null) this.#notReady.delete(message.part);
        else this.#notReady.set(message.part, message.notReady);
        break;
      case 'tested':
        this.#tests.answered(message.ask, message.answer);
        break;
      case 'begun':
        this.#running = true;
        this.#begun.resolve();
        break;
      case 'not_begun':
        this.#begun.reject(new Error(message.reason));
        break;
      case 'drained':
        this.#running = false;
        this.#drained.resolve();
    }
  }

  #ended(thread: EngineThread): LogFields {
    this.#links.disconnect(thread);
    if (this.#thread === thread) this.#thread = null;
    this.#running = false;
    this.#notReady.clear();
    this.#tests.lost('The thread that sends tests has ended. Retry the request.');
    if (this.#draining) this.#drained.resolve();
    return {
      effect:
        'no task starts until the replacement is ready; pushes in progress are retried when their leases expire',
    };
  }
}

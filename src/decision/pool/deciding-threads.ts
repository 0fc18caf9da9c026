import type { Service } from '../../base/lifecycle.ts';
import type { LogFields } from '../../base/logger.ts';
import type { HeardMessage, LastingThread } from '../../base/threads/lasting-thread.ts';
import { LastingThreads, type ThreadCreation } from '../../base/threads/lasting-threads.ts';
import type { Counter } from '../../stats/registry.ts';
import type { DecidingThreads } from './decision-pool.ts';
import type {
  DecideResult,
  DecideTask,
  FromDecisionThread,
  ThreadMessage,
  ToDecisionThread,
} from './thread-messages.ts';

/** Maximum number of batches in one thread: while one batch waits for the store, the next one is planned. */
const BATCHES_PER_THREAD = 2;

/** The parts of the threads. Their module is `workers/decide.ts`. */
interface LastingDecidingThreadsParts extends Omit<ThreadCreation, 'lost'> {
  readonly received: (threadId: number, message: ThreadMessage) => void;
  /** Called once when a thread executes nothing anymore, so that the locks it held can be released. */
  readonly exited: (threadId: number) => void;
  /** Counts the threads that ended without having been stopped. */
  readonly lost: Counter;
}

type Thread = LastingThread<ToDecisionThread>;
type Batches = Map<number, PromiseWithResolvers<DecideResult>>;

/**
 * Long-lived threads that decide batches. Batches never wait for a thread: a batch is only passed to a thread that
 * starts with it immediately.
 */
export class LastingDecidingThreads implements DecidingThreads, Service {
  readonly name: string;
  readonly #received: LastingDecidingThreadsParts['received'];
  readonly #threads: LastingThreads<ToDecisionThread, FromDecisionThread>;
  /** The threads that accept batches, with the batches that each has not answered. */
  readonly #ready = new Map<Thread, Batches>();
  #lastNumber = 0;
  #waiters: { readonly count: number; readonly resolve: () => void }[] = [];

  constructor({ received, exited, lost, ...creation }: LastingDecidingThreadsParts) {
    this.#received = received;
    this.#threads = new LastingThreads<ToDecisionThread, FromDecisionThread>({
      ...creation,
      what: 'decision thread',
      ready: thread => this.#begins(thread),
      heard: (thread, message) => this.#heard(thread, message),
      isAwaited: thread => (this.#ready.get(thread)?.size ?? 0) > 0,
      ended: thread => this.#ended(thread),
      exited: ({ threadId }) => exited(threadId),
      lost: () => lost.add(1),
    });
    this.name = this.#threads.name;
  }

  get free(): boolean {
    return this.#leastBusy() !== null;
  }

  /** Number of threads that accept batches. */
  get ready(): number {
    return this.#ready.size;
  }

  /** Resolves when this number of threads accept batches. */
  whenReady(count: number): Promise<void> {
    if (this.ready >= count) return Promise.resolve();
    return new Promise(resolve => this.#waiters.push({ count, resolve }));
  }

  /** Does not wait for the threads: until they are ready, this thread decides everything. */
  async start(): Promise<void> {
    this.#threads.startWithoutWaiting();
  }

  /** Lets the threads close their stores, and ends them. */
  stop(): Promise<void> {
    return this.#threads.stop();
  }

  /** Passes a batch to the thread with the fewest batches. Call only while one is {@link free}. */
  async run(task: DecideTask): Promise<DecideResult> {
    const thread = this.#leastBusy();
    if (thread === null) throw new Error('no decision thread accepts batches');
    const number = ++this.#lastNumber;
    thread.post({ kind: 'decide', number, task }, [task.requests, task.answers]);
    const batch = Promise.withResolvers<DecideResult>();
    this.#ready.get(thread)?.set(number, batch);
    return batch.promise;
  }

  #leastBusy(): Thread | null {
    if (this.#threads.stopped) return null;
    let best: Thread | null = null;
    let fewest = BATCHES_PER_THREAD;
    for (const [thread, batches] of this.#ready) {
      if (batches.size >= fewest) continue;
      best = thread;
      fewest = batches.size;
    }
    return best;
  }

  #begins(thread: Thread): void {
    this.#ready.set(thread, new Map());
    const { ready } = this;
    for (const { count, resolve } of this.#waiters) if (ready >= count) resolve();
    this.#waiters = this.#waiters.filter(({ count }) => ready < count);
  }

  #heard(thread: Thread, message: HeardMessage<FromDecisionThread>): void {
    if (message.kind !== 'decided' && message.kind !== 'failed') {
      this.#received(thread.threadId, message);
      return;
    }
    const batches = this.#ready.get(thread);
    const batch = batches?.get(message.number);
    batches?.delete(message.number);
    if (message.kind === 'decided') batch?.resolve(message.result);
    else batch?.reject(message.error);
  }

  #ended(thread: Thread): LogFields {
    const left = [...(this.#ready.get(thread)?.values() ?? [])];
    this.#ready.delete(thread);
    const error = new Error(
      this.#threads.stopped ? 'the decision threads are stopped' : 'the decision thread ended',
    );
    for (const batch of left) batch.reject(error);
    return { thread: thread.threadId, batches: left.length };
  }
}

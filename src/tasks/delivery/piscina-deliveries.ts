import type { Service } from '../../base/lifecycle.ts';
import type { LogFields } from '../../base/logger.ts';
import type { LastingThread } from '../../base/threads/lasting-thread.ts';
import { LastingThreads, type ThreadCreation } from '../../base/threads/lasting-threads.ts';
import {
  type Deliveries,
  type DeliveryOutcome,
  type DeliveryRequest,
  deliveryError,
  notMade,
} from './delivery.ts';
import type { DeliverySetup, MessageFromThread, MessageToThread } from './delivery-thread.ts';

interface Running {
  readonly tenant: string;
  readonly taskId: string;
  readonly settle: (outcome: DeliveryOutcome) => void;
}

/** One thread, from the time when it is ready until its end. */
interface Thread {
  readonly link: LastingThread<MessageToThread>;
  readonly running: Map<number, Running>;
  /** Attempts of this turn of the event loop, which go in one message. */
  waiting: [number, DeliveryRequest][];
}

/**
 * Pushes tasks from separate long-lived threads ({@link LastingThreads}). Many attempts and outcomes are sent in one
 * message. If a thread dies, its attempts end as `aborted`, and it is unknown whether their workers have received them.
 */
export class PiscinaDeliveries implements Deliveries, Service {
  readonly name: string;
  readonly capacity: number;
  readonly #perThread: number;
  readonly #threads: LastingThreads<MessageToThread, MessageFromThread>;
  readonly #ready = new Map<LastingThread<MessageToThread>, Thread>();
  #lastNumber = 0;

  /**
   * @param creation its module is `workers/deliver.ts`
   * @param setup its capacity is that of all threads together
   */
  constructor(creation: Omit<ThreadCreation, 'workerData'>, setup: DeliverySetup) {
    this.capacity = setup.capacity;
    this.#perThread = Math.ceil(this.capacity / creation.count);
    this.#threads = new LastingThreads<MessageToThread, MessageFromThread>({
      ...creation,
      what: 'delivery thread',
      workerData: () => ({ ...setup, capacity: this.#perThread }),
      ready: link => this.#ready.set(link, { link, running: new Map(), waiting: [] }),
      heard: (link, { outcomes }) => this.#settle(link, outcomes),
      isAwaited: link => (this.#ready.get(link)?.running.size ?? 0) > 0,
      ended: link => this.#ended(link),
    });
    this.name = this.#threads.name;
  }

  /** Threads that take attempts. */
  get ready(): number {
    return this.#ready.size;
  }

  get free(): number {
    if (this.#threads.stopped) return 0;
    let room = 0;
    let running = 0;
    for (const thread of this.#ready.values()) {
      running += thread.running.size;
      room += this.#perThread - thread.running.size;
    }
    return Math.min(room, this.capacity - running);
  }

  /**
   * Waits for the first thread; the others follow.
   *
   * @throws Error when the first one to start does not
   */
  start(): Promise<void> {
    return this.#threads.start();
  }

  stop(): Promise<void> {
    for (const thread of this.#ready.values()) this.#send(thread);
    return this.#threads.stop();
  }

  async deliver(request: DeliveryRequest): Promise<DeliveryOutcome> {
    const thread = this.#leastBusy();
    if (thread === null) return notMade('all delivery threads are busy');
    const number = ++this.#lastNumber;
    const { promise, resolve } = Promise.withResolvers<DeliveryOutcome>();
    thread.running.set(number, { tenant: request.tenant, taskId: request.task.id, settle: resolve });
    thread.waiting.push([number, forThread(request)]);
    if (thread.waiting.length === 1) setImmediate(() => this.#send(thread));
    return promise;
  }

  abort(tenant: string, taskId: string): void {
    for (const thread of this.#ready.values()) {
      for (const running of thread.running.values()) {
        if (running.tenant !== tenant || running.taskId !== taskId) continue;
        // Attempts that wait to be sent are sent first.
        this.#send(thread);
        thread.link.post({ kind: 'abort', tenant, taskId });
        break;
      }
    }
  }

  #leastBusy(): Thread | null {
    let best: Thread | null = null;
    for (const thread of this.#ready.values()) {
      if (thread.running.size >= this.#perThread) continue;
      if (best === null || thread.running.size < best.running.size) best = thread;
    }
    return this.free > 0 ? best : null;
  }

  #send(thread: Thread): void {
    if (thread.waiting.length === 0) return;
    const requests = thread.waiting;
    thread.waiting = [];
    thread.link.post({ kind: 'deliver', requests });
  }

  #settle(
    link: LastingThread<MessageToThread>,
    outcomes: readonly (readonly [number, DeliveryOutcome])[],
  ): void {
    const running = this.#ready.get(link)?.running;
    for (const [number, outcome] of outcomes) {
      const attempt = running?.get(number);
      running?.delete(number);
      attempt?.settle(outcome);
    }
  }

  #ended(link: LastingThread<MessageToThread>): LogFields {
    const left = [...(this.#ready.get(link)?.running.values() ?? [])];
    this.#ready.delete(link);
    const error = deliveryError(this.#threads.stopped ? 'aborted' : 'thread_lost');
    for (const { settle } of left) settle({ ...notMade(''), error });
    return { attempts: left.length };
  }
}

/** Copies only the fields that the thread needs, because each field costs time to send. */
function forThread(request: DeliveryRequest): DeliveryRequest {
  const { id, type, attempt, timeoutMs, runAt, scheduledFor, retry } = request.task;
  const { name, url, method, headers } = request.worker;
  return {
    tenant: request.tenant,
    task: {
      id,
      type,
      attempt,
      timeoutMs,
      runAt,
      scheduledFor,
      retry: { maxAttempts: retry.maxAttempts },
    },
    payload: request.payload,
    headers: request.headers,
    worker: { name, url, method, headers },
    signing: request.signing,
    secretHeaders: request.secretHeaders,
    trace: request.trace,
    ...(request.isTest && { isTest: true }),
  };
}

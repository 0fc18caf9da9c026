import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { backoffMs } from '../../base/backoff.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import { asError } from '../../base/fault.ts';
import type { Service } from '../../base/lifecycle.ts';
import type { Logger } from '../../base/logger.ts';
import type { Counter } from '../../stats/registry.ts';
import type { Deliveries, DeliveryOutcome, DeliveryRequest } from './delivery.ts';
import { deliveryError } from './delivery-errors.ts';
import type { DeliveryTask, MessageFromThread, MessageToThread } from './delivery-thread.ts';
import { type DeliverySetup, notMade } from './local-deliveries.ts';
import type { AttemptRequest } from './request-head.ts';

/** How long a stop waits for the threads to close their connections. */
const STOP_MS = 2_000;
/** Waits before a thread that did not even start is tried again. */
const RESTART = { initialMs: 100, maxMs: 10_000 };

export interface PiscinaDeliveriesParts {
  /** The module that each thread runs; see `workers/deliver.ts`. */
  readonly module: URL;
  readonly count: number;
  /** Its capacity is that of all threads together. */
  readonly setup: DeliverySetup;
  /** Threads that ended although nobody asked them to. */
  readonly lost: Counter;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

interface Running {
  readonly tenant: string;
  readonly taskId: string;
  readonly settle: (outcome: DeliveryOutcome) => void;
}

/** One thread, from its start to its end. */
interface Thread {
  readonly pool: Piscina<DeliveryTask, void>;
  readonly port: MessagePort;
  readonly running: Map<number, Running>;
  /** Attempts of this turn of the event loop, which go in one message. */
  waiting: [number, AttemptRequest][];
  state: 'starting' | 'ready' | 'over';
  /** Resolves when nothing of it is left. */
  readonly gone: PromiseWithResolvers<void>;
}

/**
 * Pushes tasks from threads of their own, kept by Piscina. Each thread has one task of Piscina's for as long as it lives:
 * attempts and their outcomes go through a channel beside it, many in one message. A thread that ends is replaced; its
 * attempts end as `aborted`, and whether their workers have seen them is not known.
 *
 * Each has a pool to itself: in a larger one, a thread that fails before it is ready leaves its task in the queue, and
 * nobody learns of it.
 */
export class PiscinaDeliveries implements Deliveries, Service {
  readonly name = 'delivery threads';
  readonly capacity: number;
  readonly #parts: PiscinaDeliveriesParts;
  readonly #perThread: number;
  readonly #threads = new Set<Thread>();
  readonly #restarts = new Set<Timer>();
  #state: 'stopped' | 'running' = 'stopped';
  #failedStarts = 0;
  #lastNumber = 0;
  #firstReady = Promise.withResolvers<void>();

  constructor(parts: PiscinaDeliveriesParts) {
    this.#parts = parts;
    this.capacity = parts.setup.capacity;
    this.#perThread = Math.ceil(this.capacity / parts.count);
  }

  /** Threads that take attempts. */
  get ready(): number {
    let ready = 0;
    for (const { state } of this.#threads) if (state === 'ready') ready++;
    return ready;
  }

  get free(): number {
    if (this.#state === 'stopped') return 0;
    let room = 0;
    let running = 0;
    for (const thread of this.#threads) {
      running += thread.running.size;
      if (thread.state === 'ready') room += this.#perThread - thread.running.size;
    }
    return Math.min(room, this.capacity - running);
  }

  /**
   * Waits for the first thread; the others follow.
   *
   * @throws Error when the first one to start does not
   */
  async start(): Promise<void> {
    this.#state = 'running';
    this.#firstReady = Promise.withResolvers<void>();
    for (let i = 0; i < this.#parts.count; i++) this.#open();
    try {
      await this.#firstReady.promise;
    } catch (failure) {
      await this.stop();
      throw failure;
    }
  }

  async stop(): Promise<void> {
    if (this.#state === 'stopped') return;
    this.#state = 'stopped';
    this.#firstReady.reject(new Error('the delivery threads are stopped'));
    for (const timer of this.#restarts) timer.cancel();
    this.#restarts.clear();
    const threads = [...this.#threads];
    const allGone = Promise.all(threads.map(({ gone }) => gone.promise));
    const waited = Promise.withResolvers<void>();
    const timer = this.#parts.clock.after(STOP_MS, waited.resolve);
    for (const thread of threads) {
      if (thread.state === 'ready') this.#tell(thread, { kind: 'stop' });
      else this.#ended(thread, 'it is stopped');
    }
    await Promise.race([allGone, waited.promise]);
    timer.cancel();
    for (const thread of threads) this.#ended(thread, 'it did not stop in time');
    await allGone;
  }

  async deliver(request: DeliveryRequest): Promise<DeliveryOutcome> {
    const thread = this.#leastBusy();
    if (thread === null) return notMade('there was no room for the attempt');
    const number = ++this.#lastNumber;
    const { promise, resolve } = Promise.withResolvers<DeliveryOutcome>();
    thread.running.set(number, { tenant: request.tenant, taskId: request.task.id, settle: resolve });
    thread.waiting.push([number, forThread(request)]);
    if (thread.waiting.length === 1) setImmediate(() => this.#send(thread));
    return promise;
  }

  abort(tenant: string, taskId: string): void {
    for (const thread of this.#threads) {
      for (const running of thread.running.values()) {
        if (running.tenant !== tenant || running.taskId !== taskId) continue;
        this.#tell(thread, { kind: 'abort', tenant, taskId });
        break;
      }
    }
  }

  #leastBusy(): Thread | null {
    let best: Thread | null = null;
    for (const thread of this.#threads) {
      if (thread.state !== 'ready' || thread.running.size >= this.#perThread) continue;
      if (best === null || thread.running.size < best.running.size) best = thread;
    }
    return this.free > 0 ? best : null;
  }

  #send(thread: Thread): void {
    if (thread.waiting.length === 0) return;
    const requests = thread.waiting;
    thread.waiting = [];
    thread.port.postMessage({ kind: 'deliver', requests } satisfies MessageToThread);
  }

  /** Attempts that wait to be sent go first. */
  #tell(thread: Thread, message: MessageToThread): void {
    this.#send(thread);
    thread.port.postMessage(message);
  }

  #open(): void {
    const { module, setup } = this.#parts;
    const { port1, port2 } = new MessageChannel();
    const pool = new Piscina<DeliveryTask, void>({
      filename: module.href,
      // The thread begins with its task, and is not replaced by Piscina.
      minThreads: 0,
      maxThreads: 1,
      idleTimeout: Number.POSITIVE_INFINITY,
      // A thread that sleeps would not hear what its connections bring.
      atomics: 'disabled',
      recordTiming: false,
      workerData: { ...setup, capacity: this.#perThread },
    });
    const thread: Thread = {
      pool,
      port: port1,
      running: new Map(),
      waiting: [],
      state: 'starting',
      gone: Promise.withResolvers<void>(),
    };
    this.#threads.add(thread);
    port1.on('message', (message: MessageFromThread) => this.#heard(thread, message));
    const ended = (failure: unknown): void => this.#ended(thread, asError(failure).message);
    pool.on('error', ended);
    // The last to be told: whoever knows the reason has told it by the next turn.
    pool.on('workerDestroy', () => setImmediate(ended, new Error('the thread was ended')));
    pool.run({ port: port2 }, { transferList: [port2] }).then(() => ended('it came to its end'), ended);
  }

  #heard(thread: Thread, message: MessageFromThread): void {
    if (message.kind === 'ready') {
      thread.state = 'ready';
      this.#failedStarts = 0;
      this.#firstReady.resolve();
      return;
    }
    for (const [number, outcome] of message.outcomes) {
      const running = thread.running.get(number);
      thread.running.delete(number);
      running?.settle(outcome);
    }
  }

  /** Told of each end more than once. */
  #ended(thread: Thread, reason: string): void {
    if (thread.state === 'over') return;
    const wasReady = thread.state === 'ready';
    thread.state = 'over';
    this.#threads.delete(thread);
    thread.port.close();
    thread.pool.destroy().then(thread.gone.resolve, thread.gone.reject);
    const left = [...thread.running.values()];
    thread.running.clear();
    const error = deliveryError(this.#state === 'stopped' ? 'aborted' : 'thread_lost');
    for (const { settle } of left) settle({ ...notMade(''), error });
    if (this.#state === 'running') this.#replace(wasReady, reason, left.length);
  }

  #replace(wasReady: boolean, reason: string, attempts: number): void {
    const { lost, logger, clock, random } = this.#parts;
    lost.add(1);
    logger.error('a delivery thread ended', { reason, attempts, next: 'it is replaced' });
    if (wasReady) {
      this.#open();
      return;
    }
    this.#firstReady.reject(new Error(`a delivery thread does not start: ${reason}`));
    const timer = clock.after(backoffMs(RESTART, this.#failedStarts++, random), () => {
      this.#restarts.delete(timer);
      this.#open();
    });
    this.#restarts.add(timer);
  }
}

/** What the thread needs of the request: the less is sent the better. */
function forThread(request: DeliveryRequest): AttemptRequest {
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
    traceparent: request.traceparent,
  };
}

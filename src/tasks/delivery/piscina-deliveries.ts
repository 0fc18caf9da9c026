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
  readonly port: MessagePort;
  readonly running: Map<number, Running>;
  /** Attempts of this turn of the event loop, which go in one message. */
  waiting: [number, AttemptRequest][];
  ready: boolean;
  /** Settles when the thread, or what it was given to do, has ended. */
  ended: Promise<void>;
}

/**
 * Pushes tasks from threads of their own, kept by Piscina. Each thread has one task of Piscina's for as long as it lives:
 * attempts and their outcomes go through a channel beside it, many in one message. A thread that ends is replaced; its
 * attempts end as `aborted`, and whether their workers have seen them is not known.
 */
export class PiscinaDeliveries implements Deliveries, Service {
  readonly name = 'delivery threads';
  readonly capacity: number;
  readonly #parts: PiscinaDeliveriesParts;
  readonly #perThread: number;
  readonly #threads = new Set<Thread>();
  readonly #restarts = new Set<Timer>();
  #pool: Piscina<DeliveryTask, void> | null = null;
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
    for (const thread of this.#threads) if (thread.ready) ready++;
    return ready;
  }

  get free(): number {
    if (this.#pool === null) return 0;
    let room = 0;
    let running = 0;
    for (const thread of this.#threads) {
      running += thread.running.size;
      if (thread.ready) room += this.#perThread - thread.running.size;
    }
    return Math.min(room, this.capacity - running);
  }

  /**
   * Waits for the first thread; the others follow.
   *
   * @throws Error when the first one to start does not
   */
  async start(): Promise<void> {
    const { module, count, setup, logger } = this.#parts;
    this.#firstReady = Promise.withResolvers<void>();
    const pool = new Piscina<DeliveryTask, void>({
      filename: module.href,
      minThreads: count,
      maxThreads: count,
      concurrentTasksPerWorker: 1,
      maxQueue: count,
      // A thread that sleeps would not hear what its connections bring.
      atomics: 'disabled',
      recordTiming: false,
      workerData: { ...setup, capacity: this.#perThread },
    });
    this.#pool = pool;
    pool.on('error', (failure: unknown) =>
      logger.error('a delivery thread failed', { error: asError(failure).message }),
    );
    for (let i = 0; i < count; i++) this.#open(pool);
    try {
      await this.#firstReady.promise;
    } catch (failure) {
      await this.stop();
      throw failure;
    }
  }

  async stop(): Promise<void> {
    const pool = this.#pool;
    if (pool === null) return;
    this.#pool = null;
    this.#firstReady.reject(new Error('the delivery threads are stopped'));
    this.#firstReady.promise.catch(() => {});
    for (const timer of this.#restarts) timer.cancel();
    this.#restarts.clear();
    const waited = Promise.withResolvers<void>();
    const timer = this.#parts.clock.after(STOP_MS, waited.resolve);
    const ended = [...this.#threads].map(thread => {
      this.#send(thread);
      thread.port.postMessage({ kind: 'stop' } satisfies MessageToThread);
      return thread.ended;
    });
    await Promise.race([Promise.all(ended), waited.promise]);
    timer.cancel();
    await pool.destroy();
    // Those that did not stop in time have ended now.
    await Promise.all(ended);
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
        this.#send(thread);
        thread.port.postMessage({ kind: 'abort', tenant, taskId } satisfies MessageToThread);
        break;
      }
    }
  }

  #leastBusy(): Thread | null {
    let best: Thread | null = null;
    for (const thread of this.#threads) {
      if (!thread.ready || thread.running.size >= this.#perThread) continue;
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

  /** Gives the next free thread of the pool its work. */
  #open(pool: Piscina<DeliveryTask, void>): void {
    const { port1, port2 } = new MessageChannel();
    const given = pool.run({ port: port2 }, { transferList: [port2] });
    const thread: Thread = {
      port: port1,
      running: new Map(),
      waiting: [],
      ready: false,
      ended: Promise.resolve(),
    };
    this.#threads.add(thread);
    port1.on('message', (message: MessageFromThread) => this.#heard(thread, message));
    thread.ended = given.then(
      () => this.#ended(pool, thread, 'it came to its end'),
      (failure: unknown) => this.#ended(pool, thread, asError(failure).message),
    );
  }

  #heard(thread: Thread, message: MessageFromThread): void {
    if (message.kind === 'ready') {
      thread.ready = true;
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

  #ended(pool: Piscina<DeliveryTask, void>, thread: Thread, reason: string): void {
    const { lost, logger, clock, random } = this.#parts;
    this.#threads.delete(thread);
    thread.port.close();
    const stopping = this.#pool === null;
    const left = [...thread.running.values()];
    thread.running.clear();
    for (const { settle } of left) {
      settle({ ...notMade(''), error: deliveryError(stopping ? 'aborted' : 'thread_lost') });
    }
    if (stopping) return;
    lost.add(1);
    logger.error('a delivery thread ended', { reason, attempts: left.length, next: 'it is replaced' });
    if (thread.ready) {
      this.#open(pool);
      return;
    }
    this.#firstReady.reject(new Error(`a delivery thread does not start: ${reason}`));
    const timer = clock.after(backoffMs(RESTART, this.#failedStarts++, random), () => {
      this.#restarts.delete(timer);
      this.#open(pool);
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

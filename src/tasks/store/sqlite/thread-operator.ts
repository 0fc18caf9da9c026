import type { Worker } from 'node:worker_threads';
import { asError, Fault } from '../../../base/fault.ts';
import type { Logger } from '../../../base/logger.ts';
import { restored } from './created-tasks.ts';
import { type AnswerOf, type ArgumentsOf, type Operation, type OperationName, sizeOf } from './operations.ts';
import type { Operator } from './store.ts';
import type { FromStoreThread, ToStoreThread } from './store-thread.ts';

/** What may wait for the thread: operations, and characters in them. */
const MAX_WAITING = 8_192;
const MAX_WAITING_SIZE = 64 * 1024 * 1024;
/** How long after a thread could not open the file the next one tries, if somebody asks for something. */
const RETRY_MS = 1_000;

export interface ThreadOperatorParts {
  /** Starts a thread that runs `runStoreThread`. */
  readonly spawn: () => Worker;
  /** Milliseconds that only grow. */
  readonly monotonicMs: () => number;
  readonly logger: Logger;
}

interface Pending {
  readonly operation: Operation;
  readonly size: number;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (fault: Fault) => void;
}

/** A thread, from its start to its end. */
interface Thread {
  readonly worker: Worker;
  /** Resolves when the file is open; rejects with the fault when it is not. */
  readonly opened: Promise<void>;
  readonly ended: Promise<void>;
  isOpen: boolean;
}

/**
 * Has operations done by a thread that owns the file. What is asked in one turn goes in one message. A thread that is
 * lost is replaced: what it was asked fails, what it was not asked yet waits for the next one.
 */
export class ThreadOperator implements Operator {
  readonly #parts: ThreadOperatorParts;
  readonly #pending = new Map<number, Pending>();
  #pendingSize = 0;
  /** Not sent yet. */
  #numbers: number[] = [];
  #operations: Operation[] = [];
  #lastNumber = 0;
  #isFlushing = false;
  #thread: Thread | null = null;
  #state: 'stopped' | 'running' | 'stopping' = 'stopped';
  #retryAtMs = 0;
  #lastRefusal: Fault | null = null;
  #clockBacksteps = 0;

  constructor(parts: ThreadOperatorParts) {
    this.#parts = parts;
  }

  /** How often the clock of the host was set back, as the present thread has seen it. */
  get clockBacksteps(): number {
    return this.#clockBacksteps;
  }

  /** How many operations wait for their answer. */
  get waiting(): number {
    return this.#pending.size;
  }

  /** @throws Fault `store_failed` that says why the file cannot be opened */
  async start(): Promise<void> {
    this.#state = 'running';
    const thread = this.#startThread();
    try {
      await thread.opened;
    } catch (fault) {
      this.#state = 'stopped';
      await thread.ended;
      throw fault;
    }
  }

  async stop(): Promise<void> {
    const thread = this.#thread;
    if (this.#state === 'stopped') return thread?.ended;
    this.#state = 'stopping';
    if (thread !== null) {
      await thread.opened.catch(() => {});
      this.#flush();
      post(thread, { kind: 'stop' });
      await thread.ended;
    }
    this.#state = 'stopped';
    this.#failAll(new Fault('store_failed', 'the task store is stopped'));
  }

  ask<N extends OperationName>(name: N, args: ArgumentsOf<N>): Promise<AnswerOf<N>> {
    return new Promise((resolve, reject) => {
      const operation = { name, args } as Operation;
      const size = sizeOf(operation);
      const refusal = this.#refusal(size);
      if (refusal !== null) {
        reject(refusal);
        return;
      }
      const number = ++this.#lastNumber;
      this.#pending.set(number, { operation, size, resolve: resolve as (answer: unknown) => void, reject });
      this.#pendingSize += size;
      this.#numbers.push(number);
      this.#operations.push(operation);
      if (this.#thread === null) this.#startThread();
      this.#flushAfterThisTurn();
    });
  }

  #refusal(size: number): Fault | null {
    if (this.#state !== 'running') return new Fault('store_failed', 'the task store is stopped');
    // One that is large by itself is let in when nothing else waits.
    const isFull = this.#pending.size >= MAX_WAITING || this.#pendingSize + size > MAX_WAITING_SIZE;
    if (isFull && this.#pending.size > 0) {
      return new Fault(
        'overloaded',
        `the task store has ${this.#pending.size} operations waiting; try again later`,
      );
    }
    if (this.#thread === null && this.#parts.monotonicMs() < this.#retryAtMs) return this.#lastRefusal;
    return null;
  }

  /** Whatever else this turn of the event loop asks goes with it. */
  #flushAfterThisTurn(): void {
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    setImmediate(() => {
      this.#isFlushing = false;
      this.#flush();
    });
  }

  #flush(): void {
    const thread = this.#thread;
    if (thread === null || !thread.isOpen || this.#numbers.length === 0) return;
    const [numbers, operations] = [this.#numbers, this.#operations];
    this.#numbers = [];
    this.#operations = [];
    post(thread, { kind: 'operations', numbers, operations });
  }

  #startThread(): Thread {
    const { spawn } = this.#parts;
    const worker = spawn();
    const opened = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    const thread: Thread = { worker, opened: opened.promise, ended: ended.promise, isOpen: false };
    this.#thread = thread;
    // Who starts the store waits for it; a replacement tells by what becomes of the operations.
    opened.promise.catch(() => {});
    let cause = 'it ended';
    worker.on('message', (message: FromStoreThread) => {
      if (message.kind === 'settled') {
        this.#settled(message);
      } else if (message.kind === 'opened') {
        thread.isOpen = true;
        opened.resolve();
        this.#flush();
      } else {
        this.#refused(new Fault('store_failed', message.message));
        opened.reject(this.#lastRefusal);
      }
    });
    worker.on('error', failure => {
      cause = asError(failure).message;
    });
    worker.on('exit', () => {
      this.#ended(thread, cause);
      opened.reject(new Fault('store_failed', `the thread of the task store was lost: ${cause}`));
      ended.resolve();
    });
    return thread;
  }

  #settled({ numbers, outcomes, clockBacksteps }: Extract<FromStoreThread, { kind: 'settled' }>): void {
    this.#clockBacksteps = clockBacksteps;
    numbers.forEach((number, i) => {
      const outcome = outcomes[i];
      const pending = this.#take(number);
      if (pending === undefined) return;
      if (outcome.ok) pending.resolve(restored(pending.operation, outcome.answer));
      else pending.reject(new Fault('store_failed', outcome.message));
    });
  }

  #take(number: number): Pending | undefined {
    const pending = this.#pending.get(number);
    if (pending === undefined) return undefined;
    this.#pending.delete(number);
    this.#pendingSize -= pending.size;
    return pending;
  }

  /** The file could not be opened; the thread ends by itself. */
  #refused(fault: Fault): void {
    this.#lastRefusal = fault;
    this.#retryAtMs = this.#parts.monotonicMs() + RETRY_MS;
    this.#failAll(fault);
  }

  #ended(thread: Thread, cause: string): void {
    this.#thread = null;
    if (this.#state !== 'running' || this.#lostBeforeOpen(thread, cause)) return;
    this.#parts.logger.error('the thread of the task store was lost, another takes its place', {
      error: cause,
    });
    this.#failSent(
      new Fault('store_failed', 'the thread of the task store was lost; whether this happened is not known'),
    );
    this.#startThread();
  }

  /** Another would be lost in the same way: it is started when somebody asks for something, later. */
  #lostBeforeOpen({ isOpen }: Thread, cause: string): boolean {
    if (isOpen) return false;
    if (this.#pending.size > 0 || this.#lastRefusal === null) {
      this.#refused(new Fault('store_failed', `the thread of the task store could not start: ${cause}`));
    }
    return true;
  }

  #failSent(fault: Fault): void {
    const unsent = new Set(this.#numbers);
    for (const number of [...this.#pending.keys()])
      if (!unsent.has(number)) this.#take(number)?.reject(fault);
  }

  #failAll(fault: Fault): void {
    this.#numbers = [];
    this.#operations = [];
    for (const number of [...this.#pending.keys()]) this.#take(number)?.reject(fault);
  }
}

function post({ worker }: Thread, message: ToStoreThread): void {
  worker.postMessage(message);
}

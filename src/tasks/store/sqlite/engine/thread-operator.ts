import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { systemClock } from '../../../../base/clock.ts';
import { asError, Fault } from '../../../../base/fault.ts';
import { logOpenToOthers } from '../../../../base/files/owner-only.ts';
import type { Logger } from '../../../../base/logger.ts';
import { RunningThread, type RunningThreadParts } from '../../../../base/threads/lasting-thread.ts';
import { workerModule } from '../../../../base/threads/same-build.ts';
import {
  type AnswerOf,
  type ArgumentsOf,
  type OperationName,
  type Operator,
  storeOf,
} from '../../operations.ts';
import type { TaskStore } from '../../task-store.ts';
import { receivedFault, type SentFault, sentFault } from '../../trouble.ts';
import type { FileOptions } from '../file/open-file.ts';
import { AskedOperations, type FromStoreThread, type ToStoreThread } from './asked-operations.ts';
import type { StoreThreadSetup } from './store-thread.ts';

/** If a thread could not open the file, the next one is started by the first operation after this time. */
const RETRY_MS = 1_000;

/** How long a process waits for another process that holds the write lock of the same file. */
const BUSY_TIMEOUT_MS = 5_000;

/**
 * Rows and messages in the store thread are short-lived. With a young generation of a third of the default size, the
 * thread keeps less memory after large payloads and needs no more CPU time.
 */
const RESOURCES = { maxYoungGenerationSizeMb: 16 };

/** The file of a store; options that are left out have defaults. */
export type StoreFile = Pick<FileOptions, 'path'> & Partial<FileOptions>;

/** What is told of a store thread: that the file is open, its messages, and its end. */
type ThreadOwner = Pick<
  RunningThreadParts<ToStoreThread, FromStoreThread>,
  'ready' | 'heard' | 'ended' | 'exited'
>;

/** Another thread that sends operations to the store thread; see `PortOperator`. */
interface StoreClient {
  /** A store thread has opened the file, and this port leads to it. The previous port is no longer usable. */
  connect(port: MessagePort): void;
  /** The file cannot be opened. */
  refused(fault: SentFault): void;
}

/** A thread, from its start to its end. */
interface Thread {
  readonly running: RunningThread<ToStoreThread, FromStoreThread>;
  /** Resolves when the file is open; rejects with the fault when it is not. */
  readonly opened: Promise<void>;
  /** Why the thread cannot open the file; null until it has reported a reason. */
  refusal: Fault | null;
}

/**
 * Runs operations in a thread that owns the file. The operations of one turn of the event loop are sent in one message. A
 * lost thread is replaced: the operations that were sent to it fail, and those that were not sent wait for the next one.
 */
export class ThreadOperator implements Operator {
  readonly #spawn: (owner: ThreadOwner) => Thread['running'];
  readonly #monotonicMs: () => number;
  readonly #logger: Logger;
  readonly #asked: AskedOperations;
  readonly #clients = new Set<StoreClient>();
  #thread: Thread | null = null;
  #state: 'stopped' | 'running' | 'stopping' = 'stopped';
  #retryAtMs = 0;
  #lastRefusal: Fault | null = null;

  /**
   * @param spawn starts a thread that runs `runStoreThread`
   * @param monotonicMs milliseconds of a monotonic clock
   */
  constructor(spawn: (owner: ThreadOwner) => Thread['running'], monotonicMs: () => number, logger: Logger) {
    this.#spawn = spawn;
    this.#monotonicMs = monotonicMs;
    this.#logger = logger;
    this.#asked = new AskedOperations(message => {
      const thread = this.#thread;
      if (thread?.running.state !== 'ready') return false;
      thread.running.post(message);
      return true;
    });
  }

  /** Number of operations in progress. */
  get waiting(): number {
    return this.#asked.waiting;
  }

  /** @throws Fault `store_failed` that says why the file cannot be opened */
  async start(): Promise<void> {
    const thread = this.#startThread();
    this.#state = 'running';
    try {
      await thread.opened;
    } catch (fault) {
      this.#state = 'stopped';
      await thread.running.gone;
      throw fault;
    }
  }

  async stop(): Promise<void> {
    const thread = this.#thread;
    if (this.#state === 'stopped') return thread?.running.gone;
    this.#state = 'stopping';
    if (thread !== null) {
      await thread.opened.catch(() => {});
      this.#asked.flush();
      thread.running.post({ kind: 'stop' });
      await thread.running.gone;
    }
    this.#state = 'stopped';
    this.#asked.failAll(new Fault('store_failed', 'the task store is stopped'));
  }

  async ask<N extends OperationName>(name: N, args: ArgumentsOf<N>): Promise<AnswerOf<N>> {
    const refusal = this.#refusal();
    if (refusal !== null) throw refusal;
    const answer = this.#asked.ask(name, args);
    if (this.#thread === null && this.#asked.waiting > 0) this.#replaceThread();
    return answer;
  }

  /**
   * Connects another thread over a separate port, and over a new port each time the store thread is replaced. Returns a
   * function that disconnects it.
   */
  addClient(client: StoreClient): () => void {
    this.#clients.add(client);
    if (this.#thread?.running.state === 'ready') connect(this.#thread, client);
    return () => this.#clients.delete(client);
  }

  /**
   * Called if a client has operations but no port. Starts a store thread, unless it is too early for another attempt.
   */
  wanted(client: StoreClient): void {
    const refusal = this.#refusal();
    if (refusal !== null) client.refused(sentFault(refusal));
    else if (this.#thread === null) this.#replaceThread();
  }

  #refusal(): Fault | null {
    if (this.#state !== 'running') return new Fault('store_failed', 'the task store is stopped');
    if (this.#thread === null && this.#monotonicMs() < this.#retryAtMs) return this.#lastRefusal;
    return null;
  }

  #startThread(): Thread {
    const opened = Promise.withResolvers<void>();
    // Only `start` awaits this promise. Without a handler, a failed replacement would be an unhandled rejection.
    opened.promise.catch(() => {});
    let end: { readonly reason: string; readonly wasOpen: boolean };
    const running = this.#spawn({
      ready: () => {
        opened.resolve();
        this.#asked.flush();
        for (const client of this.#clients) connect(thread, client);
      },
      heard: (_, message) => {
        if (message.kind === 'settled') this.#asked.settled(message);
        else if (message.kind === 'opened') logOpenToOthers(this.#logger, message.openToOthers);
        else {
          thread.refusal = receivedFault(message.fault);
          this.#refused(thread.refusal);
          opened.reject(thread.refusal);
        }
      },
      ended: (_, wasOpen, { reason }) => {
        end = { reason, wasOpen };
      },
      // Not before the thread has released the file.
      exited: () => {
        this.#ended(thread, end.reason, end.wasOpen);
        opened.reject(new Fault('store_failed', `the store thread was lost: ${end.reason}`));
      },
    });
    const thread: Thread = { running, opened: opened.promise, refusal: null };
    this.#thread = thread;
    return thread;
  }

  /** The file could not be opened; the thread ends by itself. */
  #refused(fault: Fault): void {
    this.#lastRefusal = fault;
    this.#retryAtMs = this.#monotonicMs() + RETRY_MS;
    this.#asked.failAll(fault);
    for (const client of this.#clients) client.refused(sentFault(fault));
  }

  #ended({ refusal }: Thread, reason: string, wasOpen: boolean): void {
    this.#thread = null;
    if (this.#state !== 'running') return;
    if (!wasOpen) {
      // A new thread would fail in the same way, so it is only started by a later operation. Operations that arrived
      // after the error fail as well.
      this.#refused(refusal ?? new Fault('store_failed', `the store thread could not start: ${reason}`));
      return;
    }
    this.#logger.error('Store thread lost; starting another', { error: reason });
    this.#asked.failSent();
    this.#replaceThread();
  }

  #replaceThread(): void {
    try {
      this.#startThread();
    } catch (failure) {
      const reason = asError(failure).message;
      this.#logger.error('Store thread cannot be started', { reason });
      this.#refused(new Fault('store_failed', `the store thread could not start: ${reason}`));
    }
  }
}

function connect({ running }: Thread, client: StoreClient): void {
  const { port1, port2 } = new MessageChannel();
  running.post({ kind: 'client', port: port1 }, [port1]);
  client.connect(port2);
}

/** A store whose file belongs to a separate thread, so that only that thread waits for the disk. */
export function threadedSqliteStore(
  file: StoreFile,
  logger: Logger,
): { readonly store: TaskStore; readonly operator: ThreadOperator } {
  const operator = new ThreadOperator(
    owner => spawnStoreThread(file, logger, owner),
    () => performance.now(),
    logger,
  );
  return { store: storeOf('sqlite', operator), operator };
}

/**
 * Starts a store thread, which opens the file. It may work for longer than a thread that hangs is waited for, so it is not
 * checked.
 *
 * @throws Error if the operating system refuses to create another thread, or the files of Sluice were replaced
 */
export function spawnStoreThread(file: StoreFile, logger: Logger, owner: ThreadOwner): Thread['running'] {
  const setup: StoreThreadSetup = { file: withDefaults(file) };
  return new RunningThread(0, {
    ...owner,
    module: workerModule('task-store'),
    workerData: () => setup,
    resourceLimits: RESOURCES,
    isAwaited: () => false,
    clock: systemClock,
    logger,
  });
}

export function withDefaults(file: StoreFile): FileOptions {
  return { synchronous: 'full', busyTimeoutMs: BUSY_TIMEOUT_MS, isAlone: false, ...file };
}

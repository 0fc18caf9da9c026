import {
  MessageChannel,
  type MessagePort,
  type ResourceLimits,
  receiveMessageOnPort,
  type Transferable,
  type Worker,
} from 'node:worker_threads';
import { Piscina } from 'piscina';
import type { Clock, Timer } from '../clock.ts';
import { asError } from '../fault.ts';
import { LOG_LEVELS, type Logger } from '../logger.ts';
import { type LastingTask, PING, type Ping, type StopThread, type ThreadIsReady } from './inside-thread.ts';
import { requireSameBuild } from './same-build.ts';
import { logLine, type ThreadLog } from './thread-log.ts';

/** One thread, from its start to its end. */
export interface LastingThread<To> {
  /** Index of the thread, from 0. A replacement gets the index of the thread it replaces. */
  readonly place: number;
  /** The number that Node.js gave the thread. A replacement has another one. */
  readonly threadId: number;
  readonly state: 'starting' | 'ready' | 'over';
  post(message: To | StopThread, transfer?: readonly Transferable[]): void;
}

/** Messages that the owner of a thread receives. The others are handled here. */
export type HeardMessage<From> = Exclude<From, ThreadIsReady | ThreadLog>;

/** How a thread ended, for the log. */
export interface ThreadEnd {
  readonly reason: string;
  /** The error that ended the thread; null for another reason. */
  readonly error: Error | null;
  /** Since when the thread has not responded, in milliseconds since the epoch; null if it ended by itself. */
  readonly hungSinceMs: number | null;
}

export interface RunningThreadParts<To, From> {
  /** The module that the thread runs; its default export takes a {@link LastingTask}. */
  readonly module: URL;
  readonly workerData: () => unknown;
  readonly resourceLimits?: ResourceLimits;
  /** Whether anything waits for the thread. If so, the thread is checked, and ended when it does not respond. */
  readonly isAwaited: (thread: LastingThread<To>) => boolean;
  readonly clock: Clock;
  /** Writes the lines of the thread. */
  readonly logger: Logger;
  /** Called when the thread accepts messages. */
  readonly ready: (thread: RunningThread<To, From>) => void;
  readonly heard: (thread: LastingThread<To>, message: HeardMessage<From>) => void;
  /** Called once, when results of the thread are no longer accepted. */
  readonly ended: (thread: RunningThread<To, From>, wasReady: boolean, end: ThreadEnd) => void;
  /** Called once, after `ended`, when the thread executes nothing anymore. */
  readonly exited: (thread: LastingThread<To>) => void;
}

/**
 * A thread that runs one Piscina task for its whole lifetime and communicates over a separate channel, so that many
 * messages of one turn of the event loop can be sent as one.
 *
 * Each thread has a pool of its own. In a shared pool, a thread that fails before it is ready leaves its task in the
 * queue, and the failure is never reported.
 */
export class RunningThread<To, From> implements LastingThread<To> {
  readonly place: number;
  readonly threadId: number;
  /** Resolves when the thread has ended and its resources are released. */
  readonly gone: Promise<void>;
  readonly #parts: RunningThreadParts<To, From>;
  readonly #pool: Piscina<LastingTask, void>;
  readonly #port: MessagePort;
  readonly #watch: ThreadWatch;
  #state: LastingThread<To>['state'] = 'starting';

  /** @throws Error if the operating system refuses to create another thread, or the files of Sluice were replaced */
  constructor(place: number, parts: RunningThreadParts<To, From>) {
    requireSameBuild();
    const { port1, port2 } = new MessageChannel();
    this.place = place;
    this.#parts = parts;
    this.#port = port1;
    this.#pool = openPool(parts);
    this.#watch = new ThreadWatch(
      parts.clock,
      () => parts.isAwaited(this),
      () => port1.postMessage(PING),
      hungSinceMs => this.#end({ reason: 'its event loop is blocked', error: null, hungSinceMs }),
    );
    const running = startTask(this.#pool, port2, parts.logger);
    const worker = this.#pool.threads[0];
    this.threadId = worker.threadId;
    this.gone = this.#exitOf(worker);
    port1.on('message', (message: From | ThreadIsReady | ThreadLog | Ping) => this.#heard(message));
    const failed = (failure: unknown): void => this.end(asError(failure).message, asError(failure));
    this.#pool.on('error', failed);
    running.then(() => this.#finished(), failed);
  }

  get state(): LastingThread<To>['state'] {
    return this.#state;
  }

  post(message: To | StopThread, transfer: readonly Transferable[] = []): void {
    this.#port.postMessage(message, transfer);
    this.#watch.sent();
  }

  /** Terminates the thread. Does nothing if it has already ended. */
  end(reason: string, error: Error | null = null): void {
    this.#end({ reason, error, hungSinceMs: null });
  }

  #heard(message: From | ThreadIsReady | ThreadLog | Ping): void {
    const own = message as ThreadIsReady | ThreadLog | Ping;
    if (own.kind === 'ping') this.#watch.answered();
    else if (own.kind === 'log') logLine(this.#parts.logger, own);
    else if (own.kind === 'ready') {
      this.#state = 'ready';
      this.#parts.ready(this);
    } else this.#parts.heard(this, message as HeardMessage<From>);
  }

  /**
   * Piscina may report the end of the task before the last messages of the thread arrive, so they are received here.
   */
  #finished(): void {
    for (;;) {
      const left = this.#state === 'over' ? undefined : receiveMessageOnPort(this.#port);
      if (left === undefined) break;
      this.#heard(left.message);
    }
    this.end('its task returned');
  }

  #end(end: ThreadEnd): void {
    if (this.#state === 'over') return;
    const wasReady = this.#state === 'ready';
    this.#state = 'over';
    this.#watch.stop();
    this.#port.close();
    void this.#pool.destroy();
    this.#parts.ended(this, wasReady, end);
  }

  #exitOf(worker: Worker): Promise<void> {
    return new Promise(resolve => {
      worker.once('exit', code => {
        this.end(`it exited with code ${code}`);
        this.#parts.exited(this);
        resolve();
      });
    });
  }
}

function openPool({
  module,
  workerData,
  resourceLimits,
}: Pick<RunningThreadParts<never, never>, 'module' | 'workerData' | 'resourceLimits'>): Piscina<
  LastingTask,
  void
> {
  return new Piscina<LastingTask, void>({
    filename: module.href,
    // The thread starts together with its task, and Piscina does not replace it.
    minThreads: 0,
    maxThreads: 1,
    idleTimeout: Number.POSITIVE_INFINITY,
    // A thread in `Atomics.wait` would not receive messages from its connections.
    atomics: 'disabled',
    recordTiming: false,
    workerData: workerData(),
    ...(resourceLimits !== undefined && { resourceLimits }),
  });
}

function startTask(pool: Piscina<LastingTask, void>, port: MessagePort, logger: Logger): Promise<void> {
  const logLevels = LOG_LEVELS.filter(level => logger.enabled(level));
  try {
    return pool.run({ port, logLevels }, { transferList: [port] });
  } catch (failure) {
    port.close();
    throw failure;
  }
}

/** How often a thread that is waited for is checked. */
const CHECK_MS = 1_000;

/**
 * Number of checks in a row without an answer after which a thread counts as hung. Checks are counted instead of time:
 * when the whole process was stopped or the machine suspended, only one check falls into that time, and the thread can
 * answer before the next one. Garbage collections take less than this.
 */
const SILENT_CHECKS = 10;

/**
 * Detects that the event loop of a thread is blocked, by an endless loop or a blocking call. A thread
 * that nothing waits for is not checked, so that an idle process does not wake up.
 */
export class ThreadWatch {
  readonly #clock: Clock;
  readonly #isAwaited: () => boolean;
  readonly #ping: () => void;
  readonly #hung: (sinceMs: number) => void;
  #timer: Timer | null = null;
  #pingedMs: number | null = null;
  #silentChecks = 0;

  /**
   * @param isAwaited whether anything waits for the thread
   * @param ping sends a message that the thread answers in its next turn of the event loop
   * @param hung called once: the thread has not answered a ping since then (milliseconds since the epoch)
   */
  constructor(clock: Clock, isAwaited: () => boolean, ping: () => void, hung: (sinceMs: number) => void) {
    this.#clock = clock;
    this.#isAwaited = isAwaited;
    this.#ping = ping;
    this.#hung = hung;
  }

  /** Call with each message to the thread. */
  sent(): void {
    if (this.#timer === null) this.#checkLater();
  }

  /** Call when the thread has answered the ping. */
  answered(): void {
    this.#pingedMs = null;
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #checkLater(): void {
    this.#timer = this.#clock.after(CHECK_MS, () => this.#check());
  }

  #check(): void {
    this.#timer = null;
    if (this.#pingedMs === null) {
      if (!this.#isAwaited()) return;
      this.#pingedMs = this.#clock.nowMs();
      this.#silentChecks = 0;
      this.#ping();
    } else if (++this.#silentChecks >= SILENT_CHECKS) {
      this.#hung(this.#pingedMs);
      return;
    }
    this.#checkLater();
  }
}

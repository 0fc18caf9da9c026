import type { MessagePort } from 'node:worker_threads';
import type { LogFields, LogLevel } from '../../base/logger.ts';
import type { StopThread, ThreadIsReady } from '../../base/threads/inside-thread.ts';
import type { TestMessage } from '../../tasks/rest/threads/messages.ts';
import type { LimitAnswerMessage, LimitAskMessage } from '../../tasks/scheduler/attempts/start-limits.ts';
import type { NotReady, TroubledPart } from '../../tasks/scheduler/health/troubles.ts';
import type { WorkerTest } from '../../tasks/scheduler/workers/worker-tests.ts';
import type { SentFault } from '../../tasks/store/trouble.ts';
import type { StatsChange } from '../statistics/thread-stats.ts';

/** Messages to the thread with the task engine. */
export type ToEngineThread =
  /** Start the engine. Sent once, after the ports that the engine needs. */
  | { readonly kind: 'begin' }
  /** A port to the thread that owns the file (see `PortOperator`), or the reason why there is no port. */
  | { readonly kind: 'store'; readonly port: MessagePort }
  | { readonly kind: 'store_refused'; readonly fault: SentFault }
  /** A port to another thread, for the signals of both (see `SignalPorts`). */
  | { readonly kind: 'signals'; readonly port: MessagePort }
  /** Test a worker; the answer has the same number. */
  | { readonly kind: 'test'; readonly ask: number; readonly test: WorkerTest }
  | LimitAnswerMessage
  /** The service shuts down: stop claiming tasks, wait for pushes in progress, release the rest. */
  | { readonly kind: 'drain' }
  | StopThread;

/** Messages of the thread with the task engine. */
export type FromEngineThread =
  | ThreadIsReady
  | {
      readonly kind: 'log';
      readonly level: LogLevel;
      readonly message: string;
      readonly fields: LogFields | undefined;
    }
  /** The changes of its statistics since the last message. */
  | { readonly kind: 'stats'; readonly stats: StatsChange }
  /** The reason why a part of the engine does not work; null when it works again. */
  | { readonly kind: 'not_ready'; readonly part: TroubledPart; readonly notReady: NotReady | null }
  /** There are store operations, but no port to the store. */
  | { readonly kind: 'store_wanted' }
  | { readonly kind: 'tested'; readonly ask: number; readonly answer: TestMessage }
  | LimitAskMessage
  /** The engine runs. */
  | { readonly kind: 'begun' }
  /** The engine could not be started; the thread ends. */
  | { readonly kind: 'not_begun'; readonly reason: string }
  /** The drain is over. */
  | { readonly kind: 'drained' };

import type { StopThread, ThreadIsReady } from '../../base/threads/inside-thread.ts';
import type { ThreadAnswer } from '../../base/threads/questions.ts';
import type { ThreadLog } from '../../base/threads/thread-log.ts';
import type { ThreadStats } from '../../stats/thread-stats.ts';
import type { LinkMessage, LinkRequest } from '../../tasks/rest/threads/thread-links.ts';
import type { NotReady, TroubledPart } from '../../tasks/scheduler/health/troubles.ts';
import type { WorkerTest, WorkerTestAnswer } from '../../tasks/scheduler/workers/worker-tests.ts';

/** Messages to the thread with the task engine. */
export type ToEngineThread =
  /** Start the engine. Sent once, after the ports that the engine needs. */
  | { readonly kind: 'begin' }
  | LinkMessage
  /** Test a worker; the answer has the same number. */
  | { readonly kind: 'test'; readonly ask: number; readonly test: WorkerTest }
  /** The service shuts down: stop claiming tasks, wait for pushes in progress, release the rest. */
  | { readonly kind: 'drain' }
  | StopThread;

/** Messages of the thread with the task engine. */
export type FromEngineThread =
  | ThreadIsReady
  | ThreadLog
  | ThreadStats
  /** The reason why a part of the engine does not work; null when it works again. */
  | { readonly kind: 'not_ready'; readonly part: TroubledPart; readonly notReady: NotReady | null }
  | { readonly kind: 'tested'; readonly ask: number; readonly answer: ThreadAnswer<WorkerTestAnswer> }
  | LinkRequest
  /** The engine runs. */
  | { readonly kind: 'begun' }
  /** The engine could not be started; the thread ends. */
  | { readonly kind: 'not_begun'; readonly reason: string }
  /** The drain is over. */
  | { readonly kind: 'drained' };

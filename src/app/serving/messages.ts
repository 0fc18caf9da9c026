import type { MessagePort } from 'node:worker_threads';
import type { HealthComponents } from '../../base/health.ts';
import type { StopThread, ThreadIsReady } from '../../base/threads/inside-thread.ts';
import type { ThreadAnswer } from '../../base/threads/questions.ts';
import type { ThreadLog } from '../../base/threads/thread-log.ts';
import type { RulesFeed } from '../../decision/generations/rules-publisher.ts';
import type { ThreadMessage } from '../../decision/pool/thread-messages.ts';
import type { DeskQuestion, DeskView } from '../../quota/desk-view.ts';
import type { TlsMaterial } from '../../transports/grpc/tls/tls-material.ts';
import type { DecidingSetup } from '../decision/deciding.ts';
import type { TasksConnection } from '../tasks/tasks-connection.ts';
import type { BoundSeats } from './serving-bounds.ts';

/** The `workerData` of a serving thread. */
export interface ServingThreadSetup extends DecidingSetup {
  /** Number of serving threads. */
  readonly threads: number;
  /** Memory of `ThreadFigures`. */
  readonly figures: SharedArrayBuffer;
}

/** The first message to a serving thread: what belongs to this thread alone. */
export interface BeginServing {
  readonly kind: 'begin';
  /** Index of the thread. A replacement has the index of the thread that it replaces. */
  readonly place: number;
  readonly rules: RulesFeed;
  readonly bounds: BoundSeats;
  /** Links the store of the thread to that of the primary thread; null if it needs no link. */
  readonly storeLink: MessagePort | null;
  /** False if other threads serve already: a store that is unavailable is no reason not to. */
  readonly waitsForStore: boolean;
  /** Null if the thread does not serve HTTP, or if the task service is disabled. */
  readonly tasks: TasksConnection | null;
}

/** The ports of the serving threads. With 0, the system chooses a free port. */
export interface ServingPorts {
  readonly grpc: number;
  /** Null if the primary thread serves HTTP. */
  readonly http: number | null;
}

/** Messages to a serving thread. */
export type ToServingThread =
  | BeginServing
  | { readonly kind: 'tls'; readonly material: TlsMaterial }
  | { readonly kind: 'health'; readonly components: HealthComponents }
  /** Open these ports. Sent once, after TLS files and health. */
  | { readonly kind: 'listen'; readonly ports: ServingPorts }
  /** Report everything that was counted until now, and answer. */
  | { readonly kind: 'report'; readonly number: number }
  /** Look at the quotas of the thread, and answer what there is. */
  | { readonly kind: 'quotas'; readonly number: number; readonly question: DeskQuestion }
  /** Accept no more gRPC connections, and answer, which shows that everything before this message has arrived. */
  | { readonly kind: 'close_grpc_port'; readonly number: number }
  /** Ask this number of gRPC connections to reconnect. */
  | { readonly kind: 'spread'; readonly connections: number }
  /** Ask a connection with at most this share of the work of the thread, 0 to 1, to reconnect. */
  | { readonly kind: 'move'; readonly mostShare: number }
  /** Accept no more connections, let calls in progress finish, close the rest, and answer. */
  | { readonly kind: 'drain'; readonly number: number }
  | StopThread;

/** Messages from a serving thread. */
export type FromServingThread =
  /** The first message of the thread. */
  | { readonly kind: 'hello' }
  /** The thread accepts messages. */
  | ThreadIsReady
  | { readonly kind: 'listening'; readonly ports: ServingPorts }
  /** The message names the address and the setting to change. */
  | { readonly kind: 'not_listening'; readonly message: string }
  /** This number of connections were asked to reconnect. */
  | { readonly kind: 'moved'; readonly connections: number }
  /** Follows everything that the message with this number asked for. */
  | { readonly kind: 'answered'; readonly number: number }
  /** Answers the look with this number. */
  | { readonly kind: 'quotas'; readonly number: number; readonly answer: ThreadAnswer<DeskView> }
  | ThreadLog
  | ThreadMessage;

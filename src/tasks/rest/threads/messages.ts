import type { MessagePort } from 'node:worker_threads';
import type { StopThread, ThreadIsReady } from '../../../base/lasting-threads.ts';
import type { LogFields, LogLevel } from '../../../base/logger.ts';
import type { Signal, SignalName } from '../../model/signals.ts';
import type { RestHead } from '../http.ts';
import type { ApiCall, ApiLimitVerdict } from '../parts.ts';

/** Signals that matter in REST threads: to the pull desk and to the directory. */
export const SIGNALS_TO_REST_THREADS = [
  'taskDue',
  'roomFor',
  'workerChanged',
  'accountChanged',
  'documentsChanged',
] as const satisfies readonly SignalName[];

/** What REST threads tell: all there is. */
export const SIGNALS_FROM_REST_THREADS = [
  ...SIGNALS_TO_REST_THREADS,
  'cancelRequested',
  'scheduleDue',
] as const satisfies readonly SignalName[];

/** A call that begins. Calls are numbered by the thread that has the connections. */
export interface CallMessage {
  readonly number: number;
  readonly head: RestHead;
  /** In the pieces in which it came; null for one that is taken in when the caller is known. */
  readonly body: readonly Uint8Array[] | null;
}

export interface AnswerMessage {
  readonly number: number;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** What a REST thread is sent in one turn of the event loop. Done in this order: signals make outdated what calls would find. */
export interface TurnToRestThread {
  readonly kind: 'turn';
  readonly signals: readonly Signal[];
  /** Null where the decision engine had no answer. */
  readonly verdicts: readonly (readonly [ask: number, verdict: ApiLimitVerdict | null, reason: string])[];
  readonly calls: readonly CallMessage[];
  readonly bodies: readonly (readonly [call: number, body: readonly Uint8Array[]])[];
  /** Calls whose callers have gone. */
  readonly gone: readonly number[];
}

/** What a REST thread sends in one turn. Done in this order: whoever has an answer may ask for what it has changed. */
export interface TurnFromRestThread {
  readonly kind: 'turn';
  readonly signals: readonly Signal[];
  readonly asks: readonly (readonly [ask: number, call: ApiCall])[];
  /** Calls whose body may be taken in. */
  readonly admitted: readonly number[];
  /** Calls that wait for something to happen, and are to learn when their caller goes. */
  readonly waiting: readonly number[];
  readonly answers: readonly AnswerMessage[];
}

export type ToRestThread =
  | TurnToRestThread
  /** The port that callers reach. */
  | { readonly kind: 'listening'; readonly port: number }
  /** A way to the thread with the file, see `PortOperator`; or why there is none. */
  | { readonly kind: 'store'; readonly port: MessagePort }
  | { readonly kind: 'store_refused'; readonly reason: string }
  /** Nobody gets a lease any more; calls that wait for one are answered. */
  | { readonly kind: 'drain' }
  | StopThread;

/** What a thread tells beside its answers. */
export interface RestThreadLog {
  readonly kind: 'log';
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: LogFields | undefined;
}

export type FromRestThread<Stats = unknown> =
  | TurnFromRestThread
  | ThreadIsReady
  | RestThreadLog
  /** What its statistics have grown by. */
  | { readonly kind: 'stats'; readonly stats: Stats }
  /** It has something to ask of the store, and no way to it. */
  | { readonly kind: 'store_wanted' };

import type { LogFields, LogLevel } from '../../base/logger.ts';
import type { OutageTexts } from '../../base/outage-log.ts';
import type { StopThread, ThreadIsReady } from '../../base/threads/lasting-task.ts';
import type { DecideResult, DecideTask } from './task.ts';

/** Batches are numbered by the primary thread. */
export type ToDecisionThread =
  | { readonly kind: 'decide'; readonly number: number; readonly task: DecideTask }
  | StopThread;

export type FromDecisionThread =
  /** The store of the thread has answered, and the thread accepts batches. */
  | ThreadIsReady
  | { readonly kind: 'decided'; readonly number: number; readonly result: DecideResult }
  /** Hits of the batch may or may not be counted. */
  | { readonly kind: 'failed'; readonly number: number; readonly error: Error }
  | ThreadMessage;

/** What a thread of the pool tells beside its answers. */
export type ThreadMessage = ThreadLog | ThreadStats | ThreadOutage | ThreadConnections;

interface FromThread {
  readonly threadId: number;
}

/** A line for the log. */
interface ThreadLog extends FromThread {
  readonly kind: 'log';
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: LogFields | undefined;
}

/** What its counters have grown by, and what its gauges are. */
export interface ThreadStats extends FromThread {
  readonly kind: 'stats';
  readonly counters: readonly (readonly [name: string, growth: number])[];
  readonly gauges: readonly (readonly [name: string, value: number])[];
}

/** Its store, or one instance of it, cannot be used, or can be used again. */
export interface ThreadOutage extends FromThread {
  readonly kind: 'outage';
  readonly texts: OutageTexts;
  readonly change:
    | { readonly reason: string; readonly atStart: boolean }
    | { readonly reason: null; readonly failedCalls: number };
}

/** Whether its store has connections. */
interface ThreadConnections extends FromThread {
  readonly kind: 'connections';
  readonly connected: boolean;
}

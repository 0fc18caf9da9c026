import type { LogFields, LogLevel } from '../../base/logger.ts';
import type { OutageTexts } from '../../base/outage-log.ts';

/** What a thread of the pool tells beside its answers. */
export type ThreadMessage =
  | ThreadReady
  | ThreadLog
  | ThreadStats
  | ThreadOutage
  | ThreadConnections
  | ThreadStopped;

interface FromThread {
  readonly threadId: number;
}

/** Its store has answered, and it takes batches. */
export interface ThreadReady extends FromThread {
  readonly kind: 'ready';
}

/** A line for the log. */
export interface ThreadLog extends FromThread {
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
export interface ThreadConnections extends FromThread {
  readonly kind: 'connections';
  readonly connected: boolean;
}

/** Its store is closed; nothing of it is left but the thread. */
export interface ThreadStopped extends FromThread {
  readonly kind: 'stopped';
}

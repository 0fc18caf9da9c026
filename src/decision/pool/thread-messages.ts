import type { LogFields, LogLevel } from '../../base/logger.ts';
import type { OutageTexts } from '../../base/outage-log.ts';
import type { StopThread, ThreadIsReady } from '../../base/threads/inside-thread.ts';

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

/** A batch on its way to a thread of the pool. Both pieces of memory are handed over, not copied. */
export interface DecideTask {
  /** `Records` of requests (see `REQUEST_KIND`). */
  readonly requests: ArrayBuffer;
  readonly requestBytes: number;
  readonly requestCount: number;
  /** Memory for the answers. */
  readonly answers: ArrayBuffer;
  /** The time that the batch is decided at, on the clock of whoever hands it over. */
  readonly nowMs: number;
  /** Number of the generation of rules, and its memory: a thread keeps those that it has seen last. */
  readonly generation: number;
  readonly rules: SharedArrayBuffer;
  readonly statistics: SharedArrayBuffer;
}

/** The decided batch. The memory of the requests comes back, to be used again. */
export interface DecideResult {
  readonly requests: ArrayBuffer;
  /** `Records` of answers (see `ANSWER_KIND`), one for each request and in their order. */
  readonly answers: ArrayBuffer;
  readonly answerBytes: number;
  /** What the engine counted meanwhile, in the order of {@link ENGINE_COUNTERS}. */
  readonly counted: readonly number[];
  /** Statistics of names that were made from requests; null for none. */
  readonly named: readonly NamedDelta[] | null;
  /** How the local cache of the thread has changed; null when it has none. */
  readonly overLimit: OverLimitDelta | null;
}

/** What is to be added to a name, which is not yet sanitised: totals as in `shared-totals.ts`. */
export type NamedDelta = readonly [name: string, totals: Int32Array];

/** What was added to the figures of the local cache of one thread, and how many entries it has. */
export interface OverLimitDelta {
  readonly threadId: number;
  readonly size: number;
  readonly hits: number;
  readonly misses: number;
  readonly evicted: number;
  readonly expired: number;
  readonly overwritten: number;
}

/** The counters of an engine, as they are handed over. */
export const ENGINE_COUNTERS = ['storeError', 'serviceError', 'cancelled', 'globalShadowMode'] as const;

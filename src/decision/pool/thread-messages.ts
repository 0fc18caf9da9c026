import type { OutageTexts } from '../../base/outage-log.ts';
import type { StopThread, ThreadIsReady } from '../../base/threads/inside-thread.ts';
import type { ThreadLog } from '../../base/threads/thread-log.ts';
import type { TimedCall } from '../../counters/timed-call.ts';
import type { Recorded } from '../../stats/histogram.ts';

/** Messages to a decision thread. The primary thread numbers the batches. */
export type ToDecisionThread =
  | { readonly kind: 'decide'; readonly number: number; readonly task: DecideTask }
  | StopThread;

/** Messages from a decision thread. */
export type FromDecisionThread =
  /** The store of the thread has responded, and the thread accepts batches. */
  | ThreadIsReady
  | { readonly kind: 'decided'; readonly number: number; readonly result: DecideResult }
  /** Hits of the batch may or may not be counted. */
  | { readonly kind: 'failed'; readonly number: number; readonly error: Error }
  | ThreadMessage;

/** Messages of a pool thread other than its answers. */
export type ThreadMessage = ThreadLog | ThreadDecisions | ThreadStats | ThreadOutage | ThreadConnections;

interface FromThread {
  readonly threadId: number;
}

/** Lines for the decision log, each with its line feed. */
interface ThreadDecisions extends FromThread {
  readonly kind: 'decisions';
  readonly lines: string;
}

/** The increments of its counters, the values of its gauges, and what its timers have recorded. */
export interface ThreadStats extends FromThread {
  readonly kind: 'stats';
  readonly counters: readonly (readonly [name: string, growth: number])[];
  readonly gauges: readonly (readonly [name: string, value: number])[];
  readonly timers: readonly (readonly [name: string, growth: Recorded])[];
}

/** An outage of its store, or of an instance of the store, began, has another reason, or is over. */
export interface ThreadOutage extends FromThread {
  readonly kind: 'outage';
  readonly texts: OutageTexts;
  readonly change:
    | { readonly kind: 'began'; readonly reason: string; readonly atStart: boolean }
    | { readonly kind: 'changed'; readonly reason: string }
    | { readonly kind: 'over'; readonly failedCalls: number };
}

/** Whether its store has connections. */
interface ThreadConnections extends FromThread {
  readonly kind: 'connections';
  readonly connected: boolean;
}

/** A batch for a pool thread. Both buffers are transferred, not copied. */
export interface DecideTask {
  /** `Records` of requests (see `REQUEST_KIND`). */
  readonly requests: ArrayBuffer;
  readonly requestBytes: number;
  readonly requestCount: number;
  /** Memory for the answers. */
  readonly answers: ArrayBuffer;
  /** The time of the decision, from the clock of the primary thread. */
  readonly nowMs: number;
  /** Number of the generation of rules, and its shared memory. A thread keeps the most recent generations. */
  readonly generation: number;
  readonly rules: SharedArrayBuffer;
  readonly statistics: SharedArrayBuffer;
}

/** A decided batch. The buffer of the requests is returned for reuse. */
export interface DecideResult {
  readonly requests: ArrayBuffer;
  /** `Records` of answers (see `ANSWER_KIND`), one for each request, in order. */
  readonly answers: ArrayBuffer;
  readonly answerBytes: number;
  /** The increments of the counters of the engine, in the order of {@link ENGINE_COUNTERS}. */
  readonly counted: readonly number[];
  /** Statistics with names made from request values; null for none. */
  readonly named: readonly NamedDelta[] | null;
  /** The changes of the local cache of the thread; null if there are none. */
  readonly overLimit: OverLimitDelta | null;
  /** The call of the store; null if there was none, or if tracing is disabled. */
  readonly timedCall: TimedCall | null;
}

/** The totals (see `shared-totals.ts`) to add to an unsanitized name. */
export type NamedDelta = readonly [name: string, totals: Int32Array];

/** The increments of the figures of the local cache of a thread, and its number of entries. */
export interface OverLimitDelta {
  readonly threadId: number;
  readonly size: number;
  readonly hits: number;
  readonly misses: number;
  readonly evicted: number;
  readonly expired: number;
  readonly overwritten: number;
}

/** The counters of an engine, in the order of `DecideResult.counted`. */
export const ENGINE_COUNTERS = [
  'storeError',
  'serviceError',
  'cancelled',
  'globalShadowMode',
  'banned',
  'passed',
] as const;

import type { MessagePort } from 'node:worker_threads';
import type { OutageTexts } from '../../base/outage-log.ts';
import type { StopThread, ThreadIsReady } from '../../base/threads/inside-thread.ts';
import type { ThreadLog } from '../../base/threads/thread-log.ts';
import type { TimedCall } from '../../counters/timed-call.ts';
import type { ThreadStats } from '../../stats/thread-stats.ts';
import type { NamedReport } from '../statistics/rule-statistics.ts';

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
  | ThreadLog
  | ThreadMessage;

/** What every thread that decides tells the primary thread about itself. */
export type ThreadMessage =
  | ThreadStats
  /** Lines for the decision log, each with its line feed. */
  | { readonly kind: 'decisions'; readonly lines: string }
  /** Statistics with names made from request values. */
  | { readonly kind: 'named'; readonly named: NamedReport }
  /** It follows the rehearsals over the port; see `RehearsalPublisher`. */
  | { readonly kind: 'follows_rehearsal'; readonly port: MessagePort }
  /** The changes of its local cache. */
  | { readonly kind: 'over_limit'; readonly overLimit: OverLimitDelta }
  | ThreadOutage
  /** Whether its store has connections. */
  | { readonly kind: 'connections'; readonly connected: boolean };

/** An outage of its store, or of an instance of the store, began, has another reason, or is over. */
export interface ThreadOutage {
  readonly kind: 'outage';
  readonly texts: OutageTexts;
  readonly change:
    | { readonly kind: 'began'; readonly reason: string; readonly atStart: boolean }
    | { readonly kind: 'changed'; readonly reason: string }
    | { readonly kind: 'over'; readonly failedCalls: number };
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

import type { TimedCall } from '../counters/timed-call.ts';
import type { DecisionBatch } from './batch.ts';
import type { DecisionReply } from './decider.ts';
import type { RuleGeneration } from './statistics/rule-statistics.ts';

/**
 * Looks at decisions after they were made, for example to find hot keys or to log refusals. It runs on the thread that
 * decides, after the answers of the batch were passed on, so it adds to the time of the following batches.
 */
export interface BatchObserver {
  /**
   * Called once for each batch whose counts are known. The columns of `batch.decisions` and `batch.counters` are complete,
   * and requests with an entry in `batch.faults` have no decision. The batch is reused: keep no reference to it. Errors are
   * logged, and do not affect decisions.
   */
  observe(batch: DecisionBatch, generation: RuleGeneration): void;
}

/** Creates the spans of calls of the counter store. Exists only if tracing is enabled. */
export interface StoreSpans {
  /** The store was called for the batch with these requests, which are not answered yet. */
  called(replies: readonly DecisionReply[], call: TimedCall): void;
}

import type { CompiledRules } from '../rules/compiled-rules.ts';
import { sharedTotals } from './totals/shared-totals.ts';

/** Slots from one row of totals to the next: more than a row has, so that each lies in one cache line of its own. */
export const ROW_SLOTS = 8;

let generations = 0;

/** One loaded set of rules with the statistics counted under it: memory that all threads share. */
export class RuleGeneration {
  /** Tells generations of this process apart, so that a thread need not look at one that it knows. */
  readonly number: number;
  readonly rules: CompiledRules;
  /** A row of `RULE_STATS.length` totals for each limit, {@link ROW_SLOTS} apart; see `shared-totals.ts`. */
  readonly statistics: Int32Array<SharedArrayBuffer>;
  /**
   * Batches that still count here, those in other threads included. A generation that is replaced lives on until they
   * are done. Kept by the thread that hands out the batches; elsewhere it says nothing.
   */
  batches = 0;

  /** @param statistics those of another thread that counts under the same rules; without them new ones */
  constructor(rules: CompiledRules, statistics?: SharedArrayBuffer) {
    this.number = ++generations;
    this.rules = rules;
    this.statistics =
      statistics === undefined ? sharedTotals(rules.limitCount * ROW_SLOTS) : new Int32Array(statistics);
  }
}

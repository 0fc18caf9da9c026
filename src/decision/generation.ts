import type { CompiledRules } from '../rules/compiled-rules.ts';
import { RULE_STATS } from '../stats/names.ts';

/** One loaded set of rules with the statistics counted under it. */
export class RuleGeneration {
  readonly rules: CompiledRules;
  /** A row of `RULE_STATS.length` totals for each limit. */
  readonly statistics: Float64Array;
  /** Batches that still count here. A generation that is replaced lives on until they are done. */
  batches = 0;

  constructor(rules: CompiledRules) {
    this.rules = rules;
    this.statistics = new Float64Array(rules.limitCount * RULE_STATS.length);
  }
}

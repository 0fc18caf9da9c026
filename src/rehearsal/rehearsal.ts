import { CounterTable } from '../counters/embedded/counter-table.ts';
import { RefundMarks } from '../counters/refund-marks.ts';
import { RuleGeneration } from '../decision/statistics/rule-statistics.ts';
import { CompiledRules } from '../rules/compiled-rules.ts';
import { ChangedKeys } from './changed-keys.ts';
import { Comparison } from './comparison.ts';

/** Number of counters of a rehearsal. Memory is used only as counters are created: 64 bytes each at most. */
const MAX_COUNTERS = 1_048_576;

/** A rehearsal as another thread receives it. */
export interface SharedRehearsal {
  readonly number: number;
  /** The share of keys that are decided, above 0 to 1. */
  readonly share: number;
  readonly rules: SharedArrayBuffer;
  readonly statistics: SharedArrayBuffer;
  readonly counters: SharedArrayBuffer;
  readonly comparison: SharedArrayBuffer;
  readonly keys: SharedArrayBuffer;
  readonly marks: SharedArrayBuffer;
}

/**
 * Candidate rules that are decided beside the active ones, with counters of their own, and what that has shown so far. All
 * threads share the memory. It begins with empty counters.
 */
export class Rehearsal {
  readonly number: number;
  readonly share: number;
  readonly generation: RuleGeneration;
  readonly counters: CounterTable;
  readonly comparison: Comparison;
  readonly keys: ChangedKeys;
  /** Of refunded keys, for the local caches of all threads. */
  readonly marks: RefundMarks;

  private constructor(parts: Omit<Rehearsal, 'shared' | 'rules'>) {
    this.number = parts.number;
    this.share = parts.share;
    this.generation = parts.generation;
    this.counters = parts.counters;
    this.comparison = parts.comparison;
    this.keys = parts.keys;
    this.marks = parts.marks;
  }

  /** Begins a rehearsal. `number` differs from that of all earlier rehearsals of the process, and is not 0. */
  static begin(number: number, rules: CompiledRules, share: number): Rehearsal {
    return new Rehearsal({
      number,
      share,
      generation: new RuleGeneration(rules),
      counters: CounterTable.create(MAX_COUNTERS),
      comparison: Comparison.create(rules.limitCount),
      keys: ChangedKeys.create(),
      marks: new RefundMarks(),
    });
  }

  /** The rehearsal of another thread. */
  static attach({
    number,
    share,
    rules,
    statistics,
    counters,
    comparison,
    keys,
    marks,
  }: SharedRehearsal): Rehearsal {
    const compiled = new CompiledRules(rules);
    return new Rehearsal({
      number,
      share,
      generation: new RuleGeneration(compiled, { number, statistics }),
      counters: CounterTable.attach(counters),
      comparison: Comparison.attach(comparison, compiled.limitCount),
      keys: ChangedKeys.attach(keys),
      marks: new RefundMarks(marks),
    });
  }

  get rules(): CompiledRules {
    return this.generation.rules;
  }

  /** For other threads. */
  get shared(): SharedRehearsal {
    const { number, share, generation, counters, comparison, keys, marks } = this;
    return {
      number,
      share,
      rules: generation.rules.buffer,
      statistics: generation.statistics.buffer,
      counters: counters.buffer,
      comparison: comparison.buffer,
      keys: keys.buffer,
      marks: marks.buffer,
    };
  }
}

import { Fingerprinter, type FingerprintKey } from '../../counters/fingerprint.ts';
import type { CompiledRules } from '../../rules/compiled-rules.ts';
import { LIMIT } from '../../rules/layout.ts';

/** The identity of an override, which belongs to no rule. */
const OVERRIDE_ID = 0;

/**
 * Identifies the limits of rules by their path, so that a limit keeps its hot keys when rules are reloaded. An identity is
 * two words of a keyed hash, computed on first use.
 */
export class RuleIds {
  readonly #fingerprinter: Fingerprinter;
  /** By rules: two words for each limit; 0 and 0 if they are not computed yet. */
  readonly #ids = new WeakMap<CompiledRules, Int32Array>();
  #rules: CompiledRules | null = null;
  #words: Int32Array = new Int32Array(0);
  /** The words of the limit of the last call of {@link find}. */
  a = OVERRIDE_ID;
  b = OVERRIDE_ID;

  constructor(key: FingerprintKey) {
    this.#fingerprinter = new Fingerprinter(key);
  }

  /** Sets `a` and `b` to the identity of a limit; -1 is an override. */
  find(rules: CompiledRules, limit: number): void {
    if (limit < 0) {
      this.a = OVERRIDE_ID;
      this.b = OVERRIDE_ID;
      return;
    }
    if (rules !== this.#rules) this.#use(rules);
    const at = limit * 2;
    if (this.#words[at] === 0 && this.#words[at + 1] === 0) this.#compute(rules, limit);
    this.a = this.#words[at];
    this.b = this.#words[at + 1];
  }

  #use(rules: CompiledRules): void {
    let words = this.#ids.get(rules);
    if (words === undefined) {
      words = new Int32Array(rules.limitCount * 2);
      this.#ids.set(rules, words);
    }
    this.#rules = rules;
    this.#words = words;
  }

  #compute(rules: CompiledRules, limit: number): void {
    const start = rules.limit(limit, LIMIT.path);
    this.#fingerprinter.take(rules.pool, start, start + rules.limit(limit, LIMIT.pathLength));
    this.#words[limit * 2] = this.#fingerprinter.a;
    this.#words[limit * 2 + 1] = this.#fingerprinter.b;
  }
}

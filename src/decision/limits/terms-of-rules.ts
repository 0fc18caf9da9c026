import type { CompiledRules } from '../../rules/compiled-rules.ts';
import { LIMIT } from '../../rules/layout.ts';
import { GREATEST_LIMIT, UNIT_NUMBERS } from '../../rules/rule-set.ts';
import { CountingTerms } from './counting-terms.ts';
import { LimitWindow } from './limit-window.ts';

/** Maximum number of terms for limits that are not those of the rules. Operators change them at will. */
const MAX_OVERRIDDEN = 1_024;

/** A bucket with another rate has another burst by the same factor. */
function scaledBurst(burst: number, factor: number): number {
  return Math.min(Math.max(Math.ceil(burst * factor), 1), GREATEST_LIMIT);
}

/**
 * How the limits of compiled rules count that are not plain, by the number of the limit. Created on first use, because
 * most rules have plain limits.
 */
export class TermsOfRules {
  readonly #rules: CompiledRules;
  readonly #windows = new Map<string, LimitWindow>();
  readonly #shared = new Map<string, CountingTerms>();
  /** Those of {@link withRequests}. */
  readonly #overridden = new Map<string, CountingTerms>();
  /** By limit. */
  #terms: (CountingTerms | undefined)[] = [];

  constructor(rules: CompiledRules) {
    this.#rules = rules;
  }

  /** How a limit counts; null for a plain limit. If it has classes, the terms are those of the class `OTHERS`. */
  of(limit: number): CountingTerms | null {
    const number = this.#rules.limit(limit, LIMIT.terms) - 1;
    if (number < 0) return null;
    // Of the full length at once: an array that grows by assigning a large index would become a dictionary.
    if (this.#terms.length === 0) this.#terms = new Array<CountingTerms | undefined>(this.#rules.limitCount);
    let terms = this.#terms[limit];
    if (terms === undefined) {
      terms = this.#intern(limit, number);
      this.#terms[limit] = terms;
    }
    return terms;
  }

  /**
   * How a limit counts that has its terms and another number of requests. Classes keep their shares.
   *
   * @param limit -1 for a month of the calendar that a request brings
   */
  withRequests(limit: number, requests: number): CountingTerms {
    const isOfRule = limit >= 0;
    const number = (isOfRule ? this.#rules.limit(limit, LIMIT.terms) : this.#rules.calendarMonth) - 1;
    const window = this.#windowOf(
      number,
      isOfRule ? this.#rules.limit(limit, LIMIT.unit) : UNIT_NUMBERS.month,
    );
    const ofRule = isOfRule ? this.#rules.requestsPerUnit(limit) : requests;
    const name = `${number} ${window.lengthS} ${ofRule} ${requests}`;
    let terms = this.#overridden.get(name);
    if (terms === undefined) {
      if (this.#overridden.size >= MAX_OVERRIDDEN) this.#overridden.clear();
      const { algorithm, burst } = window.terms;
      const scaled = algorithm === 'token_bucket' ? scaledBurst(burst, requests / Math.max(ofRule, 1)) : 0;
      terms = new CountingTerms(window, requests, scaled);
      this.#overridden.set(name, terms);
    }
    return terms;
  }

  #intern(limit: number, number: number): CountingTerms {
    const requests = this.#rules.requestsPerUnit(limit);
    const window = this.#windowOf(number, this.#rules.limit(limit, LIMIT.unit));
    const name = `${number} ${window.lengthS} ${requests}`;
    let terms = this.#shared.get(name);
    if (terms === undefined) {
      terms = new CountingTerms(window, requests);
      this.#shared.set(name, terms);
    }
    return terms;
  }

  #windowOf(number: number, unit: number): LimitWindow {
    const name = `${number} ${unit}`;
    let window = this.#windows.get(name);
    if (window === undefined) {
      window = new LimitWindow(this.#rules.terms(number), unit);
      this.#windows.set(name, window);
    }
    return window;
  }
}

import type { CompiledRules } from '../../rules/compiled-rules.ts';
import { LIMIT } from '../../rules/layout.ts';
import { CountingTerms } from './counting-terms.ts';
import { LimitWindow } from './limit-window.ts';

/**
 * How the limits of compiled rules count that are not plain, by the number of the limit. Created on first use, because
 * most rules have plain limits.
 */
export class TermsOfRules {
  readonly #rules: CompiledRules;
  readonly #windows = new Map<string, LimitWindow>();
  readonly #shared = new Map<string, CountingTerms>();
  /** By limit. */
  #terms: (CountingTerms | undefined)[] = [];

  constructor(rules: CompiledRules) {
    this.#rules = rules;
  }

  /** How a limit counts; null for a plain limit. */
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

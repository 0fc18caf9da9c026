import type { CompiledRules } from '../rules/compiled-rules.ts';
import type { RequestMapping } from '../rules/request-mapping.ts';
import { DomainMapping } from './domain-mapping.ts';
import type { TokenParts } from './tokens/token-claims.ts';

/** The mappings of the current rules, each read from the compiled rules when it is needed first. */
export class Mappings {
  readonly #current: () => CompiledRules | null;
  readonly #tokens: TokenParts;
  #rules: CompiledRules | null = null;
  /** By domain: its mapping, or the JSON of it. */
  #ofDomains = new Map<string, DomainMapping | string>();

  /**
   * @param current the current rules; null before any were loaded
   * @param tokens for the domains that read claims
   */
  constructor(current: () => CompiledRules | null, tokens: TokenParts) {
    this.#current = current;
    this.#tokens = tokens;
  }

  /** The mapping of a domain; null if the domain has none, and `no_rules` before any rules were loaded. */
  of(domain: string): DomainMapping | 'no_rules' | null {
    const rules = this.#current();
    if (rules === null) return 'no_rules';
    if (rules !== this.#rules) {
      this.#rules = rules;
      this.#ofDomains = new Map(rules.allRequests());
    }
    const known = this.#ofDomains.get(domain);
    if (known === undefined) return null;
    if (typeof known !== 'string') return known;
    const mapping = new DomainMapping(domain, JSON.parse(known) as RequestMapping, this.#tokens);
    this.#ofDomains.set(domain, mapping);
    return mapping;
  }
}

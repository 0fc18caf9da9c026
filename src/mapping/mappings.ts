import type { CompiledRules } from '../rules/compiled-rules.ts';
import type { RequestMapping } from '../rules/request-mapping.ts';
import { DomainMapping } from './domain-mapping.ts';
import type { TokenClaims, TokenParts } from './tokens/token-claims.ts';

/** What is known of a domain that maps requests. */
interface MappedDomain {
  readonly json: string;
  /** Null until it is needed. */
  mapping: DomainMapping | null;
  /** Those of this mapping, or of the last one before it. */
  tokens: TokenClaims | null;
}

/**
 * The mappings of the current rules, each read from the compiled rules when it is needed first. What rules do not change
 * stays when they are replaced: tokens would otherwise be checked again, all at once, and keys be lost whose file is missing.
 */
export class Mappings {
  readonly #current: () => CompiledRules | null;
  readonly #tokens: TokenParts;
  #rules: CompiledRules | null = null;
  #ofDomains: ReadonlyMap<string, MappedDomain> = new Map();

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
    if (rules !== this.#rules) this.#replace(rules);
    const known = this.#ofDomains.get(domain);
    return known === undefined ? null : (known.mapping ?? this.#read(domain, known));
  }

  #replace(rules: CompiledRules): void {
    const before = this.#ofDomains;
    const now = new Map<string, MappedDomain>();
    for (const [domain, json] of rules.allRequests()) {
      const known = before.get(domain);
      const mapping = known?.json === json ? known.mapping : null;
      now.set(domain, { json, mapping, tokens: known?.tokens ?? null });
    }
    this.#rules = rules;
    this.#ofDomains = now;
  }

  #read(domain: string, known: MappedDomain): DomainMapping {
    const rules = JSON.parse(known.json) as RequestMapping;
    const mapping = new DomainMapping(domain, rules, this.#tokens, known.tokens);
    known.mapping = mapping;
    known.tokens = mapping.tokens;
    return mapping;
  }
}

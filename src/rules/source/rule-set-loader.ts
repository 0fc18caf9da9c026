import type { RuleFile } from '../rule-set.ts';

/**
 * What became of a set of rules.
 *
 * - `active`: the set decides requests
 * - `refused`: the set has faults
 * - `failed`: the set could not be compiled for a reason outside the set
 * - `dropped`: a newer set took its place, or the service is stopping
 */
export type LoadOutcome =
  | { readonly kind: 'active' }
  | { readonly kind: 'refused' | 'failed'; readonly reasons: readonly string[] }
  | { readonly kind: 'dropped' };

/** Receives the sets of rules that a source delivers. A set replaces the set before as a whole, or changes nothing. */
export interface RuleSetLoader {
  /** Loads a complete set of rules. The promise never rejects. */
  load(files: readonly RuleFile[]): Promise<LoadOutcome>;
  /** Reports that the source has a set that cannot be loaded at all. The active rules stay active. */
  refuse(reasons: readonly string[]): void;
}

import type { RuleFile } from '../rule-set.ts';

/**
 * What became of a set of rules; failed: it could not be tried, through no fault of its own; dropped: a later one took
 * its place, or nothing is loaded any more.
 */
export type LoadOutcome =
  | { readonly kind: 'in force' }
  | { readonly kind: 'refused' | 'failed'; readonly reasons: readonly string[] }
  | { readonly kind: 'dropped' };

/** Puts sets of rules into force for a source that has to answer for each. */
export interface RuleSetTaker {
  load(files: readonly RuleFile[]): Promise<LoadOutcome>;
  /** There was a set that cannot even be tried; the rules loaded before stay in force. */
  refuse(reasons: readonly string[]): void;
}

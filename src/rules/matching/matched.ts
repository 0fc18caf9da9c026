/** How an entry of a request was matched, in the order in which matches are tried (spec 2.3; docs/rules.md). */
export const MATCHED = {
  /** By the value of a rule. */
  exact: 0,
  /** By a value of a list. */
  list: 1,
  /** By a value, or one of a list, that ignores case. */
  folded: 2,
  network: 3,
  range: 4,
  pattern: 5,
  wildcard: 6,
  exclusion: 7,
  keyOnly: 8,
} as const;

/** Whether a match leaves the value open, and the rule says more than a key: by a wildcard or a condition. */
export function matchesSeveral(how: number): boolean {
  return how !== MATCHED.exact && how !== MATCHED.keyOnly;
}

import { quote } from '../../../base/printable.ts';
import type { ValueCondition } from '../../conditions/condition.ts';
import type { RuleEntry } from '../../rule-set.ts';
import type { EntryPlace } from '../fields/file-check.ts';

/** Maximum number of patterns of a key on a level: a value is read once by each of them. */
const MOST_PATTERNS = 32;

/**
 * Reports keys that have too many patterns on a level, those in `not` included.
 *
 * @param places by entry, of all that have a condition
 */
export function checkPatternCounts(
  entries: readonly RuleEntry[],
  places: ReadonlyMap<RuleEntry, EntryPlace>,
): void {
  const counts = new Map<string, number>();
  for (const entry of entries) {
    checkPatternCounts(entry.entries, places);
    if (entry.condition === undefined) continue;
    const before = counts.get(entry.key) ?? 0;
    const count = before + patternsOf(entry.condition);
    counts.set(entry.key, count);
    if (before > MOST_PATTERNS || count <= MOST_PATTERNS) continue;
    const { check, offset } = places.get(entry)!;
    check.fault(
      offset,
      `the key ${quote(entry.key)} has more than ${MOST_PATTERNS} patterns on this level, each of which reads every ` +
        'value: join some with `|`, or write `in`, `cidr` or a value with a `*`',
    );
  }
}

function patternsOf(condition: ValueCondition): number {
  if (condition.kind === 'not') return condition.conditions.filter(({ kind }) => kind === 'matches').length;
  return condition.kind === 'matches' ? 1 : 0;
}

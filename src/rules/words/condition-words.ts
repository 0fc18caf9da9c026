import { networkText } from '../conditions/addresses.ts';
import type { ValueCondition } from '../conditions/condition.ts';
import type { Grouping } from '../conditions/grouping.ts';
import type { RuleEntry, RuleSet } from '../rule-set.ts';

/** An entry with a condition or a grouping, explained. */
interface ExplainedCondition {
  /** The path of the entry, as in `/rlconfig` and statistics. */
  readonly rule: string;
  readonly meaning: string;
}

/** The entries of a set of rules that have a condition or a grouping, in definition order. */
export function* explainedConditions({ domains }: RuleSet): Iterable<ExplainedCondition> {
  for (const { name, entries } of domains) yield* conditionsOf(entries, name);
}

function* conditionsOf(entries: readonly RuleEntry[], above: string): Iterable<ExplainedCondition> {
  for (const entry of entries) {
    const rule = `${above}.${entry.composite}`;
    const { condition, groupBy } = entry;
    if (condition !== undefined || groupBy !== undefined) {
      const values = condition === undefined ? 'every value' : conditionInWords(condition);
      yield { rule, meaning: `matches ${values}; ${countedInWords(entry)}` };
    }
    yield* conditionsOf(entry.entries, rule);
  }
}

/** Number of items of a list that are named. */
const SHOWN_ITEMS = 5;

function conditionInWords(condition: ValueCondition): string {
  switch (condition.kind) {
    case 'not':
      return `every value but ${condition.conditions.map(conditionInWords).join(', and but ')}`;
    case 'in': {
      const { values, file, ignoreCase, isValue } = condition;
      const fold = ignoreCase ? ', in upper or lower case' : '';
      return isValue ? `${values[0]}${fold}` : `${listInWords(values, 'value', file)}${fold}`;
    }
    case 'cidr':
      return `addresses in ${listInWords(condition.networks.map(networkText), 'network', condition.file)}`;
    case 'range': {
      const { from, to } = condition;
      if (!Number.isFinite(to)) return `numbers from ${from}`;
      return Number.isFinite(from) ? `numbers from ${from} to ${to}` : `numbers up to ${to}`;
    }
    case 'matches':
      return `values in which ${condition.pattern} is found${condition.ignoreCase ? ', in upper or lower case' : ''}`;
  }
}

function listInWords(items: readonly string[], noun: string, file: string): string {
  const count = items.length === 1 ? `one ${noun}` : `${items.length} ${noun}s`;
  if (file !== '') return `${count} of ${file}`;
  const shown = items.slice(0, SHOWN_ITEMS).join(', ');
  return `${count} (${shown}${items.length > SHOWN_ITEMS ? ', …' : ''})`;
}

/** What counts together. */
function countedInWords({ groupBy, shareThreshold }: RuleEntry): string {
  if (shareThreshold) return 'all of them count together';
  return groupBy === undefined ? 'each value counts alone' : groupingInWords(groupBy);
}

function groupingInWords(grouping: Grouping): string {
  if (grouping.by === 'prefix')
    return `each network counts alone: the first ${grouping.ipv4Bits} bits of an IPv4 address, ${grouping.ipv6Bits} of an IPv6 address`;
  const segments =
    grouping.count === 1
      ? 'the first segment of a path counts'
      : `the first ${grouping.count} segments of a path count`;
  return `${segments} alone`;
}

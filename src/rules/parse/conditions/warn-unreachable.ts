import { quote } from '../../../base/printable.ts';
import { networkText } from '../../conditions/addresses.ts';
import { flattened, type Span } from '../../conditions/intervals.ts';
import { listValues, lowerCase, plainValues } from '../../conditions/list-values.ts';
import { networkSpans, ofKind, rangeSpans } from '../../conditions/spans.ts';
import { type Automaton, compilePattern } from '../../patterns/compile-pattern.ts';
import { covers } from '../../patterns/covers.ts';
import { PatternFault } from '../../patterns/pattern-fault.ts';
import { isWildcard, type RuleEntry } from '../../rule-set.ts';
import type { EntryPlace } from '../fields/file-check.ts';

/** Maximum number of patterns of a key on a level that are compared with each other. */
const MOST_COMPARED = 20;

/**
 * Warns about what conditions say and no request can be matched by, because other entries of the level come first: values,
 * networks, ranges and patterns.
 *
 * @param entries those of the top level of a domain, without faults
 * @param places by entry, of all that have a condition
 */
export function warnAboutUnreachable(
  entries: readonly RuleEntry[],
  places: ReadonlyMap<RuleEntry, EntryPlace>,
): void {
  warnBelow(entries, [], places);
}

function warnBelow(
  entries: readonly RuleEntry[],
  path: readonly RuleEntry[],
  places: ReadonlyMap<RuleEntry, EntryPlace>,
): void {
  for (const all of Map.groupBy(entries, entry => entry.key).values()) {
    const ofKey = all.filter(entry => entry.condition !== undefined);
    if (ofKey.length === 0) continue;
    const warn = (entry: RuleEntry, message: string): void => {
      const place = places.get(entry);
      if (place !== undefined) warnIn([...path, entry], place, message);
    };
    const others = all.filter(entry => entry.condition === undefined);
    warnAboutLists(ofKey, others, warn);
    warnAboutNetworks(ofKey, warn);
    warnAboutRanges(ofKey, warn);
    warnAboutPatterns(ofKey, others.filter(isWildcard), warn);
  }
  for (const entry of entries) warnBelow(entry.entries, [...path, entry], places);
}

type Warn = (entry: RuleEntry, message: string) => void;

function numbered(entries: readonly RuleEntry[]) {
  return entries.map(({ condition }, entry) => ({ condition: condition!, entry }));
}

function warnAboutLists(entries: readonly RuleEntry[], others: readonly RuleEntry[], warn: Warn): void {
  const lists = ofKind(numbered(entries), 'in');
  if (lists.length === 0) return;
  const { exact, folded } = listValues(plainValues(others), lists);
  const reached = lists.map(() => 0);
  const indexOf = new Map(lists.map(({ entry }, i) => [entry, i]));
  for (const { entry } of [...exact, ...folded]) reached[indexOf.get(entry)!]++;
  for (const [i, { condition, entry }] of lists.entries()) {
    // Spellings of one value are reported where the list is read.
    const spelled = condition.ignoreCase
      ? new Set(condition.values.map(lowerCase)).size
      : condition.values.length;
    const lost = spelled - reached[i];
    if (lost <= 0) continue;
    const which = reached[i] === 0 ? 'no value of the list' : `${lost} of ${spelled} values`;
    const what = reached[i] === 0 ? 'can be matched' : 'can never be matched';
    warn(
      entries[entry],
      `${which} ${what} here, because other entries of the level have them: remove them from one of the entries`,
    );
  }
}

function warnAboutNetworks(entries: readonly RuleEntry[], warn: Warn): void {
  const conditions = ofKind(numbered(entries), 'cidr');
  const networks = conditions.flatMap(({ condition, entry }) =>
    condition.networks.map(network => ({ entry, network, condition: { ...condition, networks: [network] } })),
  );
  for (const family of [4, 6] as const) {
    const spans = networks.flatMap(({ condition }, i) => networkSpans(condition, family, i));
    for (const i of unreached(spans)) {
      const { entry, network } = networks[i];
      warn(
        entries[entry],
        `the network ${networkText(network)} can never be matched here, because other networks of the level come first: remove it`,
      );
    }
  }
}

function warnAboutRanges(entries: readonly RuleEntry[], warn: Warn): void {
  const ranges = ofKind(numbered(entries), 'range');
  for (const entry of unreached(rangeSpans(ranges)))
    warn(
      entries[entry],
      'no number can be matched by this range, because other ranges of the level come first: remove it, or make it narrower',
    );
}

/** The entries of the spans that apply nowhere. */
function unreached(spans: readonly Span[]): number[] {
  const reached = new Set(flattened(spans).map(({ entry }) => entry));
  return spans.map(({ entry }) => entry).filter(entry => !reached.has(entry));
}

function warnAboutPatterns(entries: readonly RuleEntry[], wildcards: readonly RuleEntry[], warn: Warn): void {
  const patterns = ofKind(numbered(entries), 'matches').slice(0, MOST_COMPARED);
  const before: { readonly entry: RuleEntry; readonly automaton: Automaton }[] = [];
  const check = (entry: RuleEntry, automaton: Automaton): void => {
    const first = before.find(earlier => covers(earlier.automaton, automaton));
    if (first === undefined) return;
    warn(
      first.entry,
      `every value of ${quote(entry.composite)} is found by this pattern, which comes first, so that entry can never be matched: ` +
        'remove it, or make this pattern narrower',
    );
  };
  for (const { condition, entry } of patterns) {
    const automaton = compilePattern(condition.pattern, condition);
    check(entries[entry], automaton);
    before.push({ entry: entries[entry], automaton });
  }
  for (const entry of before.length === 0 ? [] : wildcards.slice(0, MOST_COMPARED)) {
    const automaton = wildcardAutomaton(entry.value);
    if (automaton !== null) check(entry, automaton);
  }
}

/** The pattern of a wildcard; null if the value has no `*`, or if it is too long for a pattern. */
function wildcardAutomaton(value: string): Automaton | null {
  const literals = value.split('*').map(text => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'));
  if (literals.length === 1) return null;
  try {
    return compilePattern(`^${literals.join('[\\s\\S]*')}$`);
  } catch (failure) {
    if (failure instanceof PatternFault) return null;
    throw failure;
  }
}

/** Warns as if the check were in the last entry of a path. */
function warnIn(path: readonly RuleEntry[], { check, offset }: EntryPlace, message: string): void {
  for (const { composite, overlaidBy } of path) check.enter(composite, overlaidBy);
  check.warn(offset, message);
  for (const _ of path) check.leave();
}

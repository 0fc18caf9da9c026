import { DOMAIN_BLOCKS } from '../../rule-set.ts';
import { fieldOf, flagIsSet, hasValue } from '../fields/fields.ts';
import { typedScalar, type YamlMap, type YamlPair } from '../yaml/yaml-node.ts';
import type { OverlayEntry } from './overlay-entries.ts';

/**
 * The fields of a limit that say how long its window is, or that it has none. Setting one of them replaces all of them.
 */
const WINDOW: ReadonlySet<string> = new Set(['unit', 'unit_multiplier', 'window', 'calendar', 'concurrency']);

/** The fields that an unlimited rule cannot have, beside those of {@link WINDOW}. */
const COUNTED: ReadonlySet<string> = new Set([
  'algorithm',
  'burst',
  'penalty',
  'classes',
  'after_limit',
  'scale',
  'reserve',
]);

/** The fields that a limit on concurrency keeps from the limit that an overlay has made it of. */
const OF_EVERY_LIMIT: ReadonlySet<string> = new Set(['name', 'replaces']);

/** The fields that an overlay changes one by one. */
const MERGED: ReadonlySet<string> = new Set(['rate_limit', ...DOMAIN_BLOCKS]);

/** Why overlay entries cannot be applied together. */
export interface OverlayConflict {
  /** `same`: two entries that are equally precise set the field. `list`: the rule has several limits. */
  readonly kind: 'same' | 'list';
  readonly field: string;
  readonly first: OverlayEntry | null;
  readonly second: OverlayEntry;
}

/**
 * The map of a rule, or of a domain, after overlay entries have changed it, one after the other; or why that is not
 * possible.
 *
 * @param map has every key once
 * @param entries in the order of {@link byPrecision}
 */
export function withOverlay(map: YamlMap, entries: readonly OverlayEntry[]): YamlMap | OverlayConflict {
  const setBy = new Map<string, OverlayEntry>();
  let changed = map;
  for (const entry of entries) {
    const conflict = conflictOf(setBy, entry);
    if (conflict !== null) return conflict;
    if (hasValue(changed, 'rate_limits') && entry.fields.some(({ key }) => key === 'rate_limit'))
      return { kind: 'list', field: 'rate_limit', first: null, second: entry };
    changed = changedBy(changed, entry);
  }
  if (refusesQuota(changed) && !isMeant(setBy.get('quota'), refusesQuota(map)))
    changed = without(changed, 'quota');
  if (hasOneValue(changed) && !isMeant(setBy.get('group_by'), true)) changed = without(changed, 'group_by');
  return setBy.has('holder') || hasLeases(changed) ? changed : without(changed, 'holder');
}

/** Whether proxies can get no part of the limits of an entry, because it is unlimited or because they have leases. */
function refusesQuota(entry: YamlMap): boolean {
  const limit = fieldOf(entry, 'rate_limit');
  return hasLeases(entry) || (limit?.kind === 'map' && flagIsSet(limit, 'unlimited'));
}

/** Whether an entry has nothing to group. */
function hasOneValue(entry: YamlMap): boolean {
  const value = textOf(entry, 'value');
  if (value === '' || flagIsSet(entry, 'ignore_case')) return false;
  return !value.includes('*') && !textOf(entry, 'key').includes('*');
}

/**
 * Whether a field that an entry of the rules refuses is a fault, and not one that the overlay has for other entries or for
 * the limit that was there before.
 *
 * @param by the overlay entry that sets the field; absent for that of the rules
 * @param wasRefused whether the entry refused it before the overlay
 */
function isMeant(by: OverlayEntry | undefined, wasRefused: boolean): boolean {
  if (by === undefined) return wasRefused;
  const { domain, path } = by.written;
  return !domain.includes('*') && !path.includes('*');
}

/** Whether a limit of an entry has leases. An overlay can have removed them, and not their holder. */
function hasLeases(entry: YamlMap): boolean {
  const list = fieldOf(entry, 'rate_limits');
  const limits = list?.kind === 'list' ? list.items : [fieldOf(entry, 'rate_limit')];
  return limits.some(
    limit => limit?.kind === 'map' && (hasValue(limit, 'reserve') || hasValue(limit, 'concurrency')),
  );
}

function without(map: YamlMap, name: string): YamlMap {
  return hasValue(map, name) ? { ...map, pairs: map.pairs.filter(({ key }) => key !== name) } : map;
}

/** Notes what an entry sets. Returns a conflict with an entry before it. */
function conflictOf(setBy: Map<string, OverlayEntry>, entry: OverlayEntry): OverlayConflict | null {
  for (const field of settings(entry)) {
    const first = setBy.get(field);
    if (first !== undefined && byPrecision(first, entry) === 0)
      return { kind: 'same', field, first, second: entry };
    setBy.set(field, entry);
  }
  return null;
}

/** What an entry sets: each field of its limit or of a block of its domain apart, and all that replaces the window as one. */
function settings({ fields }: OverlayEntry): string[] {
  const names = fields.flatMap(({ key, value }) => {
    if (!MERGED.has(key) || value.kind !== 'map') return [key];
    return value.pairs.map(({ key: inner }) =>
      WINDOW.has(inner) || inner === 'unlimited' ? 'window' : inner,
    );
  });
  return [...new Set(names)];
}

/** Orders entries from the least to the most precise. 0 if both are equally precise. */
export function byPrecision(a: OverlayEntry, b: OverlayEntry): number {
  const byPath = (a.path?.precision ?? 0) - (b.path?.precision ?? 0);
  return byPath === 0 ? a.domain.precision - b.domain.precision : byPath;
}

function changedBy(map: YamlMap, { fields, offset }: OverlayEntry): YamlMap {
  let { pairs } = map;
  for (const field of fields) {
    const { key, value } = field;
    const present = fieldOf(map, key);
    const isMerged = MERGED.has(key) && value.kind === 'map' && present?.kind === 'map';
    const pair = isMerged ? { ...field, value: mergedBlock(present, value.pairs) } : field;
    // A list of limits takes the place of a limit.
    pairs = [
      ...pairs.filter(old => old.key !== key && !(key === 'rate_limits' && old.key === 'rate_limit')),
      pair,
    ];
  }
  return { ...map, pairs, overlaidAt: offset };
}

/** A `rate_limit` or a block of a domain after fields were added or replaced. */
function mergedBlock(block: YamlMap, added: readonly YamlPair[]): YamlMap {
  const change: YamlMap = { ...block, pairs: added };
  const becomesUnlimited = flagIsSet(change, 'unlimited');
  const staysUnlimited = flagIsSet(block, 'unlimited') && !hasValue(change, 'unlimited') && !limits(change);
  const isLimited = !becomesUnlimited && !staysUnlimited;
  const hasWindow = added.some(({ key }) => WINDOW.has(key));
  const hasSlots = hasValue(change, 'concurrency');
  const names = new Set(added.map(({ key }) => key));
  const stays = ({ key }: YamlPair): boolean => {
    if (names.has(key)) return false;
    if (hasSlots) return OF_EVERY_LIMIT.has(key);
    if (WINDOW.has(key)) return isLimited && !hasWindow;
    if (COUNTED.has(key)) return isLimited;
    return key !== 'unlimited' || !isLimited;
  };
  // An unlimited rule stays as it is unless it gets a number: a window alone would make it a limit of 0.
  const isNew = ({ key }: YamlPair): boolean => !staysUnlimited || !(WINDOW.has(key) || COUNTED.has(key));
  return { ...block, pairs: [...block.pairs.filter(stays), ...added.filter(isNew)] };
}

/** Whether a `rate_limit` of an overlay makes a limit of a rule that has none, or is unlimited. */
function limits(block: YamlMap): boolean {
  return hasValue(block, 'requests_per_unit') || hasValue(block, 'concurrency');
}

/** Whether an overlay entry can change an entry of the rules: one with a limit, unless it brings a whole limit. */
export function appliesTo(map: YamlMap, { fields }: OverlayEntry): boolean {
  if (hasValue(map, 'rate_limit') || hasValue(map, 'rate_limits')) return true;
  return fields.some(
    ({ key, value }) =>
      key === 'rate_limits' ||
      (key === 'rate_limit' && value.kind === 'map' && (limits(value) || flagIsSet(value, 'unlimited'))),
  );
}

/** A text field before it was checked; empty if it is not a text. */
export function textOf(map: YamlMap, name: string): string {
  const node = fieldOf(map, name);
  if (node?.kind !== 'scalar' || (node.plain && typedScalar(node.text) === null)) return '';
  return node.text;
}

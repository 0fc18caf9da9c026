import { fieldOf, hasValue } from '../fields/fields.ts';
import type { YamlMap, YamlPair } from '../yaml/yaml-node.ts';
import type { OverlayEntry } from './overlay-entries.ts';

/** The fields of a limit that say how long its window is. Setting one of them replaces all of them. */
const WINDOW: ReadonlySet<string> = new Set(['unit', 'unit_multiplier', 'window', 'calendar']);

/** The fields that an unlimited rule cannot have, beside those of {@link WINDOW}. */
const COUNTED: ReadonlySet<string> = new Set(['algorithm', 'burst', 'penalty']);

/** The limits of an entry: only one of these. */
const LIMITS: ReadonlySet<string> = new Set(['rate_limit', 'rate_limits']);

/** What two entries that are equally precise both set. */
export interface OverlayConflict {
  readonly field: string;
  readonly first: OverlayEntry;
  readonly second: OverlayEntry;
}

/**
 * The map of a rule, or of a domain, after overlay entries have changed it, one after the other. Null if two of them that
 * are equally precise set the same field.
 *
 * @param entries in the order of {@link byPrecision}
 */
export function withOverlay(map: YamlMap, entries: readonly OverlayEntry[]): YamlMap | OverlayConflict {
  const setBy = new Map<string, OverlayEntry>();
  let changed = map;
  for (const entry of entries) {
    const conflict = claim(setBy, entry);
    if (conflict !== null) return conflict;
    changed = changedBy(changed, entry);
  }
  return changed;
}

/** Notes what an entry sets. Returns a conflict with an entry before it. */
function claim(setBy: Map<string, OverlayEntry>, entry: OverlayEntry): OverlayConflict | null {
  for (const field of settings(entry)) {
    const first = setBy.get(field);
    if (first !== undefined && byPrecision(first, entry) === 0) return { field, first, second: entry };
    setBy.set(field, entry);
  }
  return null;
}

/** What an entry sets: each field of its limit or of its answers apart, and the window as one. */
function settings({ fields }: OverlayEntry): string[] {
  const names = fields.flatMap(({ key, value }) => {
    if ((key !== 'rate_limit' && key !== 'answers') || value.kind !== 'map') return [key];
    return value.pairs.map(({ key: inner }) => (WINDOW.has(inner) ? 'window' : inner));
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
    const isPart =
      (key === 'rate_limit' || key === 'answers') && value.kind === 'map' && present?.kind === 'map';
    const merged = isPart ? { ...field, value: mergedBlock(present, value.pairs) } : field;
    pairs = [...pairs.filter(pair => pair.key !== key && !(LIMITS.has(key) && LIMITS.has(pair.key))), merged];
  }
  return { ...map, pairs, overlaidAt: offset };
}

/** A block after fields were added or replaced. */
function mergedBlock(block: YamlMap, added: readonly YamlPair[]): YamlMap {
  const names = new Set(added.map(({ key }) => key));
  const hasWindow = added.some(({ key }) => WINDOW.has(key));
  const isUnlimited = names.has('unlimited');
  const stays = ({ key }: YamlPair): boolean => {
    if (names.has(key)) return false;
    if (WINDOW.has(key)) return !hasWindow && !isUnlimited;
    if (COUNTED.has(key)) return !isUnlimited;
    return key !== 'unlimited' || !hasWindow;
  };
  return { ...block, pairs: [...block.pairs.filter(stays), ...added] };
}

/** Whether an entry of the rules has a limit, or the overlay entry brings a whole one. */
export function appliesTo(map: YamlMap, { fields }: OverlayEntry): boolean {
  if (hasValue(map, 'rate_limit') || hasValue(map, 'rate_limits')) return true;
  return fields.some(
    ({ key, value }) =>
      key === 'rate_limits' ||
      (key === 'rate_limit' &&
        value.kind === 'map' &&
        (hasValue(value, 'requests_per_unit') || hasValue(value, 'unlimited'))),
  );
}

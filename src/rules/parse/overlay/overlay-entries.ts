import { DOMAIN_BLOCKS, type RuleFile } from '../../rule-set.ts';
import { checkKeys, ITEM_EXAMPLES } from '../fields/field-names.ts';
import { fieldOf, hasValue, isNull, listField, mapField, offsetOf, textField } from '../fields/fields.ts';
import { type FaultList, FileCheck, type Source } from '../fields/file-check.ts';
import { withUniqueKeys } from '../fields/repeated-keys.ts';
import { readRuleFile } from '../reading/read-file.ts';
import type { YamlMap, YamlNode, YamlPair } from '../yaml/yaml-node.ts';
import { OverlayPattern } from './overlay-pattern.ts';

/** Maximum number of entries of all overlay files: each one may be compared with every entry of the rules. */
export const MAX_OVERLAY_ENTRIES = 1_000;

/** Maximum length of a `domain` or a `path` of an overlay entry. */
const MAX_PATTERN_CHARACTERS = 2_000;

/** An entry of an overlay: what it applies to, and what it adds or replaces there. */
export interface OverlayEntry {
  readonly domain: OverlayPattern;
  /** Null for an entry that changes a domain. */
  readonly path: OverlayPattern | null;
  /** As written, for messages. */
  readonly written: { readonly domain: string; readonly path: string };
  /** The fields, with their offsets among those of all overlay files: see {@link OverlayPlaces}. */
  readonly fields: readonly YamlPair[];
  /** Where the entry begins. */
  readonly offset: number;
  /** The overlay file. Knows its offsets among those of all overlay files. */
  readonly source: Source;
}

/** Offsets of the overlay file with number n begin at (n + 1) times this: no text is that long. */
const SPAN = 2 ** 32;

/** Where the parts of a tree are written that may come from overlay files as well. */
export class OverlayPlaces {
  readonly #sources: Source[] = [];

  /** Adds an overlay file. Returns what has to be added to its offsets. */
  add(source: Source): number {
    return this.#sources.push(source) * SPAN;
  }

  /** A source that also knows the offsets of the overlay files. */
  with(base: Source): Source {
    return {
      file: base.file,
      noun: base.noun,
      placeOf: offset => {
        const number = Math.floor(offset / SPAN) - 1;
        return number < 0 ? base.placeOf(offset) : this.#sources[number].placeOf(offset % SPAN);
      },
    };
  }
}

/** Reads and checks overlay files. Faults are reported. Entries with faults are left out. */
export function readOverlay(
  files: readonly RuleFile[],
  places: OverlayPlaces,
  faults: FaultList,
): readonly OverlayEntry[] {
  const entries: OverlayEntry[] = [];
  for (const file of files) {
    const read = readRuleFile(file, faults, 'overlay');
    if (read === null) continue;
    const { source } = read.check;
    const shift = places.add(source);
    const check = new FileCheck(places.with(source), faults);
    const root = withUniqueKeys(check, read.root, 'overlay');
    checkKeys(check, root, 'overlay');
    for (const map of listField(check, root, 'overlay', ITEM_EXAMPLES.overlay_entry)) {
      if (entries.length === MAX_OVERLAY_ENTRIES) {
        check.fault(
          map.offset,
          `an overlay has at most ${MAX_OVERLAY_ENTRIES} entries in all files: remove some`,
        );
        return entries;
      }
      const entry = readEntry(check, map, shift);
      if (entry !== null) entries.push(entry);
    }
  }
  return entries;
}

function readEntry(check: FileCheck, written: YamlMap, shift: number): OverlayEntry | null {
  const map = withUniqueKeys(check, written, 'overlay_entry');
  checkKeys(check, map, 'overlay_entry');
  checkLimitKeys(check, map);
  const domain = patternField(check, map, 'domain');
  const path = patternField(check, map, 'path');
  if (domain === null || path === null) return null;
  if (domain === '') {
    check.fault(
      map.offset,
      'the entry has no domain: write `domain: ` and a name, or `domain: "*"` for every domain',
    );
    return null;
  }
  checkFields(check, map, path);
  return {
    domain: new OverlayPattern(domain, 'domain'),
    path: path === '' ? null : new OverlayPattern(path, 'path'),
    written: { domain, path },
    fields: fieldsOf(check, map).map(pair => shiftedPair(pair, shift)),
    offset: map.offset + shift,
    source: check.source,
  };
}

/** The fields that have a value, each once. A field without a value changes nothing. */
function fieldsOf(check: FileCheck, map: YamlMap): YamlPair[] {
  const given = map.pairs.filter(({ key, value }) => key !== 'domain' && key !== 'path' && !isNull(value));
  return given.map(pair => {
    if (pair.key !== 'rate_limit' || pair.value.kind !== 'map') return pair;
    const { pairs, ...block } = withUniqueKeys(check, pair.value, 'overlay_limit');
    return { ...pair, value: { ...block, pairs: pairs.filter(({ value }) => !isNull(value)) } };
  });
}

function patternField(check: FileCheck, map: YamlMap, name: 'domain' | 'path'): string | null {
  const text = textField(check, map, name);
  if (text === null || text.length <= MAX_PATTERN_CHARACTERS) return text;
  check.fault(
    offsetOf(map, name),
    `\`${name}\` has more than ${MAX_PATTERN_CHARACTERS} characters: use \`*\` for a part of it`,
  );
  return null;
}

/** An entry without a path is for a domain, and has its blocks. An entry with a path has everything else. */
function checkFields(check: FileCheck, map: YamlMap, path: string): void {
  const blocks: readonly string[] = DOMAIN_BLOCKS;
  const misplaced = map.pairs.find(
    ({ key, value }) =>
      key !== 'domain' && key !== 'path' && !isNull(value) && blocks.includes(key) === (path !== ''),
  );
  if (misplaced !== undefined) {
    const { key, keyOffset } = misplaced;
    const advice =
      path === ''
        ? 'write `path: ` and the keys of the rule, such as `path: "*/rule-0-match-0"`'
        : 'write it in an entry with `domain` and without `path`';
    const what = path === '' ? `\`${key}\` belongs to rules` : `\`${key}\` belong to a whole domain`;
    check.fault(keyOffset, `${what}: ${advice}`);
  }
  if (hasValue(map, 'rate_limit') && hasValue(map, 'rate_limits'))
    check.fault(
      offsetOf(map, 'rate_limits'),
      'the entry has `rate_limit` and `rate_limits`: remove one of them',
    );
  if (map.pairs.every(({ key, value }) => key === 'domain' || key === 'path' || isNull(value)))
    check.fault(
      map.offset,
      `the entry changes nothing: write what to add or replace, such as \`rate_limit: {window: 5m}\``,
    );
}

/** Checks the keys of limits here, because limits of entries that match nothing are not checked any further. */
function checkLimitKeys(check: FileCheck, map: YamlMap): void {
  const limit = fieldOf(map, 'rate_limit');
  if (limit !== null && !isNull(limit)) {
    const block = mapField(check, map, 'rate_limit');
    if (block !== null) checkKeys(check, withUniqueKeys(check, block, 'overlay_limit'), 'overlay_limit');
  }
  for (const item of listField(check, map, 'rate_limits', ITEM_EXAMPLES.rate_limits))
    checkKeys(check, withUniqueKeys(check, item, 'rate_limits'), 'rate_limits');
}

/** A pair whose offsets are those among all overlay files. */
function shiftedPair(pair: YamlPair, shift: number): YamlPair {
  const { keyOffset, mergedAt } = pair;
  return {
    ...pair,
    keyOffset: keyOffset + shift,
    ...(mergedAt !== undefined && { mergedAt: mergedAt + shift }),
    value: shifted(pair.value, shift),
  };
}

function shifted(node: YamlNode, shift: number): YamlNode {
  const offset = node.offset + shift;
  if (node.kind === 'scalar') return { ...node, offset };
  if (node.kind === 'list') return { ...node, offset, items: node.items.map(item => shifted(item, shift)) };
  return { ...node, offset, pairs: node.pairs.map(pair => shiftedPair(pair, shift)) };
}

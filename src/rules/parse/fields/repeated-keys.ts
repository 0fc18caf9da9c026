import { excerpt } from '../../../base/printable.ts';
import { GREATEST_LIMIT } from '../../rule-set.ts';
import { typedScalar, type YamlMap, type YamlNode, type YamlPair } from '../yaml/yaml-node.ts';
import { checkKeys, type FieldKind, ITEM_EXAMPLES, kindOfField, type MapKind } from './field-names.ts';
import { countField, flagField, isNull, listField, mapField, textField } from './fields.ts';
import type { FileCheck } from './file-check.ts';

/** Up to this number of pairs, comparing all pairs is faster than a set. */
const FEW_PAIRS = 16;

/**
 * The map with every key once, as envoyproxy/ratelimit decodes it. Values are applied in file order: a later value
 * replaces an earlier one, but limits and metadata are merged key by key, and a null discards the earlier keys. Pairs of
 * a merge are applied at the position of their `<<`.
 */
export function withUniqueKeys(check: FileCheck, map: YamlMap, kind: MapKind): YamlMap {
  if (!repeatsKey(map)) return map;
  const byKey = new Map<string, YamlPair[]>();
  for (const pair of map.pairs) {
    const written = byKey.get(pair.key);
    if (written === undefined) byKey.set(pair.key, [pair]);
    else written.push(pair);
  }
  const pairs = Array.from(byKey, ([key, written]) => result(check, written, kindOfField(kind, key)));
  return { ...map, pairs };
}

/** The map with every key once. Warns about repeated keys, and reports keys that this kind of map does not have. */
export function checkedMap(check: FileCheck, written: YamlMap, kind: MapKind): YamlMap {
  const map = withUniqueKeys(check, written, kind);
  warnAboutRepeats(check, written, map, kind);
  checkKeys(check, map, kind);
  return map;
}

/** The result of all pairs of one key. For an unknown key, the last pair. */
function result(check: FileCheck, written: readonly YamlPair[], kind: FieldKind | undefined): YamlPair {
  const last = written[written.length - 1];
  if (kind === undefined) return last;
  let below: YamlPair[] = [];
  for (const pair of written.slice(0, -1)) {
    if (check.full) return last;
    const value = overlaidValue(check, pair, kind);
    if (value.kind !== 'map' || isEmptyLimit(pair.value)) below = [];
    else for (const inner of value.pairs) below.push(inner);
  }
  if (!isMergedByKey(kind) || below.length === 0 || last.value.kind !== 'map') return last;
  return { ...last, value: { ...last.value, pairs: [...below, ...last.value.pairs] } };
}

const MERGED_BY_KEY: ReadonlySet<FieldKind> = new Set([
  'limit',
  'calendar',
  'penalty',
  'classes',
  'after_limit',
  'reserve',
  'concurrency',
  'quota',
  'range',
  'not',
  'group_by',
  'answers',
  'requests',
  'client_address',
  'token',
  'metadata',
]);

function isMergedByKey(kind: FieldKind | undefined): boolean {
  return kind !== undefined && MERGED_BY_KEY.has(kind);
}

function repeatsKey({ pairs }: YamlMap): boolean {
  if (pairs.length > FEW_PAIRS) return new Set(pairs.map(pair => pair.key)).size < pairs.length;
  for (let later = 1; later < pairs.length; later++) {
    for (let earlier = 0; earlier < later; earlier++) {
      if (pairs[earlier].key === pairs[later].key) return true;
    }
  }
  return false;
}

/**
 * Warns about the keys of a map whose result is probably a mistake: a repeated key, a `<<` that replaces a key above it,
 * and a limit or metadata that is partly merged.
 *
 * @param map the map as written
 * @param result the result of {@link withUniqueKeys}
 */
export function warnAboutRepeats(check: FileCheck, map: YamlMap, result: YamlMap, kind: MapKind): void {
  if (map === result) return;
  for (const { key, value } of result.pairs) {
    const fieldKind = kindOfField(kind, key);
    if (fieldKind === undefined) continue;
    const written = map.pairs.filter(pair => pair.key === key);
    const warning = repeatWarning(written, value, fieldKind);
    if (warning !== null) check.warn(warning.offset, `${warning.what}. The result is ${shown(value)}`);
  }
}

interface RepeatWarning {
  readonly offset: number;
  readonly what: string;
}

function repeatWarning(
  written: readonly YamlPair[],
  result: YamlNode,
  kind: FieldKind,
): RepeatWarning | null {
  const { key } = written[0];
  const how = isMergedByKey(kind) ? 'they are merged key by key' : 'the last one counts';
  const own = written.filter(pair => pair.mergedAt === undefined);
  if (own.length > 1) {
    return { offset: own[1].keyOffset, what: `\`${key}\` is written ${own.length} times; ${how}` };
  }
  const last = written.at(-1);
  if (own.length === 1 && last?.mergedAt !== undefined) {
    const effect = isMergedByKey(kind) ? 'is merged into' : 'replaces';
    const what = `\`<<\` stands below \`${key}\`, so the \`${key}\` that it brings ${effect} the one above it`;
    return { offset: last.mergedAt, what };
  }
  if (last === undefined || !addsKeys(last.value, result)) return null;
  const offset = last.mergedAt ?? last.keyOffset;
  return { offset, what: `\`${key}\` is merged key by key with the one that \`<<\` brings` };
}

/** Whether the result has keys that the last value does not have. */
function addsKeys(last: YamlNode, result: YamlNode): boolean {
  if (last.kind !== 'map' || result.kind !== 'map') return false;
  const keys = new Set(last.pairs.map(pair => pair.key));
  return result.pairs.some(pair => !keys.has(pair.key));
}

/** A value in YAML flow style, cut for a log line. */
function shown(node: YamlNode): string {
  return `\`${excerpt(flowText(node))}\``;
}

const SHOWN_PARTS = 8;

function flowText(node: YamlNode): string {
  if (isNull(node)) return 'null';
  if (node.kind === 'scalar') return node.plain ? node.text : JSON.stringify(node.text);
  if (node.kind === 'list') return `[${shortList(node.items.map(() => '…'))}]`;
  const last = new Map(node.pairs.map(pair => [pair.key, pair.value]));
  return `{${shortList(Array.from(last, ([key, value]) => `${key}: ${value.kind === 'map' ? '{…}' : flowText(value)}`))}}`;
}

function shortList(parts: readonly string[]): string {
  const more = parts.length > SHOWN_PARTS ? [...parts.slice(0, SHOWN_PARTS), '…'] : parts;
  return more.join(', ');
}

/** True for the spellings of null that envoyproxy/ratelimit reads as an empty limit instead of no limit. */
export function isEmptyLimit(node: YamlNode): boolean {
  return node.kind === 'scalar' && node.plain && (node.text === 'Null' || node.text === 'NULL');
}

/** The empty map that envoyproxy/ratelimit reads for some nulls. */
export function emptyMap(offset: number): YamlMap {
  return { kind: 'map', pairs: [], offset };
}

/**
 * The part of a value that envoyproxy/ratelimit keeps when its key is repeated later. It rejects unknown keys and decimal
 * numbers only in the last value of a key, but every value must have the type of its field. The result contains known
 * keys only, and numbers in the form that the field accepts.
 */
function overlaidValue(check: FileCheck, pair: YamlPair, kind: FieldKind): YamlNode {
  const { key, value } = pair;
  // The field functions expect a map, and report the faults of the field.
  const alone: YamlMap = { kind: 'map', pairs: [pair], offset: pair.keyOffset };
  switch (kind) {
    case 'text':
      if (numberOf(value) !== null) return { ...value, plain: false } as YamlNode;
      textField(check, alone, key);
      return value;
    case 'count': {
      const number = numberOf(value);
      if (number !== null && number > -1 && number <= GREATEST_LIMIT) {
        return { ...value, text: String(Math.trunc(number)) } as YamlNode;
      }
      countField(check, alone, key);
      return value;
    }
    case 'flag':
      flagField(check, alone, key);
      return value;
    case 'metadata':
      mapField(check, alone, key);
      return value;
    case 'limit': {
      if (isEmptyLimit(value)) return emptyMap(value.offset);
      const map = mapField(check, alone, key);
      return map === null ? value : overlaidMap(check, map, 'rate_limit');
    }
    case 'calendar':
    case 'penalty':
    case 'classes':
    case 'after_limit':
    case 'reserve':
    case 'concurrency':
    case 'quota':
    case 'range':
    case 'not':
    case 'group_by':
    case 'answers':
    case 'requests':
    case 'client_address':
    case 'token': {
      const map = mapField(check, alone, key);
      return map === null ? value : overlaidMap(check, map, kind);
    }
    case 'texts':
    case 'mapped':
      return value;
    case 'limits':
      return overlaidList(check, pair, 'rate_limits');
    case 'entries':
      return overlaidList(check, pair, 'entry');
    case 'replaces':
      return overlaidList(check, pair, 'replaces');
    case 'overlay':
      return overlaidList(check, pair, 'overlay_entry');
  }
}

/** Keeps the known pairs of a map, marked as merged. */
function overlaidMap(check: FileCheck, map: YamlMap, kind: MapKind): YamlMap {
  const pairs: YamlPair[] = [];
  for (const pair of map.pairs) {
    const fieldKind = kindOfField(kind, pair.key);
    if (fieldKind === undefined || check.full) continue;
    const value = overlaidValue(check, pair, fieldKind);
    pairs.push({ ...pair, value, mergedAt: pair.mergedAt ?? pair.keyOffset });
  }
  return { ...map, pairs };
}

/** Unlike in the last value of a key, null items count as empty maps. */
function overlaidList(check: FileCheck, pair: YamlPair, kind: keyof typeof ITEM_EXAMPLES): YamlNode {
  const { value } = pair;
  const list: YamlNode =
    value.kind === 'list'
      ? { ...value, items: value.items.map(item => (isNull(item) ? emptyMap(item.offset) : item)) }
      : value;
  const alone: YamlMap = { kind: 'map', pairs: [{ ...pair, value: list }], offset: pair.keyOffset };
  const maps = listField(check, alone, pair.key, ITEM_EXAMPLES[kind]);
  return list.kind === 'list' ? { ...list, items: maps.map(map => overlaidMap(check, map, kind)) } : value;
}

/** The value of a numeric scalar; null for any other node. */
function numberOf(node: YamlNode): number | null {
  if (node.kind !== 'scalar' || !node.plain) return null;
  const type = typedScalar(node.text);
  if (typeof type === 'number') return type;
  return typeof type === 'bigint' ? Number(type) : null;
}

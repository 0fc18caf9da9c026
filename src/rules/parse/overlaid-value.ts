import { FIELD_KINDS, type FieldKind, type MapKind } from './field-names.ts';
import { countField, flagField, isNull, listField, mapField, textField } from './fields.ts';
import type { FileCheck } from './file-check.ts';
import { typedScalar } from './yaml/typed-scalar.ts';
import type { YamlMap, YamlNode, YamlPair } from './yaml/yaml-node.ts';

/** True for a null that the reference implementation reads as a limit without any field, not as no limit. */
export function isEmptyLimit(node: YamlNode): boolean {
  return node.kind === 'scalar' && node.plain && (node.text === 'Null' || node.text === 'NULL');
}

/** A map without pairs, as the reference implementation makes it of some nulls. */
export function emptyMap(offset: number): YamlMap {
  return { kind: 'map', pairs: [], offset };
}

/**
 * What the reference implementation keeps of a value when the same key occurs again. It looks for unknown keys and
 * decimal numbers only in the last value of a key, but every value must have the type of its field. The result has
 * known keys only, and its numbers are written as the field accepts them.
 */
export function overlaidValue(check: FileCheck, pair: YamlPair, kind: FieldKind): YamlNode {
  const { key, value } = pair;
  // The functions that read a field look for it in a map, and report what is wrong with it.
  const alone: YamlMap = { kind: 'map', pairs: [pair], offset: pair.keyOffset };
  switch (kind) {
    case 'text':
      if (numberOf(value) !== null) return { ...value, plain: false } as YamlNode;
      textField(check, alone, key);
      return value;
    case 'count': {
      const number = numberOf(value);
      if (number !== null && number > -1 && number < 2 ** 32) {
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
    case 'entries':
      return overlaidList(check, pair, 'entry');
    case 'replaces':
      return overlaidList(check, pair, 'replaces');
  }
}

/** Keeps the pairs that mean something in the map, as if a merge had brought them. */
function overlaidMap(check: FileCheck, map: YamlMap, kind: MapKind): YamlMap {
  const pairs: YamlPair[] = [];
  for (const pair of map.pairs) {
    const fieldKind = FIELD_KINDS[kind].get(pair.key);
    if (fieldKind === undefined || check.full) continue;
    const value = overlaidValue(check, pair, fieldKind);
    pairs.push({ ...pair, value, mergedAt: pair.mergedAt ?? pair.keyOffset });
  }
  return { ...map, pairs };
}

/** Unlike in the last value of a key, items that are null count as empty maps. */
function overlaidList(check: FileCheck, pair: YamlPair, kind: MapKind): YamlNode {
  const { value } = pair;
  const list: YamlNode =
    value.kind === 'list'
      ? { ...value, items: value.items.map(item => (isNull(item) ? emptyMap(item.offset) : item)) }
      : value;
  const alone: YamlMap = { kind: 'map', pairs: [{ ...pair, value: list }], offset: pair.keyOffset };
  const maps = listField(check, alone, pair.key, '- key: ...');
  return list.kind === 'list' ? { ...list, items: maps.map(map => overlaidMap(check, map, kind)) } : value;
}

/** A decimal number; null for everything else. */
function numberOf(node: YamlNode): number | null {
  if (node.kind !== 'scalar' || !node.plain) return null;
  const type = typedScalar(node.text);
  if (typeof type === 'number') return type;
  return typeof type === 'bigint' ? Number(type) : null;
}

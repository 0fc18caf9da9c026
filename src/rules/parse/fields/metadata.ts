import type { JsonObject, JsonValue } from '../../../base/json.ts';
import { quote } from '../../../base/printable.ts';
import {
  type TypedScalar,
  typedScalar,
  type YamlMap,
  type YamlNode,
  type YamlPair,
  type YamlScalar,
} from '../yaml/yaml-node.ts';
import type { FileCheck } from './file-check.ts';

/**
 * The `metadata` of an entry as JSON, with the types of YAML 1.1; null if empty. Keys at the top level are taken as
 * written. As in envoyproxy/ratelimit, keys of nested maps are typed and printed as Go does: `010` becomes `8`. Numbers
 * become doubles, as in a `google.protobuf.Struct`.
 */
export function readMetadata(check: FileCheck, map: YamlMap | null): JsonObject | null {
  if (map === null || map.pairs.length === 0) return null;
  return jsonObject(check, map, pair => (typeOfKey(pair) === null ? '' : pair.key));
}

function jsonObject(check: FileCheck, map: YamlMap, keyOf: (pair: YamlPair) => string): JsonObject {
  // If a key is repeated, the last one counts.
  const values = new Map(map.pairs.map(pair => [keyOf(pair), pair.value]));
  // `fromEntries` creates own properties for all keys, also for `__proto__`.
  return Object.fromEntries(Array.from(values, ([key, value]) => [key, jsonValue(check, value)]));
}

function typeOfKey(pair: YamlPair): TypedScalar {
  return pair.keyPlain ? typedScalar(pair.key) : pair.key;
}

/** A key of a nested map as Go prints it. */
function printedKey(pair: YamlPair): string {
  const type = typeOfKey(pair);
  if (type === null) return '<nil>';
  return typeof type === 'number' ? printedNumber(type) : String(type);
}

/** Go writes an exponent of at least two digits for numbers from 10^6 on and below 10^-4. */
function printedNumber(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  if (value === 0) return Object.is(value, -0) ? '-0' : '0';
  const [mantissa, exponent] = value.toExponential().split('e');
  const power = Number(exponent);
  if (power >= -4 && power < 6) return String(value);
  return `${mantissa}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
}

function jsonValue(check: FileCheck, node: YamlNode): JsonValue {
  if (node.kind === 'map') return jsonObject(check, node, printedKey);
  if (node.kind === 'list') return node.items.map(item => jsonValue(check, item));
  return jsonScalar(check, node);
}

function jsonScalar(check: FileCheck, scalar: YamlScalar): JsonValue {
  const type = scalar.plain ? typedScalar(scalar.text) : scalar.text;
  if (typeof type === 'bigint') return Number(type);
  if (typeof type === 'number' && !Number.isFinite(type)) {
    check.fault(
      scalar.offset,
      `JSON has no number ${scalar.text}: for text write ${quote(scalar.text)}, with the quotes`,
    );
  }
  return type;
}

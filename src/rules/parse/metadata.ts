import type { JsonObject, JsonValue } from '../../base/json.ts';
import { quote } from '../../base/printable.ts';
import type { FileCheck } from './file-check.ts';
import {
  type TypedScalar,
  typedScalar,
  type YamlMap,
  type YamlNode,
  type YamlPair,
  type YamlScalar,
} from './yaml/yaml-node.ts';

/**
 * The `metadata` of an entry as JSON, with the types of YAML 1.1; null when it is empty. Its keys are texts, whatever
 * they look like; in nested maps they are the text of their type, as in the reference implementation: `010` is `8`
 * there. Numbers become doubles, as in a `google.protobuf.Struct`.
 */
export function readMetadata(check: FileCheck, map: YamlMap | null): JsonObject | null {
  if (map === null || map.pairs.length === 0) return null;
  return jsonObject(check, map, pair => (typeOfKey(pair) === null ? '' : pair.key));
}

function jsonObject(check: FileCheck, map: YamlMap, keyOf: (pair: YamlPair) => string): JsonObject {
  // Of equal keys the last one counts.
  const values = new Map(map.pairs.map(pair => [keyOf(pair), pair.value]));
  // `fromEntries` makes own properties of all keys; assigning to `__proto__` would not.
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

/** Go writes an exponent for numbers from a million on and below a ten thousandth, with two digits at least. */
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

import type { JsonObject, JsonValue } from '../../base/json.ts';
import type { FileCheck } from './file-check.ts';
import { quote } from './quote.ts';
import { typedScalar } from './typed-scalar.ts';
import type { YamlMap, YamlNode, YamlScalar } from './yaml-node.ts';

/**
 * The `metadata` of an entry as JSON, with the types of YAML 1.1; null when it is empty. Keys keep their source text,
 * whatever their type. Numbers become doubles, as in a `google.protobuf.Struct`.
 */
export function readMetadata(check: FileCheck, map: YamlMap | null): JsonObject | null {
  return map === null || map.pairs.length === 0 ? null : jsonObject(check, map);
}

function jsonObject(check: FileCheck, map: YamlMap): JsonObject {
  // `fromEntries` makes own properties of all keys; assigning to `__proto__` would not.
  return Object.fromEntries(map.pairs.map(pair => [pair.key, jsonValue(check, pair.value)]));
}

function jsonValue(check: FileCheck, node: YamlNode): JsonValue {
  if (node.kind === 'map') return jsonObject(check, node);
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

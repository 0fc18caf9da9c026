import { ByteWriter } from '../base/bytes.ts';
import type { JsonObject, JsonValue } from '../base/json.ts';
import { WIRE, WireFault, type WireReader, writeBytes, writeTag } from './wire.ts';

/** Field numbers of `Struct`, its map entries, `Value` and `ListValue`. */
const STRUCT_FIELDS = 1;
const MAP = { key: 1, value: 2 } as const;
const VALUE = { null: 1, number: 2, string: 3, bool: 4, struct: 5, list: 6 } as const;
const LIST_VALUES = 1;

/** Maximum nesting depth, the default limit of protobuf parsers. Bounds the recursion. */
const MAX_STRUCT_DEPTH = 100;

/** Appends a `google.protobuf.Struct`. Not for hot paths: every level is encoded into a buffer of its own. */
export function writeStruct(to: ByteWriter, map: JsonObject): void {
  for (const [key, value] of Object.entries(map)) {
    const entry = new ByteWriter();
    writeBytes(entry, MAP.key, Buffer.from(key));
    writeBytes(entry, MAP.value, encodeValue(value));
    writeBytes(to, STRUCT_FIELDS, entry.view());
  }
}

function encodeValue(value: JsonValue): Uint8Array {
  const to = new ByteWriter();
  if (value === null) {
    writeTag(to, VALUE.null, WIRE.varint);
    to.varint(0);
  } else if (typeof value === 'number') {
    const double = Buffer.alloc(8);
    double.writeDoubleLE(value);
    writeTag(to, VALUE.number, WIRE.fixed64);
    to.copy(double, 0, 8);
  } else if (typeof value === 'boolean') {
    writeTag(to, VALUE.bool, WIRE.varint);
    to.varint(value ? 1 : 0);
  } else if (typeof value === 'string') writeBytes(to, VALUE.string, Buffer.from(value));
  else if (isList(value)) {
    const list = new ByteWriter();
    for (const each of value) writeBytes(list, LIST_VALUES, encodeValue(each));
    writeBytes(to, VALUE.list, list.view());
  } else {
    const struct = new ByteWriter();
    writeStruct(struct, value);
    writeBytes(to, VALUE.struct, struct.view());
  }
  return to.view();
}

function isList(value: readonly JsonValue[] | JsonObject): value is readonly JsonValue[] {
  return Array.isArray(value);
}

/**
 * Reads a `google.protobuf.Struct`.
 *
 * @throws WireFault if the bytes are not a valid message, or if it is nested too deeply
 */
export function readStruct(reader: WireReader, depth = 1): JsonObject {
  const fields: [string, JsonValue][] = [];
  while (reader.next()) {
    if (reader.field === 1) fields.push(reader.nested(nested => readStructField(nested, depth)));
    else reader.skip();
  }
  // Assignment would not work for a field named `__proto__`.
  return Object.fromEntries(fields);
}

function readStructField(reader: WireReader, depth: number): [string, JsonValue] {
  let name = '';
  let value: JsonValue = null;
  while (reader.next()) {
    if (reader.field === 1) name = reader.text();
    else if (reader.field === 2) value = reader.nested(nested => readJsonValue(nested, depth));
    else reader.skip();
  }
  return [name, value];
}

/** Reads a `google.protobuf.Value`, which has exactly one of six fields. Without any field it is null. */
function readJsonValue(reader: WireReader, depth: number): JsonValue {
  if (depth > MAX_STRUCT_DEPTH) {
    throw new WireFault(`metadata nested more than ${MAX_STRUCT_DEPTH} levels deep`, reader.position);
  }
  let value: JsonValue = null;
  while (reader.next()) {
    if (reader.field === 2) value = readDouble(reader);
    else if (reader.field === 3) value = reader.text();
    else if (reader.field === 4) value = reader.uint32() !== 0;
    else if (reader.field === 5) value = reader.nested(nested => readStruct(nested, depth + 1));
    else if (reader.field === 6) value = reader.nested(nested => readStructList(nested, depth + 1));
    else reader.skip();
  }
  return value;
}

function readStructList(reader: WireReader, depth: number): readonly JsonValue[] {
  const values: JsonValue[] = [];
  while (reader.next()) {
    if (reader.field === 1) values.push(reader.nested(nested => readJsonValue(nested, depth)));
    else reader.skip();
  }
  return values;
}

function readDouble(reader: WireReader): number {
  const at = reader.position;
  if (reader.wireType !== WIRE.fixed64) {
    throw new WireFault(`field ${reader.field} has wire type ${reader.wireType}, not ${WIRE.fixed64}`, at);
  }
  reader.skip();
  return new DataView(reader.bytes.buffer, reader.bytes.byteOffset + at, 8).getFloat64(0, true);
}

import { ByteWriter } from '../base/bytes.ts';
import type { JsonObject, JsonValue } from '../base/json.ts';
import { WIRE, writeBytes, writeTag } from './wire.ts';

/** Fields of `Struct`, of its map entries, of `Value` and of `ListValue`. */
const STRUCT_FIELDS = 1;
const MAP = { key: 1, value: 2 } as const;
const VALUE = { null: 1, number: 2, string: 3, bool: 4, struct: 5, list: 6 } as const;
const LIST_VALUES = 1;

/** Appends a `google.protobuf.Struct`. Not for hot paths: each level is written on its own first. */
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

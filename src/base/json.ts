/** A JSON value. A `google.protobuf.Struct` and the `metadata` of a rule can hold the same values. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;

export interface JsonObject {
  readonly [key: string]: JsonValue;
}

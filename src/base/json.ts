/** What JSON can say; also what a `google.protobuf.Struct` and the `metadata` of a rule can hold. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;

export interface JsonObject {
  readonly [key: string]: JsonValue;
}

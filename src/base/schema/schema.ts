/**
 * The schema of a request or a response. Requests are checked against it, and the OpenAPI document is generated from
 * it. Objects in requests must not have fields that the schema does not name.
 */
export type Schema =
  | StringSchema
  | NumberSchema
  | BooleanSchema
  | ArraySchema
  | ObjectSchema
  | RecordSchema
  | AnySchema
  | OneOfSchema;

interface Common {
  /** May be left out. */
  readonly optional?: true;
  /** May be null. */
  readonly nullable?: true;
  /** For the OpenAPI document. */
  readonly description?: string;
  /** A value for the examples of the OpenAPI document. That of an object is laid over those of its properties. */
  readonly example?: unknown;
}

export interface StringSchema extends Common {
  readonly type: 'string';
  readonly min?: number;
  readonly max?: number;
  readonly pattern?: RegExp;
  /** The pattern in words, as a continuation of `must`. */
  readonly accepts?: string;
  readonly enum?: readonly string[];
  /** `date-time`, `uri` and so on. For the OpenAPI document only; patterns and handlers check the value. */
  readonly format?: string;
  /** How bytes are encoded. For the OpenAPI document only. */
  readonly encoding?: 'base64';
}

export interface NumberSchema extends Common {
  readonly type: 'number';
  readonly integer?: true;
  readonly min?: number;
  readonly max?: number;
}

interface BooleanSchema extends Common {
  readonly type: 'boolean';
}

export interface ArraySchema extends Common {
  readonly type: 'array';
  readonly items: Schema;
  readonly min?: number;
  readonly max?: number;
  /** If present, the items are counted before the body is parsed, and more than `max` of them are this problem code. */
  readonly tooMany?: string;
}

export interface ObjectSchema extends Common {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, Schema>>;
  /** The name in `components.schemas` of the OpenAPI document. Schemas without a name are inlined. */
  readonly name?: string;
}

/** An object with arbitrary names. */
export interface RecordSchema extends Common {
  readonly type: 'record';
  readonly values: Schema;
  readonly maxEntries?: number;
}

export interface AnySchema extends Common {
  readonly type: 'any';
  /** For the OpenAPI document. The handler checks the value. */
  readonly shows?: ObjectSchema;
  /** A field of a response that a request can only send back unchanged; see `acceptingAnswer`. */
  readonly readOnly?: true;
}

/** A value that matches one of several schemas. */
interface OneOfSchema extends Common {
  readonly type: 'one_of';
  readonly of: readonly Schema[];
}

import type { ProblemCode } from './problem.ts';

/**
 * A schema in the notation of fastest-validator, as far as we use it. Requests are checked by it, and the OpenAPI
 * document is made from it. Every object refuses fields that it does not name.
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
  /** What it is, for the document. */
  readonly description?: string;
}

export interface StringSchema extends Common {
  readonly type: 'string';
  readonly min?: number;
  readonly max?: number;
  readonly pattern?: RegExp;
  /** The pattern in words, as they go on from `it has to`. */
  readonly accepts?: string;
  readonly enum?: readonly string[];
  /** `date-time`, `uri`, … for the document only: patterns and handlers check. */
  readonly format?: string;
  /** How bytes are written as text, for the document only. */
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
  /** Items of this member of a body are counted before the body is parsed. More than `max` is this problem. */
  readonly tooMany?: ProblemCode;
}

export interface ObjectSchema extends Common {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, Schema>>;
  /** The name under which the document lists it; without one it is written in place. */
  readonly name?: string;
}

/** An object whose names are not known: names and values have a form each. */
export interface RecordSchema extends Common {
  readonly type: 'record';
  readonly values: Schema;
  readonly maxEntries?: number;
}

export interface AnySchema extends Common {
  readonly type: 'any';
  /** What it looks like, for the document: the handler checks. */
  readonly shows?: ObjectSchema;
  /** A field of an answer that a request may only repeat; see `put-back.ts`. */
  readonly readOnly?: true;
}

/** One of several, the first that fits. */
export interface OneOfSchema extends Common {
  readonly type: 'one_of';
  readonly of: readonly Schema[];
}

import type { NumberSchema, ObjectSchema, Schema, StringSchema } from '../../../base/schema/schema.ts';

/** A field of an answer: its schema, and its value in what the answer is made of. Undefined leaves it out. */
type Field<T> = readonly [schema: Schema, read: (source: T) => unknown];

/** The fields of an object, in the order in which they are sent. */
export type Fields<T> = Readonly<Record<string, Field<T>>>;

/** The schema of an object with these fields. */
export function objectSchema<T>(fields: Fields<T>, more: Partial<ObjectSchema> = {}): ObjectSchema {
  const properties = Object.entries(fields).map(([name, [schema]]) => [name, schema]);
  return { type: 'object', ...more, properties: Object.fromEntries(properties) };
}

/** The object with these fields for an answer. */
export function objectView<T>(fields: Fields<T>, source: T): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([name, [, read]]) => [name, read(source)]));
}

/** What answers have for a schema whose types are literal. */
export type ValueOf<S> = S extends { readonly nullable: true } ? PlainOf<S> | null : PlainOf<S>;
type PlainOf<S> = S extends { readonly enum: readonly (infer T)[] }
  ? T
  : S extends { readonly type: 'string' }
    ? string
    : S extends { readonly type: 'number' }
      ? number
      : S extends { readonly type: 'boolean' }
        ? boolean
        : S extends { readonly items: infer I }
          ? readonly ValueOf<I>[]
          : S extends { readonly properties: infer P }
            ? { readonly [N in keyof P]: ValueOf<P[N]> }
            : never;

/** A schema whose parts keep their types, for {@link ValueOf}. */
type Described<T extends string, Parts> = Parts & { readonly type: T; readonly description?: string };

export function text(description?: string): StringSchema {
  return { type: 'string', ...about(description) };
}

export function number(description?: string): NumberSchema {
  return { type: 'number', ...about(description) };
}

/** A whole number. */
export function whole(description?: string): NumberSchema & { readonly integer: true } {
  return { type: 'number', integer: true, ...about(description) };
}

export function flag(description?: string): { readonly type: 'boolean' } {
  return { type: 'boolean', ...about(description) };
}

/** A time in the form of RFC 3339. */
export function time(description?: string): StringSchema {
  return { type: 'string', format: 'date-time', ...about(description) };
}

/** One of some texts. */
export function choice<const V extends string>(
  values: readonly V[],
  description?: string,
): StringSchema & { readonly enum: readonly V[] } {
  return { type: 'string', enum: values, ...about(description) };
}

export function list<I extends Schema>(
  items: I,
  description?: string,
): Described<'array', { readonly items: I }> {
  return { type: 'array', items, ...about(description) };
}

export function object<P extends Readonly<Record<string, Schema>>>(
  properties: P,
  description?: string,
): Described<'object', { readonly properties: P }> {
  return { type: 'object', properties, ...about(description) };
}

export function optional<S extends Schema>(schema: S): S & { readonly optional: true } {
  return { ...schema, optional: true };
}

export function orNull<S extends Schema>(schema: S): S & { readonly nullable: true } {
  return { ...schema, nullable: true };
}

function about(description: string | undefined): { readonly description?: string } {
  return description === undefined ? {} : { description };
}

/** A point in time as {@link time} describes it. */
export function timeText(ms: number): string {
  return new Date(ms).toISOString();
}

import type { ObjectSchema, Schema } from './schema.ts';

/** A schema of JSON Schema 2020-12, the dialect of OpenAPI 3.1. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Collects the named schemas for `components.schemas`. */
export class SchemaTable {
  readonly #named = new Map<string, JsonSchema>();

  /**
   * The schema of a request or a response. A request schema rejects unknown fields; responses may get further fields in
   * later versions.
   */
  schemaOf(schema: Schema, use: 'request' | 'answer'): JsonSchema {
    if (schema.type !== 'object' || schema.name === undefined) return this.#inPlace(schema, use);
    const known = this.#named.get(schema.name);
    const { optional: _, nullable: __, description: ___, ...plain } = schema;
    const made = this.#inPlace(plain, use);
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(made)) {
      throw new Error(`two schemas are named ${schema.name}`);
    }
    this.#named.set(schema.name, made);
    const reference = { $ref: `#/components/schemas/${schema.name}` };
    return schema.nullable === true ? { oneOf: [reference, { type: 'null' }] } : reference;
  }

  /** By name. */
  all(): Record<string, JsonSchema> {
    return Object.fromEntries([...this.#named].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  #inPlace(schema: Schema, use: 'request' | 'answer'): JsonSchema {
    const description = schema.description === undefined ? {} : { description: schema.description };
    if (schema.type === 'any') {
      if (schema.shows !== undefined) return this.schemaOf(schema.shows, use);
      return { ...description, ...(schema.readOnly === true && { readOnly: true }) };
    }
    const form = this.#form(schema, use);
    return { ...(schema.nullable === true ? orNull(form) : form), ...description };
  }

  #form(schema: Exclude<Schema, { type: 'any' }>, use: 'request' | 'answer'): JsonSchema {
    switch (schema.type) {
      case 'string':
        return defined({
          type: 'string',
          minLength: schema.min,
          maxLength: schema.max,
          pattern: schema.pattern?.source,
          enum: schema.enum,
          format: schema.format,
          contentEncoding: schema.encoding,
        });
      case 'number':
        return defined({
          type: schema.integer === true ? 'integer' : 'number',
          minimum: schema.min,
          maximum: schema.max,
        });
      case 'boolean':
        return { type: 'boolean' };
      case 'array':
        return defined({
          type: 'array',
          items: this.schemaOf(schema.items, use),
          minItems: schema.min,
          maxItems: schema.max,
        });
      case 'record':
        return defined({
          type: 'object',
          additionalProperties: this.schemaOf(schema.values, use),
          maxProperties: schema.maxEntries,
        });
      case 'one_of':
        return { anyOf: schema.of.map(one => this.schemaOf(one, use)) };
      case 'object':
        return this.#object(schema, use);
    }
  }

  #object({ properties }: ObjectSchema, use: 'request' | 'answer'): JsonSchema {
    const entries = Object.entries(properties);
    const required = entries.filter(([, property]) => property.optional !== true).map(([name]) => name);
    return {
      type: 'object',
      properties: Object.fromEntries(entries.map(([name, property]) => [name, this.schemaOf(property, use)])),
      ...(required.length > 0 && { required }),
      ...(use === 'request' && { additionalProperties: false }),
    };
  }
}

function orNull(form: JsonSchema): JsonSchema {
  if (form['anyOf'] !== undefined) return { anyOf: [...(form['anyOf'] as object[]), { type: 'null' }] };
  const values = form['enum'] as readonly string[] | undefined;
  return { ...form, type: [form['type'], 'null'], ...(values !== undefined && { enum: [...values, null] }) };
}

function defined(form: JsonSchema): JsonSchema {
  return Object.fromEntries(Object.entries(form).filter(([, value]) => value !== undefined));
}

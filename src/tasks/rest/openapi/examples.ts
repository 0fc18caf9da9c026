import type { ObjectSchema, Schema } from '../../../base/schema/schema.ts';
import { ANSWER_EXAMPLES } from './answer-examples.ts';
import { NAMED, REQUEST_EXAMPLES } from './request-examples.ts';

const WRITTEN: Readonly<Record<string, object>> = { ...REQUEST_EXAMPLES, ...ANSWER_EXAMPLES };

/** Collects the examples of bodies for `components.examples`. */
export class ExampleTable {
  readonly #used = new Map<string, object>();

  /**
   * The `examples` of a body with this schema.
   *
   * @param operation names the example if the schema has no name
   */
  examplesOf(schema: ObjectSchema, operation: string): object {
    const { name = operation } = schema;
    this.#used.set(name, { value: exampleOf(schema) });
    return { [name]: { $ref: `#/components/examples/${name}` } };
  }

  /** By name. */
  all(): Record<string, object> {
    return Object.fromEntries([...this.#used].sort(([a], [b]) => (a < b ? -1 : 1)));
  }
}

/** The written example of a schema, or one that is made from the examples of its required fields. */
function exampleOf(schema: Schema): unknown {
  switch (schema.type) {
    case 'object':
      return (schema.name === undefined ? undefined : WRITTEN[schema.name]) ?? objectOf(schema);
    case 'array':
      return [exampleOf(schema.items)];
    case 'record':
      return {};
    case 'one_of':
      return exampleOf(schema.of[0]);
    case 'any':
      return schema.shows === undefined ? null : exampleOf(schema.shows);
    case 'boolean':
      return false;
    case 'number':
      return schema.nullable === true ? null : (schema.min ?? 1);
    case 'string':
      return schema.nullable === true
        ? null
        : (schema.enum?.[0] ?? OF_FORMATS[schema.format ?? ''] ?? 'text');
  }
}

const OF_FORMATS: Readonly<Record<string, string>> = {
  'date-time': NAMED.time,
  uri: 'https://mail.example.com/tasks',
};

function objectOf({ properties }: ObjectSchema): object {
  const required = Object.entries(properties).filter(([, property]) => property.optional !== true);
  return Object.fromEntries(required.map(([name, property]) => [name, exampleOf(property)]));
}

import type { ObjectSchema, Schema } from './schema.ts';

/** An example of a value: the one that its schema has, or one that is made from the examples of its parts. */
export function exampleOf(schema: Schema): unknown {
  if (schema.type === 'object') return objectOf(schema);
  if (schema.example !== undefined) return schema.example;
  if (schema.nullable === true) return null;
  switch (schema.type) {
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
      return schema.min ?? 1;
    case 'string':
      return schema.enum?.[0] ?? OF_FORMATS[schema.format ?? ''] ?? 'text';
  }
}

/** All required properties, and the others that have an example. */
function objectOf({ properties, nullable, example }: ObjectSchema): unknown {
  if (nullable === true && example === undefined) return null;
  const shown = Object.entries(properties).filter(
    ([, property]) => property.optional !== true || property.example !== undefined,
  );
  const made = Object.fromEntries(shown.map(([name, property]) => [name, exampleOf(property)]));
  return { ...made, ...(example as object | undefined) };
}

const OF_FORMATS: Readonly<Record<string, string>> = {
  'date-time': '2026-03-01T10:00:00.000Z',
  uri: 'https://mail.example.com/tasks',
};

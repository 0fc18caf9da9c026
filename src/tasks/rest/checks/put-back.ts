import { isDeepStrictEqual } from 'node:util';
import { FieldReader, type Fields } from './field-reader.ts';
import type { AnySchema, ObjectSchema } from './schema.ts';

const READ_ONLY: AnySchema = {
  type: 'any',
  optional: true,
  nullable: true,
  readOnly: true,
  description: 'Accepted as GET shows it, so that what was read can be sent back.',
};

/** The schema of a change that accepts the other fields of the answer, too: see {@link writableFields}. */
export function acceptingAnswer(changes: ObjectSchema, answer: ObjectSchema): ObjectSchema {
  const others = Object.keys(answer.properties).filter(name => !Object.hasOwn(changes.properties, name));
  const readOnly = Object.fromEntries(others.map(name => [name, READ_ONLY]));
  return { ...changes, properties: { ...changes.properties, ...readOnly } };
}

/**
 * The fields of a body that a change can set. The others are left out if they are as the answer to a GET shows them.
 *
 * @param writable the fields that can be set, before {@link acceptingAnswer}
 * @param shown what a GET shows now
 * @param moving names of fields that change without anybody's request: they are left out whatever they are
 * @throws Problem `validation_failed` that names each read-only field with another value
 */
export function writableFields(
  body: Fields,
  writable: ObjectSchema,
  shown: Fields,
  moving: ReadonlySet<string>,
): Fields {
  const fields: Record<string, unknown> = {};
  const reader = new FieldReader();
  for (const [name, value] of Object.entries(body)) {
    if (Object.hasOwn(writable.properties, name)) fields[name] = value;
    else if (!moving.has(name) && !isDeepStrictEqual(value, shown[name]))
      reader.fault(`/${name}`, 'read_only', 'is read-only, and has another value: leave it out');
  }
  reader.finish();
  return fields;
}

/** The fields that are not as they are shown. */
export function changedFields(fields: Fields, shown: Fields): Fields {
  const changed = Object.entries(fields).filter(([name, value]) => !isDeepStrictEqual(value, shown[name]));
  return Object.fromEntries(changed);
}

import t from 'tap';
import type { JsonSchema, OpenApi } from '../../../pages/docs/openapi.ts';
import { fieldNames, fieldsOf, readOnlyNames, typeOf } from '../../../pages/docs/schema/fields.ts';

const RETRY: JsonSchema = { type: 'object', properties: { base: { type: 'string' } } };

const DOCUMENT = { components: { schemas: { Retry: RETRY } } } as unknown as OpenApi;

const RETRY_REFERENCE = { $ref: '#/components/schemas/Retry' };

t.test('types are words', async t => {
  const words: readonly (readonly [JsonSchema, string])[] = [
    [{ type: 'string' }, 'text'],
    [{ type: ['string', 'null'] }, 'text or null'],
    [{ type: 'string', format: 'date-time' }, 'time (RFC 3339)'],
    [{ type: 'string', contentEncoding: 'base64' }, 'bytes in base64'],
    [{ type: 'integer' }, 'whole number'],
    [{ type: 'boolean' }, 'true or false'],
    [{ type: 'array', items: { type: 'integer' } }, 'list of whole number'],
    [{ type: 'object', additionalProperties: { type: 'string' } }, 'names with text'],
    [{ type: 'object', properties: {} }, 'object'],
    [{ anyOf: [{ type: 'string' }, { type: 'number' }, { type: 'null' }] }, 'text, number or null'],
    [RETRY_REFERENCE, 'Retry'],
    [{ oneOf: [RETRY_REFERENCE, { type: 'null' }] }, 'Retry or null'],
    [{}, 'any JSON'],
  ];
  for (const [schema, expected] of words) t.equal(typeOf(DOCUMENT, schema), expected);
});

t.test('a field has its bounds, its values and the fields inside', async t => {
  const schema: JsonSchema = {
    type: 'object',
    required: ['name'],
    properties: {
      name: { type: 'string', minLength: 1, maxLength: 9, pattern: '^a', description: 'Unique.' },
      kind: { type: ['string', 'null'], enum: ['a', 'b', null] },
      share: { type: 'number', minimum: 0, maximum: 1 },
      count: { type: 'integer', minimum: 0 },
      many: { type: 'array', items: { type: 'string' }, maxItems: 3 },
      retry: { oneOf: [RETRY_REFERENCE, { type: 'null' }] },
      retries: { type: 'array', items: RETRY_REFERENCE },
      id: { readOnly: true },
    },
  };
  const fields = fieldsOf(DOCUMENT, schema);
  t.match(fields, [
    {
      name: 'name',
      isRequired: true,
      bounds: '1 to 9 characters, matches ^a',
      description: 'Unique.',
      inner: null,
    },
    { name: 'kind', isRequired: false, values: ['a', 'b'], bounds: '' },
    { name: 'share', bounds: '0 to 1' },
    { name: 'count', bounds: '' },
    { name: 'many', bounds: 'at most 3 items' },
    { name: 'retry', inner: RETRY },
    { name: 'retries', inner: RETRY },
  ]);
  t.equal(fields.length, 7, 'fields that can only be sent back are left out');
  t.same(readOnlyNames(DOCUMENT, schema), ['id']);
  t.ok(fieldNames(DOCUMENT, schema).includes('base'), 'the search finds inner fields');
});

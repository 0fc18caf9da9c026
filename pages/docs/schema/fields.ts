import { type JsonSchema, nameOf, type OpenApi, resolved } from '../openapi.ts';

/** A field of an object, ready to be shown. */
export interface Field {
  readonly name: string;
  readonly isRequired: boolean;
  /** `text`, `list of Task`, `whole number or null`. */
  readonly type: string;
  /** `at most 64 characters`; empty if there are none. */
  readonly bounds: string;
  /** Accepted values; empty if there is no list of them. */
  readonly values: readonly string[];
  readonly description: string;
  /** The fields of the object in it, or of the objects in its list; null if there are none. */
  readonly inner: JsonSchema | null;
}

/** The fields of an object in the order of the document, without those that can only be sent back unchanged. */
export function fieldsOf(document: OpenApi, schema: JsonSchema): Field[] {
  const { properties = {}, required = [] } = resolved<JsonSchema>(document, schema);
  return Object.entries(properties)
    .filter(([, property]) => property.readOnly !== true)
    .map(([name, property]) => fieldOf(document, name, property, required.includes(name)));
}

/** Names of the fields that a request can only send back unchanged. */
export function readOnlyNames(document: OpenApi, schema: JsonSchema): string[] {
  const { properties = {} } = resolved<JsonSchema>(document, schema);
  return Object.keys(properties).filter(name => properties[name].readOnly === true);
}

/** Names of all fields, including those of inner objects. */
export function fieldNames(document: OpenApi, schema: JsonSchema): string[] {
  return fieldsOf(document, schema).flatMap(({ name, inner }) => [
    name,
    ...(inner === null ? [] : fieldNames(document, inner)),
  ]);
}

function fieldOf(document: OpenApi, name: string, schema: JsonSchema, isRequired: boolean): Field {
  const form = formOf(document, schema);
  const inner = innerOf(document, form);
  return {
    name,
    isRequired,
    type: typeOf(document, schema),
    bounds: boundsOf(form),
    values: (form.enum ?? form.items?.enum ?? []).filter(value => value !== null).map(String),
    description: schema.description ?? form.description ?? '',
    inner,
  };
}

/** The schema behind references and `null`. */
function formOf(document: OpenApi, schema: JsonSchema): JsonSchema {
  const whole = resolved<JsonSchema>(document, schema);
  const choices = (whole.oneOf ?? whole.anyOf ?? []).filter(({ type }) => type !== 'null');
  return choices.length === 1 ? formOf(document, choices[0]) : whole;
}

function innerOf(document: OpenApi, form: JsonSchema): JsonSchema | null {
  const item = form.items === undefined ? form : formOf(document, form.items);
  return item.properties === undefined ? null : item;
}

const WORDS: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'whole number',
  boolean: 'true or false',
};

const FORMATS: Readonly<Record<string, string>> = {
  'date-time': 'time (RFC 3339)',
  uri: 'URL',
  'uri-reference': 'URL reference',
  'json-pointer': 'JSON pointer',
};

/** The type in words. */
export function typeOf(document: OpenApi, schema: JsonSchema): string {
  const choices = schema.oneOf ?? schema.anyOf;
  if (choices !== undefined) return anyOf(choices.map(choice => typeOf(document, choice)));
  if (schema.$ref !== undefined) return nameOf(schema);
  const { type, format = '', items, additionalProperties, contentEncoding } = schema;
  if (type === undefined) return 'any JSON';
  const types = typeof type === 'string' ? [type] : type;
  const words = types.map(one => {
    if (one === 'array') return items === undefined ? 'list' : `list of ${typeOf(document, items)}`;
    if (one === 'object' && typeof additionalProperties === 'object') {
      return `names with ${typeOf(document, additionalProperties)}`;
    }
    if (one !== 'string') return WORDS[one] ?? one;
    return contentEncoding === undefined ? (FORMATS[format] ?? 'text') : `bytes in ${contentEncoding}`;
  });
  return anyOf(words);
}

/** `text, number or null`. */
function anyOf(words: readonly string[]): string {
  const [last] = words.slice(-1);
  return words.length < 2 ? last : `${words.slice(0, -1).join(', ')} or ${last}`;
}

/** Longer patterns say less than the description of the field. */
const MAX_PATTERN_LENGTH = 48;

function boundsOf(schema: JsonSchema): string {
  const { minLength, maxLength, minimum, maximum, minItems, maxItems, maxProperties, pattern } = schema;
  return [
    rangeOf(minLength, maxLength, 'characters'),
    rangeOf(minimum, maximum, ''),
    rangeOf(minItems, maxItems, 'items'),
    rangeOf(undefined, maxProperties, 'names'),
    pattern === undefined || pattern.length > MAX_PATTERN_LENGTH ? '' : `matches ${pattern}`,
  ]
    .filter(text => text !== '')
    .join(', ');
}

function rangeOf(least: number | undefined, most: number | undefined, unit: string): string {
  const end = unit === '' ? '' : ` ${unit}`;
  if (least !== undefined && most !== undefined)
    return least === most ? `${least}${end}` : `${least} to ${most}${end}`;
  if (most !== undefined) return `at most ${most}${end}`;
  return least === undefined || (unit === '' && least === 0) ? '' : `at least ${least}${end}`;
}

import type { ProblemPart } from './problem.ts';
import type { ObjectSchema, Schema } from './schema.ts';
import { compileRules, type RuleFault } from './schema-rules.ts';

/** An answer lists no more faults than this. */
export const MAX_FAULTS = 50;
/** So many are looked at, where several may stand for one. */
const MAX_READ_FAULTS = 4 * MAX_FAULTS;
/** Records and arrays that say nothing else are bound by this. */
const MAX_ENTRIES = 1_000;
/** Of a name that the caller made up, so much is repeated. */
const MAX_NAME_LENGTH = 64;

/** The faults of a body, at most {@link MAX_FAULTS}; null when there are none. */
export interface SchemaCheck {
  (body: unknown): readonly ProblemPart[] | null;
  readonly schema: ObjectSchema;
  /** Maximum number of items of lists, by name, that are counted before the body is parsed; see {@link scanJson}. */
  readonly counted: ReadonlyMap<string, number>;
}

/**
 * Compiles the check of a body. Every fault is told, with a JSON pointer, and fields that the schema does not name are
 * faults of code `unknown_field`. No fault repeats a value.
 */
export function compileSchema(schema: ObjectSchema): SchemaCheck {
  const check = compileRules(rulesOf(schema));
  const whole = (body: unknown) => {
    const faults = check(body);
    return faults === true ? null : partsOf(faults, body);
  };
  return Object.assign(whole, { schema, counted: countedOf(schema) });
}

function countedOf({ properties }: ObjectSchema): ReadonlyMap<string, number> {
  const counted = new Map<string, number>();
  for (const [name, property] of Object.entries(properties)) {
    if (property.type === 'array' && property.tooMany !== undefined)
      counted.set(name, property.max ?? MAX_ENTRIES);
  }
  return counted;
}

/** The notation of fastest-validator. Fresh objects throughout: it takes one that it sees twice for a cycle. */
function rulesOf(schema: Schema): object {
  const common = { optional: schema.optional === true, nullable: schema.nullable === true };
  switch (schema.type) {
    case 'string': {
      const { type, min, max, pattern, accepts = `match ${pattern}`, enum: values } = schema;
      const messages = pattern && {
        stringPattern: JSON.stringify(`it has to ${accepts}`).slice(1, -1),
      };
      return { ...common, type, min, max, pattern, enum: values, messages };
    }
    case 'number': {
      const { type, min, max, integer } = schema;
      return { ...common, type, min, max, integer };
    }
    case 'boolean':
    case 'any':
      return { ...common, nullable: schema.type === 'any' || common.nullable, type: schema.type };
    case 'array':
      return {
        ...common,
        type: 'array',
        items: rulesOf(schema.items),
        min: schema.min,
        max: schema.max ?? MAX_ENTRIES,
      };
    case 'record':
      return {
        ...common,
        type: 'record',
        value: rulesOf(schema.values),
        max: schema.maxEntries ?? MAX_ENTRIES,
      };
    case 'one_of':
      return { ...common, type: 'multi', rules: schema.of.map(rulesOf) };
    case 'object': {
      const properties = Object.entries(schema.properties).map(([name, property]) => [
        name,
        rulesOf(property),
      ]);
      return { ...common, type: 'object', strict: true, properties: Object.fromEntries(properties) };
    }
  }
}

/** Where a fault is: the pointer, and the value that stands there. */
interface Place {
  readonly pointer: string;
  readonly value: unknown;
}

function partsOf(faults: readonly RuleFault[], body: unknown): readonly ProblemPart[] {
  const parts: ProblemPart[] = [];
  for (const [pointer, { value, all }] of byPlace(faults, body)) {
    for (const fault of all) {
      if (fault.type === 'objectStrict') parts.push(...unknownFields(pointer, value, String(fault.expected)));
      else parts.push({ pointer, code: 'validation_failed', detail: detailOf(fault, value) });
      if (parts.length >= MAX_FAULTS) return parts.slice(0, MAX_FAULTS);
    }
  }
  return parts;
}

/**
 * Faults by their places. Where one of several schemas had to fit, all have told their faults: of a value that is of
 * the right kind for one of them, nobody wants to hear that it is of the wrong kind for the others.
 */
function byPlace(
  faults: readonly RuleFault[],
  body: unknown,
): ReadonlyMap<string, { readonly value: unknown; readonly all: readonly RuleFault[] }> {
  const places = new Map<string, { value: unknown; all: RuleFault[] }>();
  for (const fault of faults.slice(0, MAX_READ_FAULTS)) {
    const { pointer, value } = placeOf(fault.field ?? '', body);
    const place = places.get(pointer) ?? { value, all: [] };
    place.all.push(fault);
    places.set(pointer, place);
  }
  for (const [pointer, place] of places) {
    const ofKind = place.all.filter(({ type }) => KINDS[type] === undefined);
    const below = [...places.keys()].some(other => other.startsWith(`${pointer}/`));
    if (ofKind.length > 0 || (below && pointer !== '')) place.all = ofKind;
    else if (place.all.length > 1)
      place.all = [{ ...place.all[0], type: 'kinds', expected: kindsOf(place.all) }];
  }
  return places;
}

/** Follows the names and places of a fault through the body. */
function placeOf(field: string, body: unknown): Place {
  let value: unknown = body;
  let pointer = '';
  for (const [, name, place] of field.matchAll(/([^.[]+)|\[(\d+)\]/g)) {
    const step = place ?? name.replaceAll('~3', '[').replaceAll('~2', '.').replaceAll('~0', '~');
    pointer += `/${pointerPart(step)}`;
    value = (value as Record<string, unknown> | null | undefined)?.[step];
  }
  return { pointer, value };
}

/** One step of a JSON pointer (RFC 6901), cut to a length at which it can be repeated. */
export function pointerPart(name: string): string {
  const short = name.length > MAX_NAME_LENGTH ? `${name.slice(0, MAX_NAME_LENGTH)}…` : name;
  return short.replaceAll('~', '~0').replaceAll('/', '~1');
}

function unknownFields(pointer: string, value: unknown, allowed: string): ProblemPart[] {
  const known = new Set(allowed.split(', '));
  const names = Object.keys(value as object).filter(name => !known.has(name));
  return names.slice(0, MAX_FAULTS).map(name => ({
    pointer: `${pointer}/${pointerPart(name)}`,
    code: 'unknown_field',
    detail: `there is no such field; the fields here are: ${allowed}`,
  }));
}

/** Rules about the kind of a value, and what they ask for. */
const KINDS: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
};

function kindsOf(faults: readonly RuleFault[]): string {
  return [...new Set(faults.map(({ type }) => KINDS[type]))].join(' or ');
}

function detailOf({ type, expected, message }: RuleFault, value: unknown): string {
  // The library writes patterns into source code, where what it calls `expected` loses its backslashes.
  if (type === 'stringPattern') return message;
  if (type in KINDS) return `it has to be ${KINDS[type]}`;
  const detail = DETAILS[type];
  return detail === undefined ? 'it is not valid' : detail(expected, value);
}

const DETAILS: Readonly<Record<string, (expected: unknown, value: unknown) => string>> = {
  required: (_, value) => (value === null ? 'it must not be null' : 'it is required'),
  kinds: expected => `it has to be ${expected}`,
  stringMin: expected =>
    expected === 1 ? 'it must not be empty' : `it has to have at least ${expected} characters`,
  stringMax: expected => `it has to have at most ${expected} characters`,
  stringEnum: expected => `it has to be one of: ${expected}`,
  numberMin: expected => `it has to be at least ${expected}`,
  numberMax: expected => `it has to be at most ${expected}`,
  numberInteger: () => 'it has to be a whole number',
  arrayMin: expected => `it has to have at least ${expected} items`,
  arrayMax: expected => `it has to have at most ${expected} items`,
  recordMax: expected => `it has to have at most ${expected} entries`,
};

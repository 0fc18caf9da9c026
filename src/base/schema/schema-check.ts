import fastestValidator, { type ValidationError } from 'fastest-validator';
import { type ProblemPart, pointerPart } from './problem-part.ts';
import type { ArraySchema, ObjectSchema, RecordSchema, Schema } from './schema.ts';

/** Maximum number of faults in a response. */
export const MAX_FAULTS = 50;
/** Maximum number of faults that are read: several of them may become one fault of the response. */
const MAX_READ_FAULTS = 4 * MAX_FAULTS;
/** Maximum size of arrays and records whose schema has no limit. */
const MAX_ENTRIES = 1_000;

/** Returns the faults of a body, at most {@link MAX_FAULTS}; null if the body is valid. */
export interface SchemaCheck {
  (body: unknown): readonly ProblemPart[] | null;
  readonly schema: ObjectSchema;
  /** Maximum number of items of lists, by name, that are counted before the body is parsed; see {@link scanJson}. */
  readonly counted: ReadonlyMap<string, number>;
}

/** Several routes have the same schema, such as those of `PUT` and `PATCH`. */
const compiled = new WeakMap<ObjectSchema, (body: unknown) => readonly Fault[]>();

/**
 * Returns the check of a body. The check reports all faults, each with a JSON pointer. Fields that the schema does not
 * name are faults with the code `unknown_field`. No fault contains a value of the body.
 *
 * The schema is compiled for the first body, in a few milliseconds. Compiling all schemas at the start would delay the
 * start of each REST thread by a tenth of a second.
 */
export function schemaCheck(schema: ObjectSchema): SchemaCheck {
  const whole = (body: unknown) => {
    let check = compiled.get(schema);
    if (check === undefined) {
      check = compileRules(schema);
      compiled.set(schema, check);
    }
    const faults = check(body);
    return faults.length === 0 ? null : partsOf(faults, body);
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

/** A broken rule, by the name that fastest-validator gives it, such as `stringMax`. */
interface Fault {
  readonly type: string;
  readonly message: string;
  readonly expected: unknown;
  /** The names and indexes that lead to the value. */
  readonly steps: readonly (string | number)[];
}

// The package is a CommonJS module, but its declarations describe an ES module.
const Validator = fastestValidator as unknown as typeof fastestValidator.default;

/**
 * Without messages of its own, the library does not convert values to text, which fails for a value whose `toString` is
 * not a function. The details of faults are written here instead.
 */
const NO_MESSAGES = Object.fromEntries(Object.keys(new Validator().messages).map(name => [name, '']));

const validator = new Validator({
  considerNullAsAValue: true,
  useNewCustomCheckerFunction: true,
  messages: NO_MESSAGES,
});

/** The check of a schema, including the schemas below it. */
function compileRules(schema: Schema): (value: unknown) => readonly Fault[] {
  const check = validator.compile({ $$root: true, ...rulesOf(schema) });
  return value => {
    const found = check(value) as true | FoundError[];
    return found === true ? [] : found.map(faultOf);
  };
}

/** An error of fastest-validator. `field` has the names of properties; `below` continues it in arrays and records. */
interface FoundError extends Omit<ValidationError, 'field'> {
  readonly field?: string;
  readonly below?: Fault['steps'];
}

function faultOf({ type, message = '', expected, field, below = [] }: FoundError): Fault {
  return { type, message, expected, steps: [...(field ? field.split('.') : []), ...below] };
}

type Rules = Readonly<Record<string, unknown>>;

/** A schema as fastest-validator expects it. It must not share objects, which the library takes for a cycle. */
function rulesOf(schema: Schema): Rules {
  const common = { optional: schema.optional === true, nullable: schema.nullable === true };
  switch (schema.type) {
    case 'string': {
      const { type, min, max, pattern, accepts = `match ${pattern}`, enum: values } = schema;
      // The library writes messages into source code without escaping them.
      const messages = pattern && { stringPattern: JSON.stringify(`must ${accepts}`).slice(1, -1) };
      return { ...common, type, min, max, pattern, enum: values, messages };
    }
    case 'number': {
      const { type, min, max, integer } = schema;
      return { ...common, type, min, max, integer };
    }
    case 'boolean':
      return { ...common, type: 'boolean' };
    case 'any':
      return { ...common, type: 'any', nullable: true };
    case 'array':
      return { ...common, type: 'custom', check: arrayCheck(schema) };
    case 'record':
      return { ...common, type: 'custom', check: recordCheck(schema) };
    case 'one_of':
      return { ...common, type: 'multi', rules: schema.of.map(rulesOf) };
    case 'object': {
      const properties = Object.entries(schema.properties).map(([name, one]) => [name, rulesOf(one)]);
      return { ...common, type: 'object', strict: true, properties: Object.fromEntries(properties) };
    }
  }
}

/** A `custom` function of fastest-validator: adds errors, and returns the value. */
type Check = (value: unknown, errors: Omit<FoundError, 'field'>[]) => unknown;

/** The library's own `array` rule goes on to check the items of an array that is too long. */
function arrayCheck({ items, min = 0, max = MAX_ENTRIES }: ArraySchema): Check {
  const check = items.type === 'any' ? null : compileRules(items);
  return (value, errors) => {
    if (!Array.isArray(value)) errors.push({ type: 'array' });
    else if (value.length > max) errors.push({ type: 'arrayMax', expected: max });
    else {
      if (value.length < min) errors.push({ type: 'arrayMin', expected: min });
      if (check !== null) checkEach(value.entries(), check, errors);
    }
    return value;
  };
}

/** The library's own `record` rule has no limit for the number of entries, and loses one that is named `__proto__`. */
function recordCheck({ values, maxEntries = MAX_ENTRIES }: RecordSchema): Check {
  const check = compileRules(values);
  return (value, errors) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) errors.push({ type: 'object' });
    else {
      const entries = Object.entries(value);
      if (entries.length > maxEntries) errors.push({ type: 'recordMax', expected: maxEntries });
      else checkEach(entries, check, errors);
    }
    return value;
  };
}

function checkEach(
  entries: Iterable<readonly [string | number, unknown]>,
  check: (value: unknown) => readonly Fault[],
  errors: Omit<FoundError, 'field'>[],
): void {
  for (const [step, value] of entries) {
    for (const { steps, ...fault } of check(value)) errors.push({ ...fault, below: [step, ...steps] });
    if (errors.length >= MAX_READ_FAULTS) return;
  }
}

function partsOf(faults: readonly Fault[], body: unknown): readonly ProblemPart[] {
  const parts: ProblemPart[] = [];
  for (const [pointer, { value, all }] of byPlace(faults, body)) {
    for (const fault of all) {
      if (fault.type === 'objectStrict') parts.push(...unknownFields(pointer, value, String(fault.expected)));
      else {
        const detail = `${pointer === '' ? 'The body' : pointer} ${detailOf(fault, value)}`;
        parts.push({ pointer, code: 'validation_failed', detail });
      }
      if (parts.length >= MAX_FAULTS) return parts.slice(0, MAX_FAULTS);
    }
  }
  return parts;
}

/**
 * Groups faults by their JSON pointers. A value that has to match one of several schemas has the faults of all of them.
 * If it has the type that one of the schemas requires, the faults about the types of the others are left out.
 */
function byPlace(
  faults: readonly Fault[],
  body: unknown,
): ReadonlyMap<string, { readonly value: unknown; readonly all: readonly Fault[] }> {
  const places = new Map<string, { value: unknown; all: Fault[] }>();
  for (const fault of faults.slice(0, MAX_READ_FAULTS)) {
    const pointer = fault.steps.map(step => `/${pointerPart(String(step))}`).join('');
    const place = places.get(pointer) ?? { value: valueAt(body, fault.steps), all: [] };
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

function valueAt(body: unknown, steps: Fault['steps']): unknown {
  let value = body;
  for (const step of steps) value = (value as Record<string, unknown> | null | undefined)?.[step];
  return value;
}

function unknownFields(parent: string, value: unknown, allowed: string): ProblemPart[] {
  // Without known fields, `allowed` is empty, and an empty name is unknown as well.
  const known = new Set(allowed === '' ? [] : allowed.split(', '));
  const names = Object.keys(value as object).filter(name => !known.has(name));
  return names.slice(0, MAX_FAULTS).map(name => {
    const pointer = `${parent}/${pointerPart(name)}`;
    const detail = `${pointer} is not a known field; known fields are: ${allowed || 'none'}`;
    return { pointer, code: 'unknown_field', detail };
  });
}

/** Rules about the type of a value, and the type that they require. */
const KINDS: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
};

function kindsOf(faults: readonly Fault[]): string {
  return [...new Set(faults.map(({ type }) => KINDS[type]))].join(' or ');
}

function detailOf({ type, expected, message }: Fault, value: unknown): string {
  if (type === 'stringPattern') return message;
  if (type in KINDS) return `must be ${KINDS[type]}`;
  const detail = DETAILS[type];
  return detail === undefined ? 'is not valid' : detail(expected, value);
}

const DETAILS: Readonly<Record<string, (expected: unknown, value: unknown) => string>> = {
  required: (_, value) => (value === null ? 'must not be null' : 'is required'),
  kinds: expected => `must be ${expected}`,
  stringMin: expected => (expected === 1 ? 'must not be empty' : `must have at least ${expected} characters`),
  stringMax: expected => `must have at most ${expected} characters`,
  stringEnum: expected => `must be one of: ${expected}`,
  numberMin: expected => `must be at least ${expected}`,
  numberMax: expected => `must be at most ${expected}`,
  numberInteger: () => 'must be a whole number',
  arrayMin: expected => `must have at least ${expected} items`,
  arrayMax: expected => `must have at most ${expected} items`,
  recordMax: expected => `must have at most ${expected} entries`,
};

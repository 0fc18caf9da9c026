import fastestValidator from 'fastest-validator';

/** One fault as fastest-validator tells it. */
export interface RuleFault {
  /** The rule that is broken: `stringMax`. */
  readonly type: string;
  /**
   * Names and places behind each other: `tasks[3].retry.base`; undefined for the whole. In names of records, which may
   * hold anything, `~`, `.` and `[` are written as `~0`, `~2` and `~3`.
   */
  readonly field?: string;
  readonly message: string;
  readonly expected?: unknown;
}

/** True, or every fault. */
type RuleCheck = (value: unknown) => true | readonly RuleFault[];

/** A rule on its way to source code. */
interface RuleParts {
  readonly schema: Readonly<Record<string, unknown>>;
  readonly messages: unknown;
}

/** A fault that a rule writes into source code. */
interface RuleError {
  readonly type: string;
  readonly expected?: unknown;
  /** An expression for the value at fault. */
  readonly actual?: string;
  readonly messages: unknown;
}

/** The parts of the library's compiler that our own rules call. */
interface Validator {
  add(
    name: string,
    rule: (this: Validator, parts: RuleParts, path: string, context: unknown) => { readonly source: string },
  ): void;
  compile(schema: object): RuleCheck;
  makeError(error: RuleError): string;
  getRuleFromSchema(schema: unknown): unknown;
  compileRule(rule: unknown, context: unknown, path: string, source: string, resultVariable: string): string;
}

// The declarations of the package are those of an ES module, which it is not.
const Validator = fastestValidator as unknown as new (options: object) => Validator;

/**
 * Faults never hold the value at fault. The library would turn it into text for its message, which fails for values
 * whose `toString` is no function, and the message would be a way for secrets into answers.
 */
class ValueFreeValidator extends Validator {
  override makeError({ actual: _, ...error }: RuleError): string {
    return super.makeError(error);
  }
}

/** Without the option, whatever may be left out could be null as well. */
const validator: Validator = new ValueFreeValidator({ considerNullAsAValue: true });

/** See {@link RuleFault.field}. */
const ESCAPED_KEY = `(/[~.[]/.test(key)
  ? key.replaceAll('~', '~0').replaceAll('.', '~2').replaceAll('[', '~3')
  : key)`;

/** Runs the check of an item, whose place in the document `field` says. */
const CHECK_ITEM = 'context.fn[%%INDEX%%](value, field, parent, errors, context);';

// The library's own rule goes on over the items of an array that is too long: a fault for each of a million. And it
// looks at each of those that may be anything.
validator.add('array', function ({ schema, messages }, path, context) {
  const fault = (type: string, expected?: unknown) => this.makeError({ type, expected, messages });
  const isAnything = (schema['items'] as { readonly type?: string }).type === 'any';
  const items = this.compileRule(
    this.getRuleFromSchema(schema['items']),
    context,
    `${path}[]`,
    CHECK_ITEM,
    'value',
  );
  return {
    source: `
      const list = value, listField = field;
      if (!Array.isArray(list)) { ${fault('array')} return list; }
      if (list.length > ${schema['max']}) { ${fault('arrayMax', schema['max'])} return list; }
      if (list.length < ${schema['min'] ?? 0}) { ${fault('arrayMin', schema['min'] ?? 0)} }
      ${isAnything ? 'return list;' : ''}
      for (let i = 0; i < list.length; i++) {
        field = (listField || '') + '[' + i + ']';
        value = list[i];
        ${items}
      }
      return list;`,
  };
});

// The library's own rule has no bound on the entries, and loses one that is named `__proto__`.
validator.add('record', function ({ schema, messages }, path, context) {
  const fault = (type: string, expected?: unknown) => this.makeError({ type, expected, messages });
  const values = this.compileRule(
    this.getRuleFromSchema(schema['value']),
    context,
    `${path}[key]`,
    CHECK_ITEM,
    'value',
  );
  return {
    source: `
      const record = value, recordField = field;
      if (typeof record !== 'object' || Array.isArray(record)) { ${fault('object')} return record; }
      const keys = Object.keys(record);
      if (keys.length > ${schema['max']}) { ${fault('recordMax', schema['max'])} return record; }
      for (const key of keys) {
        field = recordField ? recordField + '.' : '';
        field += ${ESCAPED_KEY};
        value = record[key];
        ${values}
      }
      return record;`,
  };
});

/**
 * Compiles rules in the notation of fastest-validator, with `array` and `record` as above: both need `max`.
 *
 * @throws Error when the rules are not valid
 */
export function compileRules(rules: object): RuleCheck {
  return validator.compile({ $$root: true, ...rules });
}

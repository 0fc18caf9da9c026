import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';

/** The key under which the whole document is known to the validator. */
const DOCUMENT = 'document';

/** Checks values against schemas in an OpenAPI document. */
export class SchemasOfDocument {
  readonly #ajv: Ajv2020;
  readonly #compiled = new Map<string, ValidateFunction>();

  /** @param formats what values hold of the formats that the document names */
  constructor(document: object, formats: Readonly<Record<string, RegExp>>) {
    this.#ajv = new Ajv2020({ strict: false, formats, allErrors: true, inlineRefs: false });
    this.#ajv.addSchema(document, DOCUMENT);
  }

  /**
   * What is wrong with a value; null if nothing is.
   *
   * @param steps the names that lead from the document to the schema
   */
  faultAt(steps: readonly (string | number)[], value: unknown): string | null {
    const names = steps.map(step => String(step).replaceAll('~', '~0').replaceAll('/', '~1'));
    const pointer = names.join('/');
    return this.faultOf(pointer, () => ({ $ref: `${DOCUMENT}#/${pointer}` }), value);
  }

  /**
   * The same for a schema that is not in the document.
   *
   * @param name of the schema, which is made and compiled once
   */
  faultOf(name: string, schema: () => object, value: unknown): string | null {
    let validate = this.#compiled.get(name);
    if (validate === undefined) {
      validate = this.#ajv.compile(schema());
      this.#compiled.set(name, validate);
    }
    return validate(value) ? null : JSON.stringify(validate.errors, null, 2);
  }
}

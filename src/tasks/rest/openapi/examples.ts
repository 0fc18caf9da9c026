import { exampleOf } from '../../../base/schema/example.ts';
import type { ObjectSchema } from '../../../base/schema/schema.ts';

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

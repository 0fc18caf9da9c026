import { createRequire } from 'node:module';
import type { RestResponse } from '../../../src/tasks/rest/http.ts';
import { openApiDocument } from '../../../src/tasks/rest/openapi.ts';
import { SchemaTable } from '../../../src/tasks/rest/openapi-schema.ts';
import { PathTable } from '../../../src/tasks/rest/path-table.ts';
import { PROBLEMS, type ProblemCode } from '../../../src/tasks/rest/problem.ts';
import type { Route } from '../../../src/tasks/rest/route.ts';

interface Validate {
  (value: unknown): boolean;
  readonly errors?: unknown;
}
interface Ajv {
  compile(schema: object): Validate;
}
// The declarations of the package are those of an ES module, which it is not.
const { Ajv2020 } = createRequire(import.meta.url)('ajv/dist/2020.js') as {
  Ajv2020: new (options: object) => Ajv;
};

interface Documented {
  readonly responses: Readonly<Record<string, { readonly description: string }>>;
}

/**
 * Compares answers with what their routes declare: a body that fits the schema and has no field beside it, or a problem
 * whose code the OpenAPI document names for the status.
 */
export class AnswerCheck {
  readonly #paths = new PathTable<Route>();
  readonly #document: { readonly paths: Record<string, Record<string, Documented>> };
  readonly #ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
  readonly #compiled = new Map<string, Validate>();

  constructor(routes: readonly Route[]) {
    for (const route of routes) this.#paths.add(route.method, route.path, route);
    this.#document = openApiDocument(routes, 'test') as never;
  }

  /** Whether the answers of a path are known; those of other routes are not looked at. */
  check(method: string, path: string, response: RestResponse): void {
    const found = this.#paths.find(method, path.replace(/^\/api/, ''));
    if (found === null || 'allowed' in found) return;
    const route = found.entry;
    const fault = response.status < 300 ? this.#answer(route, response) : this.#problem(route, response);
    if (fault !== null) {
      throw new Error(`${route.operation} answered ${response.status} ${response.body}\n${fault}`);
    }
  }

  #answer(route: Route, { status, body, headers }: RestResponse): string | null {
    const declared = route.answers[status];
    if (declared === undefined) return 'the route declares no such status';
    if (declared.schema === undefined) return body === '' ? null : 'the route declares no body';
    if (headers['Content-Type'] !== 'application/json') return 'the body is not said to be JSON';
    const name = `${route.operation} ${status}`;
    let validate = this.#compiled.get(name);
    if (validate === undefined) {
      const table = new SchemaTable();
      // As of a request: so fields that the schema does not name are faults.
      const schema = table.schemaOf(declared.schema, 'request');
      validate = this.#ajv.compile({ ...schema, components: { schemas: table.all() } });
      this.#compiled.set(name, validate);
    }
    return validate(JSON.parse(body)) ? null : JSON.stringify(validate.errors, null, 2);
  }

  #problem(route: Route, { status, body, headers }: RestResponse): string | null {
    if (headers['Content-Type'] !== 'application/problem+json') return 'a problem has a type of its own';
    const { code, type, title, detail, status: said } = JSON.parse(body);
    const known = PROBLEMS[code as ProblemCode];
    if (known === undefined || known[0] !== status || said !== status) return 'the code has another status';
    if (type !== `/errors/${code}` || title !== known[1]) return 'type and title do not fit the code';
    if (typeof detail !== 'string' || detail.length < 10) return 'the detail says nothing';
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}');
    const { responses } = this.#document.paths[path][route.method.toLowerCase()];
    const documented = responses[String(status)]?.description.includes(`\`${code}\``);
    return documented ? null : 'the document does not name the code';
  }
}

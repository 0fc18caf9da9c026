import { createRequire } from 'node:module';

interface Validate {
  (value: unknown): boolean;
  readonly errors?: unknown;
}
interface Ajv {
  addSchema(schema: object, key: string): void;
  compile(schema: object): Validate;
}
// The declarations of the package are those of an ES module, which it is not.
const { Ajv2020 } = createRequire(import.meta.url)('ajv/dist/2020.js') as {
  Ajv2020: new (options: object) => Ajv;
};

/** A JSON Schema, as far as tests read it. */
export interface DocumentedSchema {
  readonly type?: string | readonly string[];
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, DocumentedSchema>>;
  readonly required?: readonly string[];
  readonly items?: DocumentedSchema;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
}

/** An operation of the document. */
export interface DocumentedOperation {
  readonly operationId: string;
  readonly security: readonly object[];
  readonly parameters: readonly {
    readonly name: string;
    readonly in: 'path' | 'query';
    readonly required: boolean;
    readonly schema: DocumentedSchema;
  }[];
  readonly requestBody?: {
    readonly content: { readonly 'application/json': { readonly schema: DocumentedSchema } };
  };
  readonly responses: Readonly<
    Record<string, { readonly description: string; readonly content: Record<string, object> }>
  >;
}

/** An answer of the operator's API as it came over the wire, with the names of its fields in lower case. */
export interface WireAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly text: string;
}

const DOCUMENT = 'document';
const FORMATS = {
  'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?Z$/,
  uri: /^https?:\/\/[\w.:-]+\/[\w/]*$/,
  'uri-reference': /^about:blank$/,
  'json-pointer': /^(?:\/(?:[^~/]|~[01])*)*$/,
};

/** Header fields that answers of a status have to have. */
const OF_STATUS: Readonly<Record<number, string>> = {
  401: 'www-authenticate',
  405: 'allow',
  429: 'retry-after',
};

/**
 * Compares answers with the OpenAPI document that the service itself serves: the status is listed, the body fits the schema
 * and has no field beside those that are described, the code of a problem is named for its status, and header fields are
 * those that all answers have.
 */
export class OperatorContract {
  readonly document: { readonly paths: Readonly<Record<string, Record<string, DocumentedOperation>>> };
  /** How often an operation was answered, by its name and the status: `getStatus 200`. */
  readonly seen = new Map<string, number>();
  readonly #ajv = new Ajv2020({ strict: false, formats: FORMATS, allErrors: true });
  readonly #compiled = new Map<string, Validate>();

  private constructor(document: OperatorContract['document']) {
    this.document = document;
    this.#ajv.addSchema(closed(document) as object, DOCUMENT);
  }

  /** @param debug `host:port` of the debug port */
  static async of(debug: string): Promise<OperatorContract> {
    const response = await fetch(`http://${debug}/api/v1/openapi.json`);
    return new OperatorContract((await response.json()) as OperatorContract['document']);
  }

  /** All operations with their method and path. */
  get operations(): {
    readonly method: string;
    readonly path: string;
    readonly operation: DocumentedOperation;
  }[] {
    return Object.entries(this.document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        method: method.toUpperCase(),
        path,
        operation,
      })),
    );
  }

  /**
   * What is wrong with an answer; null if nothing is.
   * @param target what follows `/api/v1`
   */
  fault(method: string, target: string, answer: WireAnswer): string | null {
    const found = this.#operation(method === 'HEAD' ? 'GET' : method, target.split('?', 1)[0]);
    const { status, headers, text } = answer;
    const name = found?.operation.operationId ?? 'none';
    this.seen.set(`${name} ${status}`, (this.seen.get(`${name} ${status}`) ?? 0) + 1);
    const fault =
      headerFault(answer) ??
      (method === 'HEAD' ? (text === '' ? null : 'HEAD has a body') : null) ??
      (found === null || method === 'HEAD' ? null : this.#documented(found, answer)) ??
      (status < 300 || method === 'HEAD' ? null : problemFault(answer));
    const shown = `${method} ${target.slice(0, 200)} (${name}) ${status} ${headers['content-type']}`;
    return fault === null ? null : `${fault}: ${shown} ${text.slice(0, 1_000)}`;
  }

  #operation(method: string, path: string) {
    const given = path.split('/');
    return (
      this.operations.find(({ method: own, path: template }) => {
        const steps = template.split('/');
        const fits = (step: string, i: number) =>
          step === given[i] || (step.startsWith('{') && given[i] !== '');
        return own === method && steps.length === given.length && steps.every(fits);
      }) ?? null
    );
  }

  #documented(
    { method, path, operation }: OperatorContract['operations'][number],
    { status, headers, text }: WireAnswer,
  ): string | null {
    const listed = operation.responses[String(status)];
    if (listed === undefined) return 'the document does not list the status';
    const [type] = Object.keys(listed.content);
    if (headers['content-type'] !== type) return `the type has to be ${type}`;
    const json = parsed(text);
    if (json === undefined) return 'the body is not JSON';
    if (status >= 300 && !listed.description.includes(`\`${(json as { code: string }).code}\``))
      return 'the document does not name the code';
    const steps = [
      'paths',
      path,
      method.toLowerCase(),
      'responses',
      String(status),
      'content',
      type,
      'schema',
    ];
    const pointer = steps.map(step => step.replaceAll('~', '~0').replaceAll('/', '~1')).join('/');
    const $ref = `${DOCUMENT}#/${encodeURI(pointer)}`;
    const validate = this.#compiled.get($ref) ?? this.#ajv.compile({ $ref });
    this.#compiled.set($ref, validate);
    return validate(json) ? null : JSON.stringify(validate.errors);
  }
}

function headerFault({ status, headers }: WireAnswer): string | null {
  if (headers['cache-control'] !== 'no-store') return 'caches may keep it';
  if (headers['x-content-type-options'] !== 'nosniff') return 'browsers may guess its type';
  const needed = OF_STATUS[status];
  if (needed !== undefined && headers[needed] === undefined) return `it has no ${needed}`;
  const other = Object.keys(headers).find(name => name.startsWith('access-control-'));
  return other === undefined ? null : `other origins get ${other}`;
}

function problemFault({ status, headers, text }: WireAnswer): string | null {
  if (headers['content-type'] !== 'application/problem+json') return 'it is no problem';
  const { title, detail, status: said } = (parsed(text) ?? {}) as Record<string, unknown>;
  if (said !== status) return 'body and status line have different statuses';
  if (typeof title !== 'string' || typeof detail !== 'string' || detail.length < 10) return 'it says nothing';
  return Buffer.byteLength(text) > 64 * 1024 ? 'it is longer than anybody reads' : null;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The same document, in which objects have the described properties only. Without any, they are open. */
function closed(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(closed);
  if (typeof node !== 'object' || node === null) return node;
  const copy = Object.fromEntries(Object.entries(node).map(([name, value]) => [name, closed(value)]));
  const { properties, additionalProperties } = copy;
  const isObject = typeof properties === 'object' && properties !== null && copy['type'] !== undefined;
  if (!isObject || additionalProperties !== undefined || Object.keys(properties).length === 0) return copy;
  return { ...copy, additionalProperties: false };
}

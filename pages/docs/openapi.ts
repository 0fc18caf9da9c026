/** The parts of an OpenAPI 3.1 document that this page shows. */
export interface OpenApi {
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly servers: readonly Server[];
  readonly paths: Readonly<Record<string, PathItem>>;
  readonly webhooks: Readonly<Record<string, PathItem>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>;
    readonly examples: Readonly<Record<string, Example>>;
    readonly headers: Readonly<Record<string, Header>>;
    readonly responses: Readonly<Record<string, Answer>>;
    readonly securitySchemes: Readonly<Record<string, { readonly description: string }>>;
  };
}

interface Server {
  readonly url: string;
  readonly description: string;
}

/** Operations by their method in lower case, and servers if they differ from those of the document. */
type PathItem = Readonly<Record<string, unknown>>;

export interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  /** One of these is needed; an empty object stands for none. */
  readonly security: readonly Readonly<Record<string, unknown>>[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: Body & { readonly required: boolean; readonly description?: string };
  readonly responses: Readonly<Record<string, Answer | Reference>>;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly description?: string;
  readonly required?: boolean;
  readonly schema: JsonSchema;
  readonly example?: string;
}

export interface Body {
  readonly content: Readonly<Record<string, Media>>;
}

export interface Media {
  readonly schema: JsonSchema;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, Reference>>;
}

/** A response of the service, or of a receiver. */
export interface Answer extends Partial<Body> {
  readonly description: string;
  readonly headers?: Readonly<Record<string, Header | Reference>>;
  /** Of a receiver: the event in the history of the task. */
  readonly 'x-effect'?: string;
}

export interface Header {
  readonly description: string;
  readonly schema: JsonSchema;
}

interface Example {
  readonly summary?: string;
  readonly description?: string;
  readonly value: unknown;
}

interface Reference {
  readonly $ref: string;
}

/** The keywords of JSON Schema that the document uses. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonSchema;
  readonly maxProperties?: number;
  readonly items?: JsonSchema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly oneOf?: readonly JsonSchema[];
  readonly anyOf?: readonly JsonSchema[];
  readonly enum?: readonly unknown[];
  readonly format?: string;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly contentEncoding?: string;
  readonly readOnly?: boolean;
}

/** Follows a reference into the document; other values are returned as they are. */
export function resolved<T extends object>(document: OpenApi, value: T | Reference): T {
  if (!('$ref' in value) || typeof value.$ref !== 'string') return value as T;
  let found: unknown = document;
  for (const step of value.$ref.split('/').slice(1)) found = (found as Record<string, unknown>)[step];
  return found as T;
}

/** The first example of a body; undefined if there is none. */
export function exampleOf(document: OpenApi, { example, examples = {} }: Media): unknown {
  const [first] = Object.values(examples);
  return first === undefined ? example : resolved<{ readonly value?: unknown }>(document, first).value;
}

/** The last step of a reference, which is the name of what it leads to. */
export function nameOf({ $ref }: { readonly $ref?: string }): string {
  return $ref?.slice($ref.lastIndexOf('/') + 1) ?? '';
}

import { type JsonSchema, SchemaTable } from '../../../base/schema/openapi-schema.ts';
import { OPERATOR_PROBLEMS, type OperatorProblemCode } from './problem.ts';
import type { OperatorRoute } from './route.ts';

/** Problems of all routes. */
const COMMON: readonly OperatorProblemCode[] = [
  'invalid_parameter',
  'cross_origin',
  'unknown_host',
  'not_found',
  'method_not_allowed',
  'internal',
  'not_supported',
  'store_unavailable',
  'no_rules',
  'overloaded',
];
const OF_CHANGES: readonly OperatorProblemCode[] = [
  'authentication_required',
  'invalid_token',
  'changes_disabled',
  'conflict',
  'rate_limited',
];
const OF_BODIES: readonly OperatorProblemCode[] = [
  'invalid_json',
  'body_too_large',
  'unsupported_media_type',
  'validation_failed',
];

const PROBLEM: JsonSchema = {
  type: 'object',
  description: 'RFC 9457.',
  properties: {
    type: { type: 'string', format: 'uri-reference' },
    title: { type: 'string' },
    status: { type: 'integer' },
    code: { type: 'string', enum: Object.keys(OPERATOR_PROBLEMS) },
    detail: { type: 'string' },
    errors: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          pointer: { type: 'string', format: 'json-pointer' },
          parameter: { type: 'string' },
          code: { type: 'string' },
          detail: { type: 'string' },
        },
        required: ['code', 'detail'],
      },
    },
  },
  required: ['type', 'title', 'status', 'code', 'detail'],
};

/** The OpenAPI 3.1 document of the routes. */
export function openApiDocument(routes: readonly OperatorRoute[], prefix: string, version: string): object {
  const schemas = new SchemaTable();
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}');
    paths[path] ??= {};
    paths[path][route.method.toLowerCase()] = operationOf(route, schemas);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: "Sluice operator's API",
      version,
      description:
        'Limits, counters, rule loads and tenants of one Sluice process, on its debug port. Reading needs no credentials. ' +
        'Changes need the token of `ADMIN_TOKEN` or `ADMIN_TOKEN_FILE`, and each change is a line in the log.',
    },
    servers: [{ url: prefix }],
    paths,
    components: {
      securitySchemes: {
        operator: { type: 'http', scheme: 'bearer', description: 'The token of `ADMIN_TOKEN`.' },
      },
      schemas: { ...schemas.all(), Problem: PROBLEM },
    },
  };
}

function operationOf(route: OperatorRoute, schemas: SchemaTable): object {
  const { answer, body, access, query = {} } = route;
  const inPath = [...route.path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
  const inQuery = Object.entries(query).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    required: schema.optional !== true,
    ...(description !== undefined && { description }),
    schema: schemas.schemaOf(schema, 'request'),
  }));
  const problems = [
    ...COMMON,
    ...(access === 'change' ? OF_CHANGES : []),
    ...(body === undefined ? [] : OF_BODIES),
    ...(route.problems ?? []),
  ];
  return {
    operationId: route.operation,
    summary: route.summary,
    tags: [route.path.split('/')[1]],
    security: access === 'change' ? [{ operator: [] }] : [],
    parameters: [...inPath, ...inQuery],
    ...(body !== undefined && {
      requestBody: {
        required: true,
        content: { 'application/json': { schema: schemas.schemaOf(body, 'request') } },
      },
    }),
    responses: {
      [answer.status ?? 200]: {
        description: answer.description,
        content: {
          ['stream' in route ? 'text/event-stream' : 'application/json']: {
            schema: schemas.schemaOf(answer.schema, 'answer'),
          },
        },
      },
      ...problemAnswers(problems),
    },
  };
}

/** One response for each status, with its problem codes. */
function problemAnswers(codes: readonly OperatorProblemCode[]): Record<string, object> {
  const texts = new Map<number, string[]>();
  for (const code of codes) {
    const [line, title] = OPERATOR_PROBLEMS[code];
    const status = Number.parseInt(line, 10);
    texts.set(status, [...(texts.get(status) ?? []), `\`${code}\`: ${title}.`]);
  }
  return Object.fromEntries(
    [...texts].map(([status, all]) => [
      String(status),
      {
        description: all.join(' '),
        content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
      },
    ]),
  );
}

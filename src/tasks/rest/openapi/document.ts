import { SchemaTable } from '../../../base/schema/openapi-schema.ts';
import type { ObjectSchema } from '../../../base/schema/schema.ts';
import { CREATE_ACCOUNT } from '../accounts/accounts.ts';
import { OPERATOR_ROUTES } from '../accounts/operator-accounts.ts';
import type { ProblemCode } from '../checks/problem-list.ts';
import { kindOf } from '../http/parts.ts';
import type { OperatorDescription, Route } from '../http/route.ts';
import { ExampleTable } from './examples.ts';
import { ANSWER_HEADERS, headersOf, PROBLEM, ProblemAnswers, problemExamples } from './problem-answers.ts';
import { CALLBACK_PAYLOAD, DELIVERY_EXAMPLES, deliveryWebhooks } from './webhooks.ts';

/** Problems of all routes of a tenant. */
const COMMON: readonly ProblemCode[] = [
  'invalid_parameter',
  'authentication_required',
  'invalid_token',
  'token_expired',
  'insufficient_role',
  'insufficient_scope',
  'tenant_not_found',
  'not_found',
  'not_acceptable',
  'body_too_large',
  'rate_limited',
  'internal',
  'store_unavailable',
  'identity_unavailable',
  'overloaded',
  'interrupted',
];
const OF_WRITES: readonly ProblemCode[] = ['tenant_suspended'];
const OF_BODIES: readonly ProblemCode[] = [
  'invalid_json',
  'unsupported_media_type',
  'validation_failed',
  'unknown_field',
];
const OF_PAGES: readonly ProblemCode[] = ['invalid_cursor'];
const OF_KEYS: readonly ProblemCode[] = ['idempotency_in_progress', 'idempotency_key_reused'];

/** Either of these authenticates the caller. */
const TENANT_SECURITY = [{ token: [] }, { jwt: [] }];

/** What the operations of a document share. */
interface Shared {
  readonly schemas: SchemaTable;
  readonly examples: ExampleTable;
  readonly problems: ProblemAnswers;
}

/** The OpenAPI 3.1 document of these routes and of the operator API (specification 3.14). */
export function openApiDocument(routes: readonly Route[], version: string): object {
  const shared: Shared = {
    schemas: new SchemaTable(),
    examples: new ExampleTable(),
    problems: new ProblemAnswers(),
  };
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    const path = openApiPath(route.path);
    paths[path] ??= {};
    paths[path][route.method.toLowerCase()] = operationOf(route, shared);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Sluice tasks',
      version,
      description:
        'Multi-tenant task scheduling. Tasks are executed at least once. A task that was accepted with 2xx survives the ' +
        'crash of any process of the service. A task has at most one active lease and starts no earlier than its ' +
        '`run_at`.',
    },
    servers: [{ url: '/api', description: 'The host of the tenant.' }],
    security: TENANT_SECURITY,
    paths: { ...paths, ...accountsPaths(shared) },
    webhooks: deliveryWebhooks(),
    components: {
      securitySchemes: {
        token: {
          type: 'http',
          scheme: 'bearer',
          description: 'A token of a user (`tk_…`), or of a pull worker (`wkt_…`) for its leases.',
        },
        jwt: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description:
            'A JSON Web Token of the identity provider, if the operator has configured one: signed with RS256, ES256 ' +
            'or EdDSA, with the claims `iss`, `aud`, `exp` and `sub`. `sub` is the `external_id` of a user.',
        },
        operator: { type: 'http', scheme: 'bearer', description: 'The token of the operator.' },
      },
      headers: ANSWER_HEADERS,
      responses: shared.problems.all(),
      schemas: { ...shared.schemas.all(), CallbackPayload: CALLBACK_PAYLOAD, Problem: PROBLEM },
      examples: { ...shared.examples.all(), ...DELIVERY_EXAMPLES, ...problemExamples() },
    },
  };
}

function openApiPath(path: string): string {
  return path.replaceAll(/:(\w+)/g, '{$1}');
}

function operationOf(route: Route, shared: Shared): object {
  const { access } = route;
  const common = kindOf(route.method) === 'write' ? [...COMMON, ...OF_WRITES] : COMMON;
  const words = {
    tags: [route.path.split('/')[2]],
    description:
      `Requires the role ${access.role} or a higher one.` +
      (access.scope === null ? '' : ` A token with scopes needs the scope \`${access.scope}\`.`) +
      (access.workers === true ? ' Pull workers can use their own token.' : ''),
    security: TENANT_SECURITY,
  };
  return operation(route, words, common, shared);
}

/**
 * @param words what the operation has beside its route, in the order of the document
 * @param common problems of all routes of this kind
 */
function operation(
  route: OperatorDescription,
  words: object,
  common: readonly ProblemCode[],
  shared: Shared,
): object {
  const { operation: operationId, summary, method, body, bodyOptional = false, query = {} } = route;
  // A body is checked even if the route has none, because it must be empty then.
  const checksBody = method !== 'GET' && method !== 'DELETE';
  const problems = [
    ...common,
    ...(checksBody ? OF_BODIES : []),
    ...(method === 'POST' ? OF_KEYS : []),
    ...('cursor' in query ? OF_PAGES : []),
    ...(route.problems ?? []),
  ];
  return {
    operationId,
    summary,
    ...words,
    parameters: parametersOf(route),
    ...(body !== undefined && { requestBody: requestBody(body, operationId, shared, !bodyOptional) }),
    responses: { ...answersOf(route, shared), ...shared.problems.of(problems) },
  };
}

const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  description: 'A repeated request with the same key gets the response to the first one, for 24 hours.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
};

function parametersOf(route: OperatorDescription): object[] {
  const inPath = [...route.path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string', maxLength: 255 },
  }));
  const inQuery = Object.entries(route.query ?? {}).map(([name, description]) => ({
    name,
    in: 'query',
    description,
    schema: { type: 'string' },
  }));
  const version = {
    name: 'If-Match',
    in: 'header',
    description: 'The ETag of the expected version, a list of ETags, or `*`.',
    schema: { type: 'string' },
  };
  return [
    ...inPath,
    ...inQuery,
    ...(route.method === 'POST' ? [IDEMPOTENCY_KEY] : []),
    ...(route.problems?.includes('version_mismatch') ? [version] : []),
  ];
}

function requestBody(
  schema: ObjectSchema,
  operation: string,
  { schemas, examples }: Shared,
  required: boolean,
): object {
  const json = {
    schema: schemas.schemaOf(schema, 'request'),
    examples: examples.examplesOf(schema, operation),
  };
  return { required, content: { 'application/json': json } };
}

function answersOf(
  { answers, operation }: Pick<Route, 'answers' | 'operation'>,
  { schemas, examples }: Shared,
): Record<string, object> {
  return Object.fromEntries(
    Object.entries(answers).map(([status, { description, schema }]) => [
      status,
      {
        description,
        headers: headersOf(Number(status)),
        ...(schema !== undefined && {
          content: {
            'application/json': {
              schema: schemas.schemaOf(schema, 'answer'),
              examples: examples.examplesOf(schema, operation),
            },
          },
        }),
      },
    ]),
  );
}

const OF_THE_SERVICE = [
  {
    url: '/',
    description: 'The host of the service. On its subdomain `accounts`, the path `/accounts` is `/`.',
  },
];

/** The paths of accounts. They have their own host, whose name is not known here, so the server is described in words. */
function accountsPaths(shared: Shared): Record<string, Record<string, unknown>> {
  const common = COMMON.filter(code => !code.startsWith('insufficient') && code !== 'token_expired');
  const tags = ['accounts'];
  const forAnyone = { tags, security: [{ operator: [] }, {}] };
  const forOperator = {
    tags,
    description: 'Only for the operator of the service.',
    security: [{ operator: [] }],
  };
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of [CREATE_ACCOUNT, ...OPERATOR_ROUTES]) {
    const path = openApiPath(route.path);
    paths[path] ??= { servers: OF_THE_SERVICE };
    const words = route === CREATE_ACCOUNT ? forAnyone : forOperator;
    paths[path][route.method.toLowerCase()] = operation(route, words, common, shared);
  }
  return paths;
}

import { gunzipSync } from 'node:zlib';
import t from 'tap';
import type { Route } from '../../../../../src/tasks/rest/http/route.ts';
import { openApiDocument } from '../../../../../src/tasks/rest/openapi/document.ts';
import { taskRoutes } from '../../../../../src/tasks/rest/routes.ts';
import { scheduleRoutes } from '../../../../../src/tasks/rest/schedules/schedules.ts';
import { hasFormOfOpenApi, schemasAreValid } from '../../../../support/openapi-form.ts';
import { RestHarness } from '../../../../support/tasks/rest-harness.ts';

// biome-ignore lint/suspicious/noExplicitAny: a document is read by its paths
type Document = any;

const SAMPLE: Route = {
  method: 'POST',
  path: '/v1/things/:id/parts',
  operation: 'addPart',
  summary: 'Adds a part',
  access: { role: 'member', scope: 'tasks:write', workers: true },
  query: { color: 'Of what color.' },
  bodyOptional: true,
  body: {
    type: 'object',
    name: 'NewPart',
    properties: {
      name: { type: 'string', min: 1, max: 9, pattern: /^[a-z/]+$/ },
      kind: { type: 'string', enum: ['a', 'b'], optional: true, nullable: true },
      wait: { type: 'one_of', of: [{ type: 'string' }, { type: 'number' }], optional: true, nullable: true },
      tags: { type: 'array', items: { type: 'string' }, max: 3, optional: true },
      labels: { type: 'record', values: { type: 'string' }, maxEntries: 2, optional: true },
      payload: { type: 'any', optional: true, description: 'Anything.' },
    },
  },
  answers: {
    201: {
      description: 'Made.',
      schema: { type: 'object', name: 'Part', properties: { id: { type: 'string' } } },
    },
    204: { description: 'Nothing.' },
  },
  problems: ['task_running', 'version_mismatch'],
  handle: () => ({ status: 204 }),
};

function sample(): Document {
  return openApiDocument([SAMPLE], '1.0.0');
}

/** A service with all routes there are. */
function whole(): RestHarness {
  return new RestHarness({ routes: parts => [...taskRoutes(parts), ...scheduleRoutes(parts)] });
}

t.test('the document is served without a token, on every host', async t => {
  const rest = new RestHarness();
  for (const host of ['acme.tasks.test', 'tasks.test']) {
    const answer = await rest.ask('GET', '/api/v1/openapi.json', { host });
    t.equal(answer.status, 200);
    t.equal(answer.headers['Content-Type'], 'application/json');
    t.match(answer.json, { openapi: '3.1.0', info: { version: '1.2.3' }, servers: [{ url: '/api' }] });
    t.match(Object.keys(answer.json.paths), ['/v1/users', '/v1/users/{id}', '/v1/users/{id}/tokens']);
    t.match(answer.json.paths['/accounts'].post, {
      operationId: 'createAccount',
      parameters: [{ name: 'Idempotency-Key', in: 'header' }],
      requestBody: {},
    });
  }
  t.equal((await rest.ask('POST', '/api/v1/openapi.json')).status, 405);
});

t.test('the document is compressed for a caller that takes gzip, each time it is asked', async t => {
  const rest = new RestHarness();
  const plain = await rest.ask('GET', '/api/v1/openapi.json', { headers: { 'accept-encoding': 'br' } });
  t.match(plain.headers, { 'Content-Encoding': undefined, Vary: 'Accept-Encoding' });
  for (let call = 0; call < 2; call++) {
    const { headers, encoded = new Uint8Array() } = await rest.ask('GET', '/api/v1/openapi.json', {
      headers: { 'accept-encoding': 'br, gzip' },
    });
    t.match(headers, {
      'Content-Type': 'application/json',
      'Content-Encoding': 'gzip',
      Vary: 'Accept-Encoding',
    });
    t.same(JSON.parse(gunzipSync(encoded).toString()), plain.json);
    // The memory of an answer goes to the thread that sends it.
    structuredClone(encoded, { transfer: [encoded.buffer as ArrayBuffer] });
  }
});

t.test('an operation has parameters, body, security, answers and problems', async t => {
  const document = sample();
  const operation = document.paths['/v1/things/{id}/parts'].post;
  t.same(
    operation.parameters.map((parameter: Document) => `${parameter.in} ${parameter.name}`),
    ['path id', 'query color', 'header Idempotency-Key', 'header If-Match'],
  );
  t.match(operation, {
    operationId: 'addPart',
    security: [{ token: [] }],
    description: /role member.*tasks:write.*own token/,
    requestBody: {
      required: false,
      content: { 'application/json': { schema: { $ref: '#/components/schemas/NewPart' } } },
    },
  });
  const statuses = Object.keys(operation.responses);
  for (const status of [
    '201',
    '204',
    '400',
    '401',
    '403',
    '404',
    '406',
    '409',
    '412',
    '413',
    '415',
    '422',
    '429',
    '500',
    '503',
  ])
    t.ok(statuses.includes(status), status);
  const { $ref } = operation.responses['409'];
  const running = sample().components.responses[$ref.split('/').at(-1)];
  t.match(running.description, /`task_running`: The task is running\./);
  t.equal(operation.responses['204'].content, undefined);
});

t.test('schemas say what the checks say', async t => {
  const { schemas } = sample().components;
  t.same(schemas.NewPart, {
    type: 'object',
    properties: {
      name: { type: 'string', minLength: 1, maxLength: 9, pattern: '^[a-z/]+$' },
      kind: { type: ['string', 'null'], enum: ['a', 'b', null] },
      wait: { anyOf: [{ type: 'string' }, { type: 'number' }, { type: 'null' }] },
      tags: { type: 'array', items: { type: 'string' }, maxItems: 3 },
      labels: { type: 'object', additionalProperties: { type: 'string' }, maxProperties: 2 },
      payload: { description: 'Anything.' },
    },
    required: ['name'],
    additionalProperties: false,
  });
  t.equal(schemas.Part.additionalProperties, undefined, 'answers may get further fields');
});

t.test('two schemas of one name are a mistake of ours', async t => {
  const other = {
    ...SAMPLE,
    path: '/v1/x',
    body: { type: 'object', name: 'NewPart', properties: {} },
  } as const;
  t.throws(() => openApiDocument([SAMPLE, other], '1'), /two schemas are named NewPart/);
});

t.test('every schema is one of JSON Schema 2020-12, and every reference leads somewhere', async t => {
  const rest = whole();
  for (const document of [sample(), (await rest.ask('GET', '/api/v1/openapi.json')).json])
    schemasAreValid(t, document);
});

t.test('the document has the form of OpenAPI 3.1', async t => {
  hasFormOfOpenApi(t, (await whole().ask('GET', '/api/v1/openapi.json')).json);
});

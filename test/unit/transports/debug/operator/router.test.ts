import { networkInterfaces } from 'node:os';
import type { Test } from 'tap';
import type { Clock } from '../../../../../src/base/clock.ts';
import { Fault } from '../../../../../src/base/fault.ts';
import { MAX_WRONG_TOKENS } from '../../../../../src/transports/debug/operator/authorization.ts';
import { MAX_API_BODY_BYTES } from '../../../../../src/transports/debug/operator/read-call.ts';
import type { OperatorCall, OperatorRoute } from '../../../../../src/transports/debug/operator/route.ts';
import { KeepingLogger } from '../../../../support/keeping-logger.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';
import { operatorApi } from '../../../../support/operator-api.ts';
import { sendRaw } from '../../../../support/raw-http.ts';
import { onEachEngine } from '../../http/on-each-engine.ts';
import { askingOperator, startedDebugServer } from '../debugging.ts';

const TOKEN = 'a-token-of-thirty-two-characters';

const ANSWER = {
  description: 'What was received.',
  schema: { type: 'object', properties: { params: { type: 'any' } } },
} as const;

function received({ params, query, body }: OperatorCall) {
  return { params, query, body };
}

const READ: OperatorRoute = {
  method: 'GET',
  path: '/things/:name',
  operation: 'getThing',
  summary: 'Read a thing',
  access: 'read',
  query: { count: { type: 'number', integer: true, min: 1, max: 9, optional: true } },
  answer: ANSWER,
  handle: call => ({ json: received(call) }),
};

const CHANGE: OperatorRoute = {
  method: 'PUT',
  path: '/things/:name',
  operation: 'putThing',
  summary: 'Change a thing',
  access: 'change',
  body: {
    type: 'object',
    properties: { size: { type: 'number', max: 5 }, reason: { type: 'string', max: 100, optional: true } },
  },
  answer: ANSWER,
  handle: call => ({ json: received(call), audit: { thing: call.params['name'] } }),
};

interface Options {
  readonly token?: string | null;
  readonly routes?: readonly OperatorRoute[];
  readonly clock?: Clock;
}

async function api(
  t: Test,
  { token = TOKEN, routes = [READ, CHANGE], clock = new ManualClock(0) }: Options = {},
) {
  const log = new KeepingLogger();
  const operator = operatorApi({ routes, token: async () => token, clock, log });
  const server = await startedDebugServer(t, clock, { operator });
  const ask = askingOperator(server);
  const put = (body: string, headers: Record<string, string> = {}) =>
    ask('/things/a', {
      method: 'PUT',
      body,
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${TOKEN}`, ...headers },
    });
  return { ask, put, log, server };
}

onEachEngine('reading needs no token; parameters arrive decoded and with their types', async t => {
  const { ask, log } = await api(t, { token: null });
  const { status, headers, json } = await ask('/things/a%2Fb?count=3');
  t.equal(status, 200);
  t.equal(headers.get('content-type'), 'application/json');
  t.equal(headers.get('cache-control'), 'no-store');
  t.equal(headers.get('access-control-allow-origin'), null);
  t.same(json, { params: { name: 'a/b' }, query: { count: 3 }, body: {} });
  t.equal((await ask('/things/a', { method: 'HEAD' })).status, 200);
  t.same(log.lines, [], 'reading is not logged');
});

onEachEngine('unknown paths, methods and parameters are problems', async t => {
  const { ask } = await api(t);
  const unknown = await ask('/nothing');
  t.equal(unknown.status, 404);
  t.equal(unknown.headers.get('content-type'), 'application/problem+json');
  t.match(unknown.json, { code: 'not_found', status: 404, title: 'Not found', detail: /openapi\.json/ });
  const method = await ask('/things/a', { method: 'DELETE' });
  t.equal(method.status, 405);
  t.equal(method.headers.get('allow'), 'HEAD, GET, PUT');
  t.equal((await ask('/things/%ff')).status, 404);
  t.equal((await ask(`/things/${'/'.repeat(1000)}`)).status, 404);
  const faults = {
    'count=10': 'The parameter count must be at most 9.',
    'count=x': 'The parameter count must be a number.',
    'count=1.5': 'The parameter count must be a whole number.',
    'count=1&count=2': 'The parameter count is given twice.',
    'cuont=1': 'The parameter cuont is not known; known parameters: count.',
    '__proto__=1': 'The parameter __proto__ is not known; known parameters: count.',
    '=1': 'The parameter "" is not known; known parameters: count.',
  };
  for (const [query, detail] of Object.entries(faults)) {
    const { status, json } = await ask(`/things/a?${query}`);
    t.equal(status, 400, query);
    t.match(json, { code: 'invalid_parameter', detail }, query);
  }
});

onEachEngine('without a configured token, a change is refused and the answer says what to set', async t => {
  const { put } = await api(t, { token: null });
  const { status, json } = await put('{"size":1}');
  t.equal(status, 403);
  t.match(json, { code: 'changes_disabled', detail: /ADMIN_TOKEN or ADMIN_TOKEN_FILE/ });
});

onEachEngine('a change needs the token, and is a line in the log that never has the token', async t => {
  const { put, log } = await api(t);
  const missing = await put('{"size":1}', { Authorization: '' });
  t.equal(missing.status, 401);
  t.match(missing.headers.get('www-authenticate'), /^Bearer/);
  for (const wrong of [`${TOKEN}x`, TOKEN.slice(1), TOKEN.toUpperCase(), 'x']) {
    const { status, json } = await put('{"size":1}', { Authorization: `Bearer ${wrong}` });
    t.equal(status, 401, wrong);
    t.equal(json.code, 'invalid_token');
  }
  t.equal((await put('{"size":1}', { Authorization: `Basic ${btoa(`a:${TOKEN}`)}` })).status, 401);
  t.same(log.lines, []);
  const done = await put('{"size":1,"reason":"the customer\\nasked"}');
  t.equal(done.status, 200);
  t.same(done.json, { params: { name: 'a' }, query: {}, body: { size: 1, reason: 'the customer\nasked' } });
  t.equal(log.lines.length, 1);
  t.match(JSON.stringify(log.lines), /putThing.*token [0-9a-f]{8} from 127\.0\.0\.1.*the customer/);
  t.notMatch(JSON.stringify(log.lines), TOKEN);
});

onEachEngine('after many wrong tokens, others wait for a minute, and the right one works', async t => {
  const clock = new ManualClock(0);
  const { put, log } = await api(t, { clock });
  const wrong = (i: number) => put('{"size":1}', { Authorization: `Bearer wrong-${i}` });
  for (let i = 0; i < MAX_WRONG_TOKENS; i++) t.equal((await wrong(i)).status, 401);
  const { status, headers, json } = await wrong(MAX_WRONG_TOKENS);
  t.equal(status, 429);
  t.equal(headers.get('retry-after'), '60');
  t.equal(json.code, 'rate_limited');
  t.equal((await put('{"size":1}')).status, 200, 'the operator is not locked out');
  clock.advance(60_000);
  t.match(log.lines[1], { level: 'warning', fields: { count: MAX_WRONG_TOKENS, lastFrom: '127.0.0.1' } });
  t.notMatch(JSON.stringify(log.lines), 'wrong-');
  t.equal((await wrong(0)).status, 401);
});

onEachEngine(
  'on a port of both address families, a network with wrong tokens does not block others',
  async t => {
    const interfaces = Object.values(networkInterfaces()).flat();
    if (!interfaces.some(each => each?.address === '::1'))
      return t.comment('skipped: this machine has no IPv6');
    const log = new KeepingLogger();
    const clock = new ManualClock(0);
    const operator = operatorApi({ routes: [READ, CHANGE], token: async () => TOKEN, clock, log });
    const server = await startedDebugServer(t, clock, { operator, host: '::' });
    const put = (host: string, token: string) =>
      fetch(`http://${host}:${server.port}/api/v1/things/a`, {
        method: 'PUT',
        body: '{"size":1}',
        headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
      });
    for (let i = 0; i < MAX_WRONG_TOKENS; i++) await put('127.0.0.1', `wrong-${i}`);
    t.equal((await put('127.0.0.1', 'wrong')).status, 429);
    t.equal((await put('[::1]', 'wrong')).status, 401);
    t.equal((await put('[::1]', TOKEN)).status, 200);
    t.match(log.lines[0]?.fields, { by: /from ::1$/ });
    clock.advance(60_000);
    t.match(log.lines[1]?.fields, { lastFrom: '::1' });
  },
);

onEachEngine('wrong tokens sent all at once are limited as well', async t => {
  const { put } = await api(t);
  const answers = await Promise.all(
    Array.from({ length: 30 }, (_, i) => put('{"size":1}', { Authorization: `Bearer wrong-${i}` })),
  );
  t.equal(answers.filter(({ status }) => status === 401).length, MAX_WRONG_TOKENS);
});

onEachEngine('a body is JSON with its media type, in UTF-8, small, and as described', async t => {
  const { put, log } = await api(t);
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data', '']) {
    t.equal((await put('{"size":1}', { 'Content-Type': type })).status, 415, type);
  }
  t.equal((await put('{"size":1}', { 'Content-Type': 'application/json; charset=utf-8' })).status, 200);
  t.equal((await put('{"size":')).json.code, 'invalid_json');
  t.equal((await put('')).json.code, 'invalid_json');
  const deep = `${'['.repeat(30_000)}${']'.repeat(30_000)}`;
  t.equal((await put(deep)).status, 422);
  t.match((await put('{"size":6,"__proto__":{"a":1}}')).json, {
    status: 422,
    errors: [
      { pointer: '/size', detail: '/size must be at most 5' },
      { pointer: '/__proto__', code: 'unknown_field' },
    ],
  });
  const large = await put(`{"size":1,"reason":"${'x'.repeat(MAX_API_BODY_BYTES)}"}`);
  t.equal(large.status, 413);
  t.equal(large.json.code, 'body_too_large');
  t.equal(log.lines.length, 1, 'only the change was logged');
});

onEachEngine(
  'requests of pages of other web sites are refused, and preflights get no permission',
  async t => {
    const { ask, server } = await api(t);
    const address = `127.0.0.1:${server.port}`;
    const withHead = (fields: string) =>
      sendRaw(address, `GET /api/v1/things/a HTTP/1.1\r\nHost: ${address}\r\n${fields}\r\n`);
    t.equal((await withHead('Origin: https://evil.example\r\n')).status, 403);
    t.equal((await withHead('Origin: null\r\n')).status, 403);
    t.equal((await withHead('Sec-Fetch-Site: cross-site\r\n')).status, 403);
    t.equal((await withHead('Sec-Fetch-Site: same-site\r\n')).status, 403);
    t.equal((await withHead(`Origin: http://${address}\r\nSec-Fetch-Site: same-origin\r\n`)).status, 200);
    t.equal((await withHead('Sec-Fetch-Site: none\r\n')).status, 200);
    const preflight = await ask('/things/a', { method: 'OPTIONS' });
    t.equal(preflight.status, 405);
    t.notOk([...preflight.headers.keys()].some(name => name.startsWith('access-control')));
  },
);

onEachEngine('faults of a handler are problems; a bug shows its cause in the log only', async t => {
  const thrown = [new Fault('store_failed', 'Redis is away'), new Error('a bug with details')];
  const failing: OperatorRoute = { ...READ, handle: () => Promise.reject(thrown.shift()) };
  const { ask, log } = await api(t, { routes: [failing] });
  t.match((await ask('/things/a')).json, { code: 'store_unavailable', status: 503, detail: 'Redis is away' });
  const { json } = await ask('/things/a');
  t.equal(json.code, 'internal');
  t.notMatch(json.detail, 'details');
  t.match(JSON.stringify(log.lines), /a bug with details/);
});

onEachEngine('a change that fails is logged as failed', async t => {
  const failing: OperatorRoute = {
    ...CHANGE,
    handle: () => Promise.reject(new Fault('store_failed', 'Redis is away')),
  };
  const { put, log } = await api(t, { routes: [failing] });
  t.equal((await put('{"size":1}')).status, 503);
  t.match(JSON.stringify(log.lines), /Operator change failed.*Redis is away/);
});

onEachEngine(
  'the OpenAPI document describes the routes with access, parameters, bodies and answers',
  async t => {
    const { ask } = await api(t);
    const { json, headers } = await ask('/openapi.json');
    t.equal(headers.get('content-encoding'), 'gzip');
    const plain = await ask('/openapi.json', { headers: { 'accept-encoding': 'identity' } });
    t.equal(plain.headers.get('content-encoding'), null);
    t.same(plain.json, json);
    t.equal(json.openapi, '3.1.0');
    t.equal(json.info.version, '1.2.3');
    t.same(Object.keys(json.paths), ['/things/{name}', '/openapi.json']);
    const { get, put } = json.paths['/things/{name}'];
    t.same(get.security, []);
    t.match(get.parameters, [
      { name: 'name', in: 'path', required: true },
      { name: 'count', in: 'query', required: false, schema: { type: 'integer', minimum: 1, maximum: 9 } },
    ]);
    t.same(put.security, [{ operator: [] }]);
    t.equal(put.requestBody.content['application/json'].schema.additionalProperties, false);
    t.match(put.responses['429'].description, 'rate_limited');
    t.equal(get.responses['429'], undefined);
  },
);

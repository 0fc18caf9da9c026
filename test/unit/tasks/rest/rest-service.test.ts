import t from 'tap';
import { Fault } from '../../../../src/base/fault.ts';
import type { ObjectSchema } from '../../../../src/base/schema/schema.ts';
import type { RestRequest } from '../../../../src/tasks/rest/http/http.ts';
import type { RestParts } from '../../../../src/tasks/rest/http/parts.ts';
import type { Call, RestAnswer, Route } from '../../../../src/tasks/rest/http/route.ts';
import { each } from '../../../support/each.ts';
import { problem, RestHarness } from '../../../support/tasks/rest-harness.ts';
import { testsOf } from '../../../support/tests-of.ts';

const test = testsOf(() => service());

/** A route that answers by a function; by default it tells what it was called with. */
function thing(part: Partial<Route>, handle: Route['handle'] = shown): Route {
  return {
    method: 'POST',
    path: '/v1/things',
    operation: 'createThing',
    summary: '',
    access: { role: 'member', scope: 'tasks:write' },
    answers: {},
    problems: [],
    ...part,
    handle,
  };
}

function shown({ tenant, params, query, body, bodyBytes, requestId, nowMs, caller }: Call): RestAnswer {
  return { status: 200, json: { tenant, params, query, body, bodyBytes, requestId, nowMs, caller } };
}

const BODY: ObjectSchema = {
  type: 'object',
  properties: { name: { type: 'string', optional: true }, size: { type: 'number', optional: true } },
};

function routes(): readonly Route[] {
  return [
    thing({ body: BODY }),
    thing({ method: 'GET', operation: 'listThings', query: { color: '', size: '' } }),
    thing({ method: 'GET', path: '/v1/things/:id', operation: 'getThing' }),
    thing({ path: '/v1/things/batch', operation: 'batchThings', body: BODY, bodyOptional: true }),
    thing({ path: '/v1/things/:id/parts/:part', operation: 'addPart' }),
  ];
}

async function service(made: (parts: RestParts) => readonly Route[] = routes) {
  const rest = new RestHarness({ routes: made });
  const { token, ownerId } = await rest.signUp();
  return { rest, token, ownerId };
}

test('a route gets tenant, caller, parameters and body, decoded', async ({ rest, token, ownerId }, t) => {
  const made = await rest.ask('POST', '/api/v1/things/a%2Fb/parts/x-1', { token, body: {} });
  t.match(made, { status: 200, json: { tenant: 'acme', params: { id: 'a/b', part: 'x-1' }, body: {} } });
  t.match(made.json.caller, { kind: 'user', userId: ownerId, role: 'owner', scopes: null });
  const listed = await rest.ask('GET', '/api/v1/things?color=dark+blue&size=%C3%A9', { token });
  t.same(listed.json.query, { color: 'dark blue', size: 'é' });
  const posted = await rest.ask('POST', '/api/v1/things', { token, body: { name: 'a', size: 2 } });
  t.match(posted.json, { body: { name: 'a', size: 2 }, bodyBytes: 21, nowMs: rest.clock.nowMs() });
});

test('every answer has an id, that of the request where it has one', async ({ rest, token }, t) => {
  const own = await rest.ask('GET', '/api/v1/things/a', { token });
  t.match(own.headers['X-Request-Id'], /^req_[0-9A-Z]{26}$/);
  t.equal(own.json.requestId, own.headers['X-Request-Id']);
  const given = await rest.ask('GET', '/api/v1/nothing', { token, headers: { 'x-request-id': 'abc-1.2:3' } });
  t.equal(given.headers['X-Request-Id'], 'abc-1.2:3');
  t.match(given.json, {
    type: '/errors/not_found',
    title: 'Not found',
    status: 404,
    code: 'not_found',
    instance: 'abc-1.2:3',
  });
  t.equal(given.headers['Content-Type'], 'application/problem+json');
});

test('an unknown path is 404, an unknown method 405 with those there are', async ({ rest, token }, t) => {
  for (const path of [
    '/api/v1/thing',
    '/api/v1/things/',
    '/api/v1/things/a/parts/',
    '/api',
    '/v1/things',
    '/',
  ])
    t.match(await rest.ask('GET', path, { token }), problem('not_found'), path);
  const wrong = await rest.ask('DELETE', '/api/v1/things', { token });
  t.match(wrong, problem('method_not_allowed'));
  t.equal(wrong.headers['Allow'], 'GET, POST, HEAD');
  t.equal((await rest.ask('GET', '/api/v1/things/batch', { token })).json.params.id, 'batch');
  t.equal((await rest.ask('HEAD', '/api/v1/things/a', { token })).status, 200);
  t.equal((await rest.ask('GET', `/api${'/x'.repeat(3000)}`, { token })).status, 404);
  t.equal((await rest.ask('GET', '/api/v1/things/%zz', { token })).status, 404);
  t.equal((await rest.ask('GET', `/api/v1/things/${'x'.repeat(256)}`, { token })).status, 404);
});

test('an unknown or repeated parameter is reported by name', async ({ rest, token }, t) => {
  const answer = await rest.ask('GET', '/api/v1/things?colour=red&size=1&size=2&%zz=1', { token });
  t.match(answer, problem('invalid_parameter'));
  t.match(answer.json.errors, [
    { parameter: 'colour', detail: /"colour" is not a known parameter; known parameters are: color, size/ },
    { parameter: 'size', detail: /twice/ },
    { parameter: '%zz=1', detail: /percent-encoded/ },
  ]);
  const proto = await rest.ask('GET', '/api/v1/things?__proto__=1', { token });
  t.equal(proto.status, 400);
  t.equal((await rest.ask('GET', `/api/v1/things?color=${'x'.repeat(5000)}`, { token })).status, 400);
  t.equal((await rest.ask('GET', '/api/v1/things?', { token })).status, 200);
});

test('a body that is no JSON is refused, without repeating it', async ({ rest, token }, t) => {
  const refused = async (body: string | Uint8Array) => {
    const answer = await rest.ask('POST', '/api/v1/things', { token, body });
    t.match(answer, problem('invalid_json'));
    return answer.json.detail as string;
  };
  t.match(await refused('{"name": '), /ends unexpectedly/);
  t.notMatch(await refused('SECRET'), /SECRET/);
  t.notMatch(await refused('{"name": SECRET}'), /SECRET/);
  t.match(await refused(Buffer.from([0x7b, 0xff, 0x7d])), /UTF-8/);
  t.match(await refused('['.repeat(100_000)), /64 levels/);
  t.match(
    await refused(`{"name":"\\"${'{'.repeat(70)}","size":${'['.repeat(65)}${']'.repeat(65)}}`),
    /64 levels/,
  );
  const empty = await rest.ask('POST', '/api/v1/things', { token });
  t.match(empty.json, { code: 'invalid_json', detail: /empty/ });
  const fine = `{"name":"${'[{\\"'.repeat(200)}"}`;
  t.equal((await rest.ask('POST', '/api/v1/things', { token, body: fine })).status, 200, 'brackets in texts');
});

test('faults in a body are reported at once, and unknown fields are rejected', async ({ rest, token }, t) => {
  const wrong = await rest.ask('POST', '/api/v1/things', { token, body: { name: 1, size: 'x' } });
  t.match(wrong, problem('validation_failed', { errors: [{ pointer: '/name' }, { pointer: '/size' }] }));
  const unknown = await rest.ask('POST', '/api/v1/things', { token, body: { nam: 1, size: 'x' } });
  t.match(unknown, problem('unknown_field'));
  t.same(each(unknown.json.errors, 'pointer').sort(), ['/nam', '/size']);
  t.equal((await rest.ask('POST', '/api/v1/things', { token, body: [] })).json.code, 'validation_failed');
  const none = await rest.ask('POST', '/api/v1/things/a/parts/b', { token, body: { x: 1 } });
  t.equal(none.json.code, 'unknown_field', 'also where the route takes no fields at all');
});

test('a body that may be left out is empty then', async ({ rest, token }, t) => {
  t.same((await rest.ask('POST', '/api/v1/things/batch', { token })).json.body, {});
});

test('a large body is taken in once it is known that its caller may send it', async ({ rest, token }, t) => {
  const viewer = await rest.addUser(token, 'viewer');
  let taken = 0;
  const send = (authorization: string, method = 'POST', path = '/api/v1/things') => {
    const request: { body: Uint8Array } & RestRequest = {
      ...{ method, host: 'acme.tasks.test', path, query: '', remoteAddress: '192.0.2.1' },
      headers: { authorization, 'content-type': 'application/json' },
      body: new Uint8Array(0),
      gone: new AbortController().signal,
      takeBody: async () => {
        taken++;
        request.body = Buffer.from('{"name":"held"}');
      },
    };
    return rest.service.handle(request);
  };
  t.match(await send('Bearer nobody'), { status: 401 });
  t.match(await send(`Bearer ${viewer.token}`), { status: 403 });
  t.match(await send(`Bearer ${token}`, 'POST', '/api/v1/nothing'), { status: 404 });
  t.equal(taken, 0);
  const answer = await send(`Bearer ${token}`);
  t.equal(taken, 1);
  t.match(answer.body, /held/);
});

test('calls count for tenant and user; answers say what is left', async ({ rest, token, ownerId }, t) => {
  rest.limits.calls.length = 0;
  rest.limits.verdict = {
    allowed: true,
    nearest: { limit: 200, remaining: 12, windowSeconds: 60, resetSeconds: 30 },
  };
  const answer = await rest.ask('GET', '/api/v1/things/a', { token });
  t.equal(answer.headers['RateLimit'], '"default";r=12;t=30');
  t.equal(answer.headers['RateLimit-Policy'], '"default";q=200;w=60');
  await rest.ask('POST', '/api/v1/things', { token, body: [] });
  t.same(rest.limits.calls, [
    { tenant: 'acme', kind: 'read', user: ownerId },
    { tenant: 'acme', kind: 'write', user: ownerId },
  ]);
  const nearest = { ...rest.limits.verdict.nearest!, remaining: 0, windowSeconds: null };
  rest.limits.verdict = { allowed: false, nearest };
  const refused = await rest.ask('GET', '/api/v1/things/a', { token });
  t.match(refused, problem('rate_limited'));
  t.equal(refused.headers['Retry-After'], '30');
  t.equal(refused.headers['RateLimit'], '"default";r=0;t=30');
  t.equal(refused.headers['RateLimit-Policy'], '"default";q=200', 'without a window that is not known');
});

test('calls without a valid token are counted and refused apart', async ({ rest }, t) => {
  rest.limits.calls.length = 0;
  t.equal((await rest.ask('GET', '/api/v1/things/a')).status, 401);
  t.same(rest.limits.calls, [{ tenant: 'acme', kind: 'read', user: '' }]);
  rest.limits.verdict = { allowed: false, nearest: null };
  const refused = await rest.ask('GET', '/api/v1/things/a');
  t.equal(refused.status, 429);
  t.equal(refused.headers['Retry-After'], '1');
});

test('where no rule applies, answers say nothing of limits', async ({ rest, token }, t) => {
  t.equal((await rest.ask('GET', '/api/v1/things/a', { token })).headers['RateLimit'], undefined);
});

test('when nobody can decide, calls are let through, which is logged', async ({ rest, token }, t) => {
  rest.limits.verdict = new Fault('store_failed', 'the counters are away');
  for (let i = 0; i < 3; i++) t.equal((await rest.ask('GET', '/api/v1/things/a', { token })).status, 200);
  t.same(rest.logger.messages('warning'), ['API limits are not enforced because the decision engine failed']);
  rest.clock.advance(10_000);
  await rest.ask('GET', '/api/v1/things/a', { token });
  t.equal(rest.logger.messages('warning').length, 2);
});

t.test('a store that does not answer is 503, and the log has the request', async t => {
  const { rest, token } = await service(() => [
    thing({ method: 'GET' }, () => {
      throw new Fault('store_failed', 'connection lost');
    }),
  ]);
  const answer = await rest.ask('GET', '/api/v1/things', { token });
  t.match(answer, problem('store_unavailable'));
  t.equal(answer.headers['Retry-After'], '1');
  t.match(rest.logger.lines.at(-1), {
    level: 'info',
    message: 'Task request failed because the task store is unavailable',
    fields: { request_id: answer.headers['X-Request-Id'], reason: /connection lost/ },
  });
});

t.test('a bug is a 500, with details in the log and not in the response', async t => {
  const { rest, token } = await service(() => [
    thing({ method: 'GET' }, async () => {
      throw new TypeError('no such property');
    }),
  ]);
  const answer = await rest.ask('GET', '/api/v1/things', { token });
  t.match(answer, problem('internal'));
  t.notMatch(answer.body, /no such property/);
  t.match(rest.logger.lines.at(-1), {
    level: 'error',
    message: /^Unexpected error/,
    fields: {
      request_id: answer.headers['X-Request-Id'],
      stack: /TypeError: no such property\n.*rest-service.test/,
    },
  });
});

t.test('the connection is watched for routes that ask whether its caller has gone', async t => {
  const aborted = AbortSignal.abort();
  const { rest, token } = await service(() => [
    thing({ method: 'GET' }),
    thing({ body: BODY }, ({ gone }) => ({ status: 200, json: gone.aborted })),
  ]);
  let asked = 0;
  const ask = (method: string) =>
    rest.service.handle({
      method,
      host: 'acme.tasks.test',
      path: '/api/v1/things',
      query: '',
      headers: { authorization: `Bearer ${token}` },
      remoteAddress: '192.0.2.1',
      body: Buffer.from('{}'),
      get gone() {
        asked++;
        return aborted;
      },
    });
  t.equal((await ask('GET')).status, 200);
  t.equal(asked, 0);
  t.equal((await ask('POST')).body, 'true');
  t.equal(asked, 1);
});

test('each response is counted by its operation', async ({ rest, token }, t) => {
  rest.answers.length = 0;
  await rest.ask('GET', '/api/v1/things/a', { token });
  await rest.ask('GET', '/api/v1/things/a');
  await rest.ask('GET', '/api/v1/nothing');
  await rest.ask('GET', '/api/v1/openapi.json', { host: 'anything' });
  t.same(rest.answers, ['getThing 200', 'getThing 401', 'unknown 404', 'openApi 200']);
});

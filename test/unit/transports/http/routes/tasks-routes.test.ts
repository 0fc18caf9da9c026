import type { Test } from 'tap';
import { Health } from '../../../../../src/base/health.ts';
import type { RestHandler, RestRequest, RestResponse } from '../../../../../src/tasks/rest/http/http.ts';
import { BODY_LIMIT_BYTES } from '../../../../../src/tasks/rest/http/read-request.ts';
import type { HttpListener } from '../../../../../src/transports/http/listener.ts';
import { healthRoute } from '../../../../../src/transports/http/routes/health-routes.ts';
import { tasksRoutes } from '../../../../../src/transports/http/routes/tasks-routes.ts';
import { jsonNotFound } from '../../../../../src/transports/http/routes.ts';
import { KeepingLogger } from '../../../../support/keeping-logger.ts';
import { KeptSpans } from '../../../../support/kept-spans.ts';
import { JoinedCalls } from '../../../../support/tasks/joined-calls.ts';
import { RestHarness } from '../../../../support/tasks/rest-harness.ts';
import { until } from '../../../../support/until.ts';
import { frontCalls, onEachFront } from '../on-each-engine.ts';
import { RawConnection } from '../raw-connection.ts';
import { serve } from '../serving.ts';

/** Answers by a function, and keeps what it was asked. */
class ScriptedHandler implements RestHandler {
  readonly asked: RestRequest[] = [];
  /** It answers without taking in a body that is held back. */
  refuses = false;
  script: (request: RestRequest) => Promise<RestResponse> = async () => ({
    status: 200,
    headers: { 'Content-Type': 'application/json', 'X-Request-Id': 'r' },
    body: '{"done":true}',
  });

  async handle(request: RestRequest): Promise<RestResponse> {
    if (!this.refuses) await request.takeBody?.();
    this.asked.push(request);
    return this.script(request);
  }
}

const HOST = 'tasks.localhost';

async function front(
  t: Test,
  handler: RestHandler,
  log = new KeepingLogger(),
  joined = new JoinedCalls(handler, log),
): Promise<HttpListener> {
  const unknown = jsonNotFound([]);
  const calls = frontCalls(t, joined);
  const routes = [healthRoute(new Health()), ...tasksRoutes({ calls, serviceHost: HOST, root: unknown })];
  return serve(t, routes, { log, unknown });
}

/** Routes that pass on to a scripted handler, and a connection to them. */
async function scripted(t: Test, log = new KeepingLogger()) {
  const handler = new ScriptedHandler();
  const joined = new JoinedCalls(handler, log);
  const listener = await front(t, handler, log, joined);
  return { handler, joined, listener, connection: await RawConnection.openFor(t, listener.port) };
}

/** The same with spans, and without a connection. */
async function traced(t: Test) {
  const [tracing, handler, unknown] = [new KeptSpans(), new ScriptedHandler(), jsonNotFound([])];
  const calls = frontCalls(t, new JoinedCalls(handler, new KeepingLogger()));
  const routes = tasksRoutes({ calls, serviceHost: HOST, root: unknown, tracing });
  return { tracing, handler, listener: await serve(t, routes, { unknown }) };
}

function untilGone({ gone }: RestRequest): Promise<void> {
  return new Promise(resolve => gone.addEventListener('abort', () => resolve(), { once: true }));
}

/** A request as it is on the wire. */
function wire(method: string, target: string, fields: readonly string[] = [], body = ''): string {
  const length = body === '' ? [] : [`Content-Length: ${Buffer.byteLength(body)}`];
  const host = fields.some(field => field.startsWith('Host:')) ? [] : [`Host: acme.${HOST}:8080`];
  return [`${method} ${target} HTTP/1.1`, ...host, ...fields, ...length, '', body].join('\r\n');
}

onEachFront('a request is handed over as it came', async t => {
  const { handler, connection } = await scripted(t);
  const fields = [
    `Host: ACME.${HOST}:8080`,
    'Authorization: Bearer x',
    'Content-Type: application/json',
    'Idempotency-Key: k 1',
    'If-Match: "3"',
    'Cookie: not read',
  ];
  const response = await connection.ask(wire('PUT', '/api/v1/tasks/a%2Fb?x=1&y=%20', fields, '{"é":1}'));
  t.equal(response.status, 200);
  t.equal(response.headers.get('x-request-id'), 'r');
  t.equal(response.headers.get('content-type'), 'application/json');
  t.equal(response.body, '{"done":true}');
  const [asked] = handler.asked;
  t.match(asked, {
    method: 'PUT',
    host: `acme.${HOST}`,
    path: '/api/v1/tasks/a%2Fb',
    query: 'x=1&y=%20',
    remoteAddress: '',
  });
  t.same(asked.headers, {
    authorization: 'Bearer x',
    'content-type': 'application/json',
    'idempotency-key': 'k 1',
    'if-match': '"3"',
  });
  t.equal(Buffer.from(asked.body).toString(), '{"é":1}');
  t.equal(asked.body.buffer.byteLength, asked.body.length, 'in memory of its own, which can change hands');
  await connection.ask(wire('POST', '/accounts', [`Host: ${HOST}`], '{}'));
  t.match(handler.asked[1].remoteAddress, /127\.0\.0\.1|7f00:0001/, 'for accounts it matters who asks');
});

onEachFront('a body in pieces is put together, and stays what it was', async t => {
  const { handler, connection } = await scripted(t);
  const body = 'x'.repeat(300_000);
  await connection.ask(wire('POST', '/api/v1/tasks', [], body));
  await connection.ask(wire('POST', '/api/v1/tasks', [], 'y'.repeat(300_000)));
  t.equal(Buffer.from(handler.asked[0].body).toString(), body);
});

onEachFront('every method goes to the handler, and HEAD has no body', async t => {
  const { handler, connection } = await scripted(t);
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD']) {
    const response = await connection.ask(
      wire(method, '/api/v1/tasks'),
      method === 'HEAD' ? 'HEAD' : undefined,
    );
    t.equal(response.status, 200, method);
  }
  t.same(
    handler.asked.map(asked => asked.method),
    ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD'],
  );
});

onEachFront('an answer without content has no length, and the connection goes on', async t => {
  const { handler, listener } = await scripted(t);
  handler.script = async () => ({ status: 204, headers: { 'X-Request-Id': 'r' }, body: '' });
  for (let i = 0; i < 3; i++) {
    const response = await fetch(`http://127.0.0.1:${listener.port}/api/v1/tasks/x`, { method: 'DELETE' });
    t.equal(response.status, 204);
    t.equal(response.headers.get('content-length'), null);
    t.equal(await response.text(), '');
  }
});

onEachFront('what is not of tasks is served as before', async t => {
  const { handler, connection } = await scripted(t);
  const statusOf = async (target: string, host: string) => {
    return (await connection.ask(wire('GET', target, [`Host: ${host}`]))).status;
  };
  t.equal(await statusOf('/healthcheck', 'anything'), 200);
  t.equal(await statusOf('/', 'anything'), 404);
  t.equal(await statusOf('/', `acme.${HOST}`), 404);
  t.equal(await statusOf('/other', `accounts.${HOST}`), 404);
  t.equal(handler.asked.length, 0);
  t.equal(await statusOf('/', `Accounts.${HOST}:80`), 200);
  t.equal(await statusOf('/accounts', HOST), 200);
  t.equal(await statusOf('/api/v1/x', '[::1]:80'), 200);
  t.same(
    handler.asked.map(({ host, path }) => `${host} ${path}`),
    [`accounts.${HOST} /`, `${HOST} /accounts`, '[::1] /api/v1/x'],
  );
});

onEachFront('a body that is too large is not handed over', async t => {
  const { handler, listener, connection } = await scripted(t);
  const id = ['X-Request-Id: large'];
  const response = await connection.ask(wire('POST', '/api/v1/tasks', id, 'x'.repeat(BODY_LIMIT_BYTES + 1)));
  t.equal(response.status, 413);
  t.equal(response.headers.get('x-request-id'), 'large');
  t.equal(handler.asked.length, 0);
  const other = await RawConnection.openFor(t, listener.port);
  t.equal(
    (await other.ask(wire('POST', '/api/v1/tasks', [], 'x'.repeat(BODY_LIMIT_BYTES)))).status,
    200,
    'the largest that is read',
  );
});

onEachFront('a large body stays with a caller that is refused', async t => {
  const { handler, connection } = await scripted(t);
  handler.refuses = true;
  handler.script = async () => ({ status: 401, headers: {}, body: '' });
  const length = 5 * 1024 * 1024;
  const [head] = wire('POST', '/api/v1/tasks', [`Content-Length: ${length}`]).split('\r\n\r\n');
  const response = await connection.ask(`${head}\r\n\r\n${'x'.repeat(10)}`);
  t.equal(response.status, 401, 'before the body has come');
  t.equal(response.headers.get('connection'), 'close');
  t.equal(handler.asked[0].body.length, 0);
});

onEachFront('one whose length is not announced is taken in when the caller is known', async t => {
  const { handler, connection } = await scripted(t);
  const piece = 'y'.repeat(50_000);
  const chunk = `${piece.length.toString(16)}\r\n${piece}\r\n`;
  t.equal(
    (
      await connection.ask(
        `${wire('POST', '/api/v1/tasks', ['Transfer-Encoding: chunked'])}${chunk.repeat(3)}0\r\n\r\n`,
      )
    ).status,
    200,
  );
  t.equal(Buffer.from(handler.asked[0].body).toString(), piece.repeat(3));
});

onEachFront('small chunks are put together to pieces that are worth their memory', async t => {
  const { handler, joined, connection } = await scripted(t);
  const head = wire('POST', '/api/v1/tasks', ['Transfer-Encoding: chunked']);
  const piece = 'abcdefghijklmnop';
  const text = piece.repeat(3_000);
  const chunks = `10\r\n${piece}\r\n`.repeat(3_000);
  t.equal((await connection.ask(`${head}${chunks}0\r\n\r\n`)).status, 200);
  t.equal(Buffer.from(handler.asked[0].body).toString(), text);
  const pieces = joined.turns.flatMap(turn => turn.calls).flatMap(({ body }) => body ?? []);
  t.ok(pieces.length <= 4, `${pieces.length} pieces`);
});

onEachFront(
  'a long poll notices that its caller has disconnected, also if it starts waiting late',
  async t => {
    for (const isLate of [false, true]) {
      const { handler, connection } = await scripted(t);
      const begun = Promise.withResolvers<void>();
      const gone = Promise.withResolvers<void>();
      handler.script = async request => {
        if (isLate) await begun.promise;
        await untilGone(request);
        gone.resolve();
        return { status: 200, headers: {}, body: '' };
      };
      await connection.write(wire('POST', '/api/v1/workers/w/leases', [], '{}'));
      await until(() => handler.asked.length !== 0);
      await new Promise(resolve => setImmediate(resolve));
      begun.resolve();
      connection.destroy();
      await gone.promise;
      t.ok(handler.asked[0].gone.aborted);
    }
  },
);

onEachFront('a handler that throws is a bug and is logged', async t => {
  const log = new KeepingLogger();
  const { handler, connection } = await scripted(t, log);
  handler.script = async () => {
    throw new Error('secret cause');
  };
  const response = await connection.ask(wire('GET', '/api/v1/tasks'));
  t.equal(response.status, 500);
  t.notMatch(response.body, /secret cause/);
  t.match(log.lines, [{ level: 'error', fields: { stack: /secret cause/ } }]);
});

onEachFront(
  'the service answers over a real connection: sign-up, then a call, by domain.localhost',
  async t => {
    const rest = new RestHarness({
      config: { serviceHost: HOST, scheme: 'http', publicPort: 8080, signup: 'loopback' },
    });
    const { port } = await front(t, rest.service);
    const connection = await RawConnection.openFor(t, port);
    const json = ['Content-Type: application/json'];
    const made = await connection.ask(
      wire('POST', '/', [`Host: accounts.${HOST}`, ...json], '{"domain":"acme"}'),
    );
    t.equal(made.status, 201);
    const { token, api_url: url, owner } = JSON.parse(made.body);
    t.equal(url, `http://acme.${HOST}:8080/api/v1`);
    const read = await connection.ask(
      wire('GET', `/api/v1/users/${owner.id}`, [`Authorization: Bearer ${token}`]),
    );
    t.match(JSON.parse(read.body), { id: owner.id, role: 'owner' });
    t.match(read.headers.get('etag'), /^"\d+"$/);
    const refused = await connection.ask(wire('GET', '/api/v1/users'));
    t.equal(refused.status, 401);
    t.equal(refused.headers.get('www-authenticate'), 'Bearer');
  },
);

onEachFront('a traced request has a span with its route, which ends with the status', async t => {
  const { tracing, handler, listener } = await traced(t);
  const ask = (path: string) =>
    fetch(`http://127.0.0.1:${listener.port}${path}`, { headers: { traceparent: 'p' } });
  await ask('/api/v1/tasks/tsk_1/history');
  handler.script = async () => ({ status: 503, headers: {}, body: '' });
  await ask('/api/v1/whatever');
  handler.script = async () => {
    throw new Error('a defect');
  };
  await ask('/api/v1/users');
  const failed = 'answered with a server error';
  t.match(tracing.ended, [
    spanWith('/api/v1/tasks', '/api/v1/tasks/tsk_1/history', 200, ''),
    spanWith('/', '/api/v1/whatever', 503, failed),
    spanWith('/api/v1/users', '/api/v1/users', 500, failed),
  ]);
  t.same(
    tracing.ended.map(({ attributes }) => attributes['error.type']),
    [undefined, '503', '500'],
  );
  await fetch(`http://127.0.0.1:${listener.port}/accounts`, { method: 'MKCOL' });
  t.match(tracing.ended[3], {
    name: 'HTTP /accounts',
    attributes: { 'http.request.method': '_OTHER', 'http.request.method_original': 'MKCOL' },
  });
});

onEachFront('the span of a request whose caller leaves ends as well, once', async t => {
  const { tracing, handler, listener } = await traced(t);
  const left = Promise.withResolvers<RestResponse>();
  handler.script = ({ gone }) => {
    gone.addEventListener('abort', () => left.resolve({ status: 200, headers: {}, body: '' }));
    return left.promise;
  };
  const polling = await RawConnection.openFor(t, listener.port);
  await polling.write(wire('GET', '/api/v1/tasks'));
  await until(() => handler.asked.length === 1);
  polling.destroy();
  await left.promise;
  await until(() => tracing.ended.length === 1);
  t.match(tracing.ended, [{ failure: '' }], 'while the request waits for an event');

  for (const bytes of [1_000, BODY_LIMIT_BYTES]) {
    const before = tracing.begun.length;
    tracing.ended.length = 0;
    const sending = await RawConnection.openFor(t, listener.port);
    await sending.write(`${wire('POST', '/api/v1/tasks', [`Content-Length: ${bytes}`])}x`);
    await until(() => tracing.begun.length > before);
    sending.destroy();
    await until(() => tracing.ended.length === 1);
    t.match(tracing.ended, [{ failure: '' }], `while it sends a body of ${bytes} bytes`);
  }
});

function spanWith(route: string, path: string, status: number, failure: string): object {
  return {
    name: `GET ${route}`,
    attributes: {
      'http.request.method': 'GET',
      'http.route': route,
      'url.scheme': 'http',
      'url.path': path,
      'server.address': '127.0.0.1',
      'server.port': Number,
      'client.address': '127.0.0.1',
      'network.peer.address': '127.0.0.1',
      'user_agent.original': 'node',
      'http.response.status_code': status,
    },
    parent: 'p',
    failure,
  };
}

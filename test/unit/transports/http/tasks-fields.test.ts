import type { Test } from 'tap';
import type { RestHandler, RestRequest, RestResponse } from '../../../../src/tasks/rest/http/http.ts';
import { tasksRoutes } from '../../../../src/transports/http/routes/tasks-routes.ts';
import { jsonNotFound } from '../../../../src/transports/http/routes.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { JoinedCalls } from '../../../support/tasks/joined-calls.ts';
import { TaskHarness } from '../../../support/tasks/task-harness.ts';
import { frontCalls, onEachFront } from './on-each-engine.ts';
import { RawConnection } from './raw-connection.ts';
import { serve } from './serving.ts';

const HOST = 'tasks.test';

/** Keeps what it is asked. */
class KeepingHandler implements RestHandler {
  readonly asked: RestRequest[] = [];

  async handle(request: RestRequest): Promise<RestResponse> {
    this.asked.push(request);
    return { status: 200, headers: {}, body: '' };
  }
}

/** Serves tasks, and sends requests over one connection. One character of a field is one byte. */
async function served(t: Test, handler: RestHandler) {
  const log = new KeepingLogger();
  const unknown = jsonNotFound([]);
  const calls = frontCalls(t, new JoinedCalls(handler, log));
  const listener = await serve(t, tasksRoutes({ calls, serviceHost: HOST, root: unknown }), { log, unknown });
  const connection = await RawConnection.openFor(t, listener.port);
  return async (line: string, fields: readonly string[], body = '') => {
    const length = body === '' ? [] : [`Content-Length: ${body.length}`];
    const text = [`${line} HTTP/1.1`, ...fields, ...length, '', body].join('\r\n');
    await connection.write(Buffer.from(text, 'latin1'));
    return connection.response();
  };
}

/** Bytes of UTF-8, as a text of one character for each. */
function utf8(text: string): string {
  return Buffer.from(text).toString('latin1');
}

/** A REST service with one pull worker, and a connection to it. */
async function withWorker(t: Test) {
  const rest = await TaskHarness.open();
  await rest.pullWorker();
  const send = await served(t, rest.service);
  const ask = async (method: string, target: string, fields: readonly string[], body = '') => {
    const head = [`Host: acme.${HOST}`, `Authorization: Bearer ${rest.token}`, ...fields];
    const { status, body: text, headers } = await send(`${method} ${target}`, head, body);
    return { status, headers, json: text === '' ? undefined : JSON.parse(text) };
  };
  const create = (...keys: readonly string[]) =>
    ask(
      'POST',
      '/api/v1/tasks',
      keys.map(key => `Idempotency-Key:${key}`),
      '{"worker":"crawler"}',
    );
  return { ask, create };
}

onEachFront('an Idempotency-Key is read whole, or refused', async t => {
  const { create } = await withWorker(t);
  const other = [
    utf8('b-ä-1'),
    'b-\xe4-1',
    'a\tb',
    utf8('"ö"'),
    utf8('ü'),
    '\xff\xfe',
    utf8('bestellung-ä'),
    utf8('bestellung-ö'),
    'order-\x80',
    '\x80order',
    '',
    ' \t ',
    'x'.repeat(256),
  ];
  for (const key of other) {
    const { status, json } = await create(key);
    t.match({ status, json }, { status: 400, json: { code: 'invalid_parameter' } }, JSON.stringify(key));
  }
  const ids: string[] = [];
  for (const keys of [['a'], ['a', 'b'], ['b', 'a'], ['a,b'], ['a b'], ['x'.repeat(255)], [' a  b ']]) {
    const { status, json } = await create(...keys);
    t.equal(status, 201, keys.join());
    ids.push(json.id);
  }
  t.equal(new Set(ids).size, ids.length, 'each is another key');
  t.equal((await create('a', 'b')).json.id, ids[1]);
  t.equal((await create('   a')).json.id, ids[0], 'spaces around a value are no part of it');
});

onEachFront('every field that is read is whole: nothing behind or between is dropped', async t => {
  const { ask } = await withWorker(t);
  const cases: [number, string, string, readonly string[]][] = [
    [400, 'PUT', '/api/v1/workers/crawler', ['If-Match:']],
    [412, 'PUT', '/api/v1/workers/crawler', ['If-Match: "7"', 'If-Match: "8"']],
    [200, 'PUT', '/api/v1/workers/crawler', ['If-Match: "7"', 'If-Match: "1"']],
    [401, 'GET', '/api/v1/workers', ['Authorization: Bearer x']],
    [415, 'PUT', '/api/v1/workers/crawler', ['Content-Type: application/json', 'Content-Type: text/plain']],
    [406, 'GET', '/api/v1/workers', ['Accept: text/plain', 'Accept: text/html']],
    [200, 'GET', '/api/v1/workers', ['Accept: text/plain', 'Accept: application/json']],
    [200, 'GET', '/api/v1/workers', ['Accept:', 'X-Request-Id:']],
  ];
  for (const [status, method, target, fields] of cases) {
    const answer = await ask(method, target, fields, method === 'PUT' ? '{}' : '');
    t.equal(answer.status, status, `${method} ${fields.join(' | ')}`);
  }
  const twice = await ask('GET', '/api/v1/workers', ['X-Request-Id: a', 'X-Request-Id: b']);
  t.notMatch(twice.headers.get('x-request-id'), /^[ab]$/);
});

onEachFront('a host may end in a dot', async t => {
  const handler = new KeepingHandler();
  const send = await served(t, handler);
  for (const host of [`ACME.${HOST}.`, `acme.${HOST}.:8080`])
    await send('GET /api/v1/tasks', [`Host: ${host}`]);
  await send('POST /', [`Host: accounts.${HOST}.:8080`], '{}');
  t.same(
    handler.asked.map(({ host }) => host),
    [`acme.${HOST}`, `acme.${HOST}`, `accounts.${HOST}`],
  );
});

onEachFront('a request that a proxy has forwarded has no address', async t => {
  const handler = new KeepingHandler();
  const send = await served(t, handler);
  const proxies = [
    'Forwarded: for=1.2.3.4',
    'X-Forwarded-For: 127.0.0.1',
    'Via:',
    'X-Real-IP: \xff',
    'X-Forwarded-Proto: https',
  ];
  for (const field of [...proxies, 'Forward: no', 'Viaduct: no']) {
    await send('POST /accounts', [`Host: ${HOST}`, field], '{}');
  }
  t.same(
    handler.asked.map(({ remoteAddress }) => remoteAddress === ''),
    [...proxies.map(() => true), false, false],
  );
});

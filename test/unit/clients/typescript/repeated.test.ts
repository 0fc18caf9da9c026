import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { retryAfterMs } from '../../../../clients/typescript/src/failures.ts';
import {
  SluiceClient,
  type SluiceClientOptions,
  SluiceProblem,
  SluiceUnreachable,
} from '../../../../clients/typescript/src/index.ts';
import { delayBefore } from '../../../../clients/typescript/src/repeated.ts';

const QUICK = { baseMs: 1, maxDelayMs: 1 };

/** A server that answers as it is told, and a client of it. */
async function scene(t: Test, answer: RequestListener, options: Partial<SluiceClientOptions> = {}) {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await new Promise(resolve => server.once('listening', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return new SluiceClient({ url, token: 'tk_test', retry: QUICK, ...options });
}

const problem = (code: string): string =>
  JSON.stringify({ code, detail: `it is ${code}`, instance: 'req_1' });

t.test('the delay is random below a bound that doubles, and Retry-After is added to it', async t => {
  const options = { baseMs: 100, maxDelayMs: 1_000 };
  const bounds = [2, 3, 4, 5, 6, 40].map(attempt => delayBefore(attempt, null, options, () => 1));
  t.same(bounds, [100, 200, 400, 800, 1_000, 1_000]);
  t.equal(
    delayBefore(6, null, options, () => 0),
    0,
    'full jitter begins at 0',
  );
  t.equal(
    delayBefore(2, 5_000, options, () => 0.5),
    5_050,
  );
});

t.test('Retry-After is a number of seconds or a date', async t => {
  const now = Date.UTC(2026, 2, 1, 10);
  t.equal(retryAfterMs('7', now), 7_000);
  t.equal(retryAfterMs('Sun, 01 Mar 2026 10:00:09 GMT', now), 9_000);
  t.equal(retryAfterMs('Sun, 01 Mar 2026 09:00:00 GMT', now), 0);
  for (const text of [null, '', 'soon', '-1', '9'.repeat(40)])
    t.equal(retryAfterMs(text, now), null, `${text}`);
});

t.test('a call waits as long as Retry-After asks for, and repeats the same request', async t => {
  const seen: { key: unknown; body: string; atMs: number }[] = [];
  const client = await scene(t, async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    seen.push({ key: request.headers['idempotency-key'], body, atMs: performance.now() });
    if (seen.length > 1) response.writeHead(201).end('{"id":"tsk_1"}');
    else response.writeHead(503, { 'retry-after': '1' }).end(problem('overloaded'));
  });
  t.match(await client.post('/v1/tasks', { body: { worker: 'mailer' } }), { id: 'tsk_1' });
  t.equal(seen.length, 2);
  t.ok(seen[1].atMs - seen[0].atMs >= 1_000, 'not earlier');
  t.match(seen[0], { key: /^[0-9a-f-]{36}$/, body: '{"worker":"mailer"}' });
  t.same({ ...seen[1], atMs: 0 }, { ...seen[0], atMs: 0 });
});

t.test('attempts and time are bounded, and the last failure is reported', async t => {
  let requests = 0;
  const client = await scene(t, (_, response) => {
    requests++;
    response.writeHead(503, { 'retry-after': requests > 3 ? '60' : '0' }).end(problem('store_unavailable'));
  });
  const failure = { name: 'SluiceProblem', status: 503, code: 'store_unavailable', requestId: 'req_1' };
  await t.rejects(client.get('/v1/me', { retry: { attempts: 3 } }), { ...failure, retryAfterMs: 0 });
  t.equal(requests, 3);
  await t.rejects(client.get('/v1/me', { retry: { withinMs: 10_000 } }), {
    ...failure,
    retryAfterMs: 60_000,
  });
  t.equal(requests, 4, 'a delay that leads beyond the bound is not waited for');
});

t.test('what a repetition cannot change is reported at once', async t => {
  let requests = 0;
  const answers: [number, string][] = [
    [422, problem('validation_failed')],
    [500, problem('internal')],
    [302, ''],
    [200, '<html>'],
  ];
  const client = await scene(t, (_, response) => {
    const [status, body] = answers[requests++];
    response.writeHead(status, { location: '/elsewhere' }).end(body);
  });
  for (const [status] of answers) await t.rejects(client.get('/v1/me'), { name: 'SluiceProblem', status });
  t.equal(requests, answers.length);
});

t.test('a version that somebody else may have changed is not written twice', async t => {
  let requests = 0;
  const client = await scene(t, (request, response) => {
    requests++;
    if (request.headers['if-match'] === '"3"') request.socket.destroy();
    else if (requests < 3) request.socket.destroy();
    else response.end('{}');
  });
  const call = { params: { id: 'tsk_1' }, body: { priority: 'high' } } as const;
  await client.put('/v1/tasks/{id}', call);
  t.equal(requests, 3, 'without a version, it is the same however often it is written');
  await t.rejects(client.put('/v1/tasks/{id}', { ...call, ifMatch: '"3"' }), SluiceUnreachable);
  t.equal(requests, 4);
});

t.test('a deletion whose answer was lost has succeeded', async t => {
  let requests = 0;
  const client = await scene(t, (request, response) => {
    if (++requests === 1) request.socket.destroy();
    else response.writeHead(404).end(problem('not_found'));
  });
  t.equal(await client.delete('/v1/tasks/{id}', { params: { id: 'tsk_1' } }), undefined);
  await t.rejects(client.delete('/v1/tasks/{id}', { params: { id: 'tsk_1' } }), {
    name: 'SluiceProblem',
    status: 404,
  });
});

t.test('a deletion that a refused attempt did not make is not reported as made', async t => {
  let requests = 0;
  const client = await scene(t, (_, response) => {
    if (++requests === 1) response.writeHead(429).end(problem('rate_limited'));
    else response.writeHead(404).end(problem('not_found'));
  });
  await t.rejects(client.delete('/v1/tasks/{id}', { params: { id: 'tsk_1' } }), {
    name: 'SluiceProblem',
    status: 404,
  });
  t.equal(requests, 2);
});

t.test('an address or a token that cannot be is refused at once, and not shown', async t => {
  const url = 'http://127.0.0.1:1';
  for (const token of ['', ' ', 'tk_hunter\n2', 'tk_hunter 2', 'tk_hunter…'])
    t.throws(() => new SluiceClient({ url, token }), /^The token (?!.*hunter)/);
  for (const wrong of ['ftp://127.0.0.1', 'http://ann:hunter2@127.0.0.1'])
    t.throws(() => new SluiceClient({ url: wrong, token: 'tk_test' }), /^The address (?!.*hunter)/);
  t.ok(new SluiceClient({ url, token: 'tk_test\n' }), 'as it is in a file');
});

t.test('a parameter cannot lead to another path', async t => {
  let requests = 0;
  const client = await scene(t, (_, response) => response.end(`{"n":${++requests}}`));
  for (const id of ['', '.', '..', undefined as never])
    await t.rejects(client.post('/v1/tasks/{id}/cancel', { params: { id } }), { message: /parameter id/ });
  t.equal(requests, 0);
});

t.test('an attempt has a timeout, and a call can be ended', async t => {
  let requested = (): void => {};
  const client = await scene(t, () => requested(), { timeoutMs: 50 });
  await t.rejects(client.get('/v1/me', { retry: { attempts: 2 } }), {
    name: 'SluiceUnreachable',
    message: /no answer within 50 ms/,
  });
  const stop = new AbortController();
  requested = () => stop.abort(new Error('enough'));
  await t.rejects(client.get('/v1/me', { signal: stop.signal, timeoutMs: 60_000 }), { message: 'enough' });
  await t.rejects(client.get('/v1/me', { signal: stop.signal }), { message: 'enough' }, 'before it begins');
});

t.test('a refused connection says so', async t => {
  const client = new SluiceClient({ url: 'http://127.0.0.1:1', token: 'tk_secret', retry: { attempts: 1 } });
  const failure = await client.get('/v1/me').catch(thrown => thrown);
  t.match(failure, {
    name: 'SluiceUnreachable',
    message: /^The request to http:\/\/127\.0\.0\.1:1 failed: /,
  });
  t.notMatch(`${failure.stack}`, /tk_secret/);
  t.notOk(failure instanceof SluiceProblem);
});

t.test('path, query and header fields are those that were given', async t => {
  const seen: string[] = [];
  const client = await scene(
    t,
    (request, response) => {
      seen.push(
        `${request.method} ${request.url} ${request.headers.authorization} ${request.headers['x-a']}`,
      );
      response.end('{"data":[],"next_cursor":null}');
    },
    { headers: { 'x-a': 'b' } },
  );
  await client.get('/v1/workers/{id}', { params: { id: 'a/b ü' } });
  await client.get('/v1/tasks', { query: { limit: 5, worker: 'a&b' } });
  t.same(seen, [
    'GET /api/v1/workers/a%2Fb%20%C3%BC Bearer tk_test b',
    'GET /api/v1/tasks?limit=5&worker=a%26b Bearer tk_test b',
  ]);
});

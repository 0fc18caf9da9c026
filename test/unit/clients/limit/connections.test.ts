import { once } from 'node:events';
import { createServer } from 'node:http';
import http2, { type ClientHttp2Session, constants, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { freePort } from '../../../support/free-port.ts';
import { silencingProxy } from '../../../support/silencing-proxy.ts';
import { until } from '../../../support/until.ts';
import { wrapBuiltin } from '../../../support/wrapped-builtin.ts';
import { clientOf, reply, ScriptedService } from './scripted-service.ts';

/** The sessions of clients that a test creates from now on. */
function ownSessions(t: Test): ClientHttp2Session[] {
  const sessions: ClientHttp2Session[] = [];
  wrapBuiltin(t, http2, 'connect', original => (...args) => {
    const session = original(...(args as Parameters<typeof original>));
    sessions.push(session);
    return session;
  });
  return sessions;
}

t.test('a call that the service refused without counting it is sent once more', async t => {
  let toRefuse = 1;
  const service = await ScriptedService.start(t, stream => {
    if (toRefuse-- > 0) stream.close(constants.NGHTTP2_REFUSED_STREAM);
    else reply(stream);
  });
  const { ask, errors } = clientOf(t, service.address);
  t.match(await ask(), { allowed: true, failed: false });
  t.same(errors, []);
  toRefuse = 2;
  t.match(await ask(), { allowed: true, failed: true });
  t.same(errors, ['unavailable: The service refused the call twice.']);
});

t.test('after GOAWAY, calls in progress are answered, and further calls have a new connection', async t => {
  const held: ServerHttp2Stream[] = [];
  const service = await ScriptedService.start(t, stream => {
    if (held.length === 0) held.push(stream);
    else reply(stream);
  });
  const { ask, errors } = clientOf(t, service.address);
  const first = ask();
  await until(() => held.length === 1);
  service.sessions[0].close();
  await until(() => service.sessions.length === 2);
  t.match(await ask(), { failed: false });
  reply(held[0]);
  t.match(await first, { failed: false });
  t.same(errors, []);
});

t.test('a connection is replaced before its stream numbers run out', async t => {
  const own = ownSessions(t);
  const held: ServerHttp2Stream[] = [];
  const service = await ScriptedService.start(t, stream => {
    if (held.length < 2) held.push(stream);
    else reply(stream);
  });
  const { ask, errors } = clientOf(t, service.address);
  const calls = [ask()];
  await until(() => held.length === 1);
  (own[0] as unknown as { setNextStreamID(id: number): void }).setNextStreamID(2 ** 30 + 1);
  calls.push(ask());
  await until(() => held.length === 2 && service.sessions.length === 2);
  t.match(await ask(), { failed: false });
  for (const stream of held) reply(stream);
  for (const decision of calls) t.match(await decision, { failed: false }, 'calls in progress are answered');
  await until(() => service.sessions[0].destroyed);
  t.same(errors, []);
});

t.test('connections that are closed while there are no calls fail none', async t => {
  const own = ownSessions(t);
  const service = await ScriptedService.start(t, stream => reply(stream));
  // A call does not wait for the end of this delay.
  t.intercept(Math, 'random', { value: () => 1_000 });
  const { ask, errors } = clientOf(t, service.address);
  for (let at = 0; at < 2; at++) {
    await until(() => service.established.length > at);
    service.sessions[at].destroy();
    await until(() => own[at].destroyed);
  }
  t.match(await ask(), { failed: false });
  t.same(errors, []);
  t.equal(service.sessions.length, 3);
});

t.test('a connection that lasted for a second worked, and is replaced at once', async t => {
  const service: ScriptedService = await ScriptedService.start(t, stream => {
    if (service.sessions.length === 2) stream.session?.destroy();
    else reply(stream);
  });
  t.intercept(Math, 'random', { value: () => 1_000 });
  const { ask, errors } = clientOf(t, service.address);
  await until(() => service.established.length === 1);
  service.sessions[0].destroy();
  await until(() => service.established.length === 2);
  const now = performance.now.bind(performance);
  t.intercept(performance, 'now', { value: () => now() + 1_000 });
  t.match(await ask(), { failed: true });
  t.match(await ask(), { failed: false });
  t.match(errors, [/lost before the answer/]);
});

t.test('a service that accepts connections and answers no call makes calls fail at once', async t => {
  const service = await ScriptedService.start(t, stream => stream.session?.destroy());
  t.intercept(Math, 'random', { value: () => 1_000 });
  const { ask, errors } = clientOf(t, service.address);
  for (let i = 0; i < 4; i++) t.match(await ask(), { failed: true });
  t.match(errors.at(-1), /^unavailable: There is no connection to /);
  t.equal(service.sessions.length, 2);
});

t.test('a lost connection fails its calls, and is replaced at once', async t => {
  let isCut = false;
  const service = await ScriptedService.start(t, stream => {
    if (isCut) reply(stream);
    else stream.session?.destroy();
    isCut = true;
  });
  const { ask, errors } = clientOf(t, service.address);
  t.match(await ask(), { allowed: true, failed: true });
  t.match(errors, [/^unavailable: The connection to the service was lost before the answer\.$/]);
  t.match(await ask(), { failed: false });
});

t.test('calls beyond the streams that the service allows wait for others to end', async t => {
  let open = 0;
  let most = 0;
  const service = await ScriptedService.start(
    t,
    stream => {
      most = Math.max(most, ++open);
      stream.on('close', () => open--);
      setImmediate(() => reply(stream));
    },
    { maxConcurrentStreams: 3 },
  );
  const { ask, errors } = clientOf(t, service.address);
  const decisions = await Promise.all(Array.from({ length: 100 }, ask));
  t.ok(decisions.every(({ failed }) => !failed));
  t.equal(most, 3);
  t.same(errors, []);
});

t.test('calls that wait are sent on the next connection if theirs is lost', async t => {
  const service: ScriptedService = await ScriptedService.start(
    t,
    stream => {
      if (service.sessions.length === 1) stream.session?.destroy();
      else reply(stream);
    },
    { maxConcurrentStreams: 1 },
  );
  const { ask, errors } = clientOf(t, service.address);
  const decisions = await Promise.all([ask(), ask(), ask()]);
  t.same(
    decisions.map(({ failed }) => failed),
    [true, false, false],
  );
  t.equal(errors.length, 1);
});

t.test('a call beyond maxPending fails at once, and those that wait do not', async t => {
  const held: ServerHttp2Stream[] = [];
  const service = await ScriptedService.start(t, stream => held.push(stream), { maxConcurrentStreams: 1 });
  const { ask, errors } = clientOf(t, service.address, { maxPending: 2, onFailure: 'deny' });
  const waiting = [ask(), ask()];
  t.match(await ask(), { allowed: false, failed: true, retryAfterS: 1 });
  t.same(errors, ['overloaded: 2 calls are waiting for the service already.']);
  for (const decision of waiting) {
    await until(() => held.length === 1);
    reply(held.pop() as ServerHttp2Stream);
    t.match(await decision, { failed: false });
  }
});

t.test('the service gets the deadline of a call, and learns when it has passed', async t => {
  const calls: { readonly timeout: unknown; code: number | null }[] = [];
  const service = await ScriptedService.start(t, (stream, headers) => {
    const call = { timeout: headers['grpc-timeout'], code: null as number | null };
    calls.push(call);
    stream.on('close', () => {
      call.code = stream.rstCode as number;
    });
  });
  const { client, ask, errors } = clientOf(t, service.address, { timeoutMs: 200 });
  t.match(await ask(), { allowed: true, failed: true });
  t.same(errors, ['timeout: The service did not answer within 200 ms.']);
  await until(() => calls[0].code !== null);
  t.equal(calls[0].code, constants.NGHTTP2_CANCEL);
  const ms = Number(/^(\d+)m$/.exec(String(calls[0].timeout))?.[1]);
  t.ok(ms > 0 && ms <= 200, String(calls[0].timeout));
  await client.close();
});

t.test('a connection that has fallen silent is replaced', async t => {
  const service = await ScriptedService.start(t, stream => reply(stream));
  const proxy = await silencingProxy(t, Number(service.address.split(':')[1]));
  // Longer than the proxy may hold back a small packet (Nagle's algorithm).
  const { ask, errors } = clientOf(t, proxy.address, { timeoutMs: 300 });
  await until(async () => !(await ask()).failed);
  proxy.silence();
  t.match(await ask(), { failed: true });
  t.match(errors.at(-1), /^timeout/);
  await until(async () => !(await ask()).failed);
  t.equal(service.sessions.length, 2);
});

t.test('while the service is away, calls fail without waiting for their deadline', async t => {
  const port = await freePort();
  const { ask, errors } = clientOf(t, `127.0.0.1:${port}`);
  t.match(await ask(), { allowed: true, failed: true });
  t.match(await ask(), { allowed: true, failed: true });
  const message = `unavailable: There is no connection to 127.0.0.1:${port}: connect ECONNREFUSED 127.0.0.1:${port}. `;
  t.ok(errors[0].startsWith(message), errors[0]);
  await ScriptedService.start(t, stream => reply(stream), {}, port);
  await until(async () => !(await ask()).failed);
});

t.test('an HTTP/1 server is named as the wrong port', async t => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { ask, errors } = clientOf(t, `127.0.0.1:${(server.address() as AddressInfo).port}`);
  t.match(await ask(), { failed: true });
  t.match(errors, [
    /^unavailable: .*Check .*that the address is that of its gRPC port \(8081 by default\)\.$/,
  ]);
});

t.test('an answer that is no decision is an error, and says what came', async t => {
  const message = (hex: string): Buffer => Buffer.from(hex, 'hex');
  const cases: readonly [answer: (stream: ServerHttp2Stream) => void, error: RegExp][] = [
    [
      stream => stream.respond({ ':status': 404 }, { endStream: true }),
      /HTTP status 404: it is not a gRPC service/,
    ],
    [stream => reply(stream, message('0100000002'), { 'grpc-status': '0' }), /compressed or incomplete/],
    [stream => reply(stream, message('0100000002'), {}), /^unavailable: /],
    [stream => reply(stream, message('01000000020801')), /compressed or incomplete/],
    [stream => reply(stream, message('0000000002080100')), /compressed or incomplete/],
    [stream => reply(stream, message('')), /compressed or incomplete/],
    [stream => reply(stream, message('000000000208ff')), /not a valid RateLimitResponse/],
    [stream => reply(stream, Buffer.alloc(1_048_577)), /more than 1048576 bytes/],
    [
      stream => reply(stream, message(''), { 'grpc-status': '13', 'grpc-message': 'caf%C3%A9 100%25' }),
      /^error_answer: The service answered with gRPC status 13: café 100%\.$/,
    ],
    [
      stream =>
        stream.respond({ ':status': 200, 'grpc-status': '14', 'grpc-message': '%' }, { endStream: true }),
      /^unavailable: The service answered with gRPC status 14: %\.$/,
    ],
    [stream => reply(stream, message(''), { 'grpc-status': '4' }), /^timeout: .* gRPC status 4\.$/],
    [stream => stream.close(constants.NGHTTP2_INTERNAL_ERROR), /^unavailable: .* lost before the answer/],
  ];
  let at = 0;
  const service = await ScriptedService.start(t, stream => cases[at][0](stream));
  const { ask, errors } = clientOf(t, service.address);
  for (; at < cases.length; at++) {
    t.match(await ask(), { failed: true });
    t.match(errors.pop(), cases[at][1]);
  }
  t.equal(service.sessions.length, 1, 'the connection is kept');
});

t.test('a closed client has answered its calls, and takes no more', async t => {
  const held: ServerHttp2Stream[] = [];
  const service = await ScriptedService.start(t, stream => held.push(stream));
  const { client, ask, errors } = clientOf(t, service.address);
  const call = ask();
  await until(() => held.length === 1);
  const closed = client.close();
  t.match(await ask(), { failed: true });
  t.same(errors, ['closed: The client is closed.']);
  reply(held[0]);
  t.match(await call, { failed: false });
  await closed;
  await until(() => service.sessions[0].destroyed);
  await client.close();
  t.equal(service.sessions.length, 1);
});

t.test('each close of a client waits for the answers of earlier calls', async t => {
  const held: ServerHttp2Stream[] = [];
  const service = await ScriptedService.start(t, stream => held.push(stream));
  const { client, ask } = clientOf(t, service.address);
  const call = ask();
  await until(() => held.length === 1);
  const closed = Promise.all([client.close(), client.close()]);
  t.equal(service.sessions[0].destroyed, false);
  reply(held[0]);
  t.match(await call, { failed: false });
  await closed;
});

t.test('an error of onError is that of the call', async t => {
  const thrown = new Error('from onError');
  const onError = () => {
    throw thrown;
  };
  const { client, ask } = clientOf(t, '127.0.0.1:1', { onError });
  await t.rejects(ask(), thrown);
  await client.close();
});

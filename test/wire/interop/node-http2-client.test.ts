import { once } from 'node:events';
import { type ClientHttp2Session, connect, constants, type SecureClientSessionOptions } from 'node:http2';
import { connect as connectSocket } from 'node:net';
import t, { type Test } from 'tap';
import { ANSWER_HEAD, trailersBlock, trailersOnlyBlock } from '../../../src/grpc/blocks.ts';
import { httpRefusal } from '../../../src/grpc/http-refusal.ts';
import { GRPC_STATUS, type StreamMethod, type UnaryMethod } from '../../../src/grpc/service.ts';
import type { ListenAddress } from '../../../src/transports/grpc/listener.ts';
import { connectionsDownTo, serveOwn } from '../../support/own-server.ts';
import { grpcMessage } from '../../support/wire-frames.ts';
import { TRANSPORTS } from './transports.ts';

function open(t: Test, address: ListenAddress, options: SecureClientSessionOptions = {}): ClientHttp2Session {
  const session = connect('http://localhost', {
    createConnection: () => connectSocket({ ...address }),
    ...options,
  });
  t.teardown(() => session.destroy());
  return session;
}

const REQUEST = { ':method': 'POST', 'content-type': 'application/grpc', te: 'trailers' };

interface Received {
  readonly head: Record<string, unknown>;
  readonly trailers: Record<string, unknown>;
  readonly content: Buffer;
  readonly code: number;
}

/** Calls, and tells head and trailers apart; `send` ends the request. */
function call(
  session: ClientHttp2Session,
  path: string,
  send: (stream: ReturnType<ClientHttp2Session['request']>) => void = stream =>
    stream.end(grpcMessage('abc')),
  options: Parameters<ClientHttp2Session['request']>[1] = {},
): Promise<Received> {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ...REQUEST, ':path': path }, options);
    let head = {};
    let trailers = {};
    const parts: Buffer[] = [];
    stream.on('response', fields => {
      head = { ...fields };
    });
    stream.on('trailers', fields => {
      trailers = { ...fields };
    });
    stream.on('data', part => parts.push(part));
    stream.on('error', reject);
    stream.on('close', () =>
      resolve({ head, trailers, content: Buffer.concat(parts), code: stream.rstCode }),
    );
    send(stream);
  });
}

const refuse: UnaryMethod = (_request, reply) => reply.fail(GRPC_STATUS.notFound, '100 % gone: ü');
const breakOff: StreamMethod = (request, stream) => {
  stream.send(request);
  stream.end(GRPC_STATUS.resourceExhausted, 'enough');
};
const methods = { unary: { '/s/Refuse': refuse }, streaming: { '/s/BreakOff': breakOff } };

for (const [transport, listen] of Object.entries(TRANSPORTS)) {
  t.test(`on ${transport}, each kind of answer has its fields where they belong`, async t => {
    const { server } = await serveOwn(t, { ...methods, options: { listen: listen(t) } });
    const session = open(t, server.address);
    const head = { ':status': 200, 'content-type': 'application/grpc' };
    t.match(await call(session, '/s/Echo'), {
      head,
      trailers: { 'grpc-status': '0' },
      content: grpcMessage('abc'),
      code: 0,
    });
    const refused = await call(session, '/s/Refuse');
    t.match(refused.head, { ...head, 'grpc-status': '5', 'grpc-message': '100 %25 gone: %C3%BC' });
    t.strictSame(refused.trailers, {}, 'Trailers-Only is one header section');
    t.match(await call(session, '/s/BreakOff'), {
      head,
      trailers: { 'grpc-status': '8', 'grpc-message': 'enough' },
      content: grpcMessage('abc'),
    });
  });

  t.test(`on ${transport}, padding, trailers and parts of any size are accepted`, async t => {
    const { server } = await serveOwn(t, { options: { listen: listen(t) } });
    const session = open(t, server.address, { paddingStrategy: constants.PADDING_STRATEGY_MAX });
    const message = grpcMessage(Buffer.alloc(100_000, 'part'));
    const inParts = await call(
      session,
      '/s/Echo',
      async stream => {
        stream.on('wantTrailers', () => stream.sendTrailers({ 'x-trailer': 'value' }));
        for (let at = 0; at < message.length; at += 7_919)
          await new Promise(resolve => stream.write(message.subarray(at, at + 7_919), resolve));
        stream.end();
      },
      { waitForTrailers: true },
    );
    t.strictSame(inParts.content, message);
    t.equal(inParts.trailers['grpc-status'], '0');
  });

  t.test(`on ${transport}, settings may change while calls are under way`, async t => {
    const { server } = await serveOwn(t, { options: { listen: listen(t) } });
    const session = open(t, server.address, { settings: { initialWindowSize: 100, headerTableSize: 0 } });
    const message = grpcMessage(Buffer.alloc(200_000, 'change'));
    const calls = Array.from({ length: 10 }, () => call(session, '/s/Echo', stream => stream.end(message)));
    for (const settings of [
      { initialWindowSize: 10 },
      { headerTableSize: 100, maxFrameSize: 1_000_000 },
      { initialWindowSize: 300_000, headerTableSize: 4_096 },
    ])
      await new Promise<void>(resolve => session.settings(settings, () => resolve()));
    for (const { content, trailers } of await Promise.all(calls)) {
      t.ok(content.equals(message));
      t.equal(trailers['grpc-status'], '0');
    }
  });

  t.test(`on ${transport}, pings are answered and a client that closes is let go`, async t => {
    const { server } = await serveOwn(t, { options: { listen: listen(t) } });
    const session = open(t, server.address);
    await once(session, 'remoteSettings');
    const payload = Buffer.from('12345678');
    const pong = await new Promise<Buffer>((resolve, reject) =>
      session.ping(payload, (failure, _ms, echoed) => (failure === null ? resolve(echoed) : reject(failure))),
    );
    t.strictSame(pong, payload);
    t.equal((await call(session, '/s/Echo')).trailers['grpc-status'], '0');
    await new Promise<void>(resolve => session.close(resolve));
    await connectionsDownTo(server, 0);
  });
}

t.test('blocks that are encoded beforehand decode to their fields, whatever the text', async t => {
  t.ok(ANSWER_HEAD.length < 30, 'the most frequent one is short');
  const text = 'all of: \u0000 % ~ " ü 漢 😀';
  const encoded = encodeURIComponent(text).length;
  for (const block of [
    trailersBlock(13, text),
    trailersOnlyBlock(13, text),
    httpRefusal(415, 'PUT', text).trailers,
  ])
    t.ok(block.length < encoded + 80);
  const say: UnaryMethod = (_request, reply) => reply.fail(GRPC_STATUS.internal, text);
  const { server } = await serveOwn(t, { unary: { '/s/Say': say } });
  const session = open(t, server.address);
  const { head } = await call(session, '/s/Say');
  t.equal(decodeURIComponent(String(head['grpc-message'])), text);
});

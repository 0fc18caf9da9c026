import t, { type Test } from 'tap';
import { type GrpcLoad, RunningGrpcLoad } from '../../../bench/support/grpc-load/load.ts';
import type { UnaryMethod } from '../../../src/grpc/service.ts';
import { serveOwn } from '../../support/own-server.ts';

const OK_ANSWER = Uint8Array.of(0x08, 1, 0x12, 0);
const OVER_ANSWER = Uint8Array.of(0x08, 2, 0x12, 0);

/** A load of 2 connections with 5 open calls each on a server with this method. */
async function loadOn(t: Test, method: UnaryMethod, load: Partial<GrpcLoad> = {}): Promise<GrpcLoad> {
  const { server } = await serveOwn(t, { unary: { '/s/Decide': method } });
  if (!('port' in server.address)) throw new Error('the server has no port');
  return {
    port: server.address.port,
    connections: 2,
    streamsPerConnection: 5,
    watched: {},
    template: { path: '/s/Decide', message: Buffer.from('......').toString('base64'), counted: [] },
    expectedCode: 1,
    callsPerSecond: null,
    ...load,
  };
}

/** A method that answers as told, and a promise of the moment when it was asked so often. */
function answering(times: number, answer: (call: number) => Uint8Array) {
  const asked = Promise.withResolvers<void>();
  let calls = 0;
  const method: UnaryMethod = (_request, reply) => {
    calls++;
    if (calls === times) asked.resolve();
    reply.send(answer(calls));
  };
  return { method, asked: asked.promise, calls: () => calls };
}

t.test('calls follow on answers, and all that were begun are answered in the end', async t => {
  const { method, asked, calls } = answering(1_000, () => OK_ANSWER);
  const running = await RunningGrpcLoad.start(await loadOn(t, method));
  await asked;
  const window = running.mark();
  const { answered, begun } = await running.finish();
  t.equal(answered, calls());
  t.equal(begun, answered);
  t.ok(window.latency.count > 900 && window.latency.count <= answered);
  t.ok(window.seconds > 0 && window.latency.p99Ms > 0);
});

t.test('a paced load asks at its rate, without waiting for answers', async t => {
  const { method, asked, calls } = answering(50, () => OK_ANSWER);
  const running = await RunningGrpcLoad.start(await loadOn(t, method, { callsPerSecond: 2_000 }));
  await asked;
  t.same(await running.finish(), { answered: calls(), begun: calls() });
});

t.test('more calls than the server takes at a time wait for their turn', async t => {
  const { method, asked, calls } = answering(2_000, () => OK_ANSWER);
  const load = await loadOn(t, method, { connections: 1, streamsPerConnection: 1_500 });
  const running = await RunningGrpcLoad.start(load);
  await asked;
  t.equal((await running.finish()).answered, calls());
});

t.test('an answer with another code than the expected one is a fault', async t => {
  const { method, asked } = answering(100, call => (call === 100 ? OVER_ANSWER : OK_ANSWER));
  const running = await RunningGrpcLoad.start(await loadOn(t, method));
  await asked;
  await t.rejects(running.finish(), { message: 'a call was answered with overall code 2 and not 1' });
});

t.test('a call that fails is a fault, with the words of the server', async t => {
  const refusing: UnaryMethod = (_request, reply) => reply.fail(14, 'the store is gone');
  const running = await RunningGrpcLoad.start(await loadOn(t, refusing));
  await t.rejects(running.finish(), {
    message: 'a call was answered without a message: grpc-status 14, grpc-message the store is gone',
  });
});

t.test('a server that is not there is a fault', async t => {
  const load = await loadOn(t, () => {});
  await t.rejects(RunningGrpcLoad.start({ ...load, port: 1 }), { message: /^a connection failed: / });
});

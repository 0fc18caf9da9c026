import { once } from 'node:events';
import type { ClientHttp2Session } from 'node:http2';
import t, { type Test } from 'tap';
import { HeldCalls } from '../../../exam/grpc-examinee.ts';
import { Conversations } from '../../../support/conversations.ts';
import { callOverHttp2, openCallOverHttp2, openHttp2 } from '../../../support/grpc-client.ts';
import { type OwnServing, serveOwn } from '../../../support/own-server.ts';

/** Opens a connection and makes calls on it. */
async function connected(t: Test, { server }: OwnServing, calls: number): Promise<ClientHttp2Session> {
  const session = openHttp2(server.address);
  t.teardown(() => session.destroy());
  for (let call = 0; call < calls; call++) {
    t.equal((await callOverHttp2(session, '/s/Echo'))['grpc-status'], '0');
  }
  return session;
}

t.test(
  'the busiest connection within the share is asked to reconnect, and its calls are answered',
  async t => {
    const serving = await serveOwn(t);
    const [busiest, second, third] = [
      await connected(t, serving, 60),
      await connected(t, serving, 30),
      await connected(t, serving, 10),
    ];
    serving.clock.advance(1_000);
    const goaway = once(second, 'goaway');
    t.ok(serving.server.moveOne(0.5));
    await goaway;
    await once(second, 'close');
    t.notOk(busiest.closed || third.closed);
    t.equal((await callOverHttp2(busiest, '/s/Echo'))['grpc-status'], '0');
  },
);

t.test('no connection moves if none would make a difference', async t => {
  const serving = await serveOwn(t);
  const sessions = [await connected(t, serving, 60), await connected(t, serving, 1)];
  serving.clock.advance(1_000);
  t.notOk(serving.server.moveOne(0.5), 'one causes nearly all of the work, the other one nothing');
  serving.clock.advance(1_000);
  t.notOk(serving.server.moveOne(1), 'they did nothing in the last second');
  for (const session of sessions) t.equal((await callOverHttp2(session, '/s/Echo'))['grpc-status'], '0');
});

t.test('a connection is asked only once', async t => {
  const serving = await serveOwn(t, { options: { maxConnectionAgeGraceMs: 60_000 } });
  const session = await connected(t, serving, 10);
  serving.clock.advance(1_000);
  const goaway = once(session, 'goaway');
  t.ok(serving.server.moveOne(1));
  t.notOk(serving.server.moveOne(1));
  await goaway;
});

t.test(
  'a stream of requests ends when its connection is asked to move, so that it is opened elsewhere',
  async t => {
    const conversations = new Conversations();
    const serving = await serveOwn(t, { bidi: { '/s/Talk': conversations.method } });
    const session = await connected(t, serving, 10);
    const call = openCallOverHttp2(session, '/s/Talk');
    await conversations.arrived(1);
    serving.clock.advance(1_000);
    t.ok(serving.server.moveOne(1));
    t.match(await call.answer, { 'grpc-status': '14', 'grpc-message': /reconnect/ });
    t.strictSame(conversations.heard, ['begun', 'closed']);
  },
);

t.test('calls go on if a connection that was asked to move reaches its age', async t => {
  const held = new HeldCalls();
  const serving = await serveOwn(t, {
    unary: { '/s/Hold': held.method },
    options: { maxConnectionAgeMs: 5_000 },
  });
  const session = await connected(t, serving, 10);
  const call = callOverHttp2(session, '/s/Hold');
  await held.arrived(1);
  serving.clock.advance(1_000);
  const goaway = once(session, 'goaway');
  t.ok(serving.server.moveOne(1));
  await goaway;
  serving.clock.advance(5_000);
  held.replies[0].send(Buffer.from('done'));
  t.equal((await call)['grpc-status'], '0');
});

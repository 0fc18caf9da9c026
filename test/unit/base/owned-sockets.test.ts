import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import t from 'tap';
import { withOwnedAttempts, withOwnedSockets } from '../../../src/base/owned-sockets.ts';

t.test('only the sockets that were opened on behalf of the work end with it', async t => {
  const server = createServer(socket => socket.resume()).listen(0, 'localhost');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  const open = () => connect(port, 'localhost');

  const begun = Promise.withResolvers<void>();
  const finish = Promise.withResolvers<void>();
  const within: Socket[] = [];
  const work = withOwnedSockets(async () => {
    within.push(open());
    await begun.promise;
    within.push(open());
    await finish.promise;
    throw new Error('the work failed');
  });
  const foreign = open();
  t.teardown(() => foreign.destroy());
  begun.resolve();
  await once(foreign, 'connect');
  t.same(
    within.map(socket => socket.destroyed),
    [false, false],
  );
  finish.resolve();
  await t.rejects(work, { message: 'the work failed' });
  t.same(
    within.map(socket => socket.destroyed),
    [true, true],
  );
  t.equal(foreign.destroyed, false);
});

t.test('a connection that was made stays, one that failed to be made ends', async t => {
  const server = createServer(socket => socket.resume()).listen(0, 'localhost');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  t.teardown(() => server.close());
  const connected = async (): Promise<Socket> => {
    const socket = connect(port, 'localhost');
    t.teardown(() => socket.destroy());
    await once(socket, 'connect');
    return socket;
  };
  const made = await withOwnedAttempts(connected);
  t.equal(made.destroyed, false);
  let failed: Socket | undefined;
  const attempt = withOwnedAttempts(async () => {
    failed = await connected();
    throw new Error('not what was hoped for');
  });
  await t.rejects(attempt, { message: 'not what was hoped for' });
  t.equal(failed?.destroyed, true);
});

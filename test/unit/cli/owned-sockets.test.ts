import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import t from 'tap';
import { withOwnedSockets } from '../../../src/cli/owned-sockets.ts';

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

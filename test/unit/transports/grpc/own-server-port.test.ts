import t from 'tap';
import { serveOwn } from '../../../support/own-server.ts';
import { WireClient } from '../../../support/wire-client.ts';

t.test('after its port is closed, a server still serves its connections until it stops', async t => {
  const { server, honest } = await serveOwn(t);
  t.equal((await honest.unary('/s/Echo', 'before')).status, 0);
  server.closePort();
  await t.rejects(WireClient.connect(t, server.address), { code: 'ECONNREFUSED' });
  t.equal((await honest.unary('/s/Echo', 'after')).status, 0);
  honest.close();
  await server.stop();
  t.equal(server.connectionCount, 0);
  await server.start();
  t.equal(await (await WireClient.open(t, server.address)).call(1, '/s/Echo'), '0');
});

import type { Test } from 'tap';
import { Bound, SharedBound } from '../../../../src/base/threads/shared-bound.ts';
import { HttpPeer } from '../../../exam/http-server/peer.ts';
import { onEachEngine } from './on-each-engine.ts';
import { hello, serve } from './serving.ts';

/** Opens a connection. @returns the status of the first answer: 503 if the connection is refused */
async function opened(t: Test, port: number): Promise<{ readonly peer: HttpPeer; readonly status: number }> {
  const peer = await HttpPeer.open(port);
  t.teardown(() => peer.destroy());
  await peer.write(['GET /hello HTTP/1.1\r\nHost: test\r\n\r\n']);
  await peer.until(() => peer.answers.length > 0, 10_000);
  return { peer, status: peer.answers[0]?.status ?? 0 };
}

onEachEngine('listeners of several threads have one limit on connections, and each has its part', async t => {
  const shared = new SharedBound(8, 2);
  const open = async () => (await serve(t, [hello], { connections: Bound.at(shared.join()) })).port;
  const first = await open();
  const second = await open();
  const peers: HttpPeer[] = [];
  for (let i = 0; i < 6; i++) {
    const { peer, status } = await opened(t, first);
    t.equal(status, 200);
    peers.push(peer);
  }
  t.equal((await opened(t, first)).status, 503);
  for (let i = 0; i < 2; i++) t.equal((await opened(t, second)).status, 200);
  t.equal((await opened(t, second)).status, 503);
  peers[0].destroy();
  // Until the first listener has noticed.
  let status = 503;
  for (let tries = 0; status === 503 && tries < 1_000; tries++) status = (await opened(t, second)).status;
  t.equal(status, 200);
  t.equal((await opened(t, first)).status, 503);
});

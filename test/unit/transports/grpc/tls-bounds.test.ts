import { once } from 'node:events';
import type { Socket } from 'node:net';
import t from 'tap';
import { HANDSHAKE_TIMEOUT_MS } from '../../../../src/transports/grpc/tls/tls-handshakes.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { closed, greet, greetOn, openSilent, openTls, startTlsServer } from './tls-setup.ts';

t.test('a handshake that is not done in time is cut, however the client keeps itself busy', async t => {
  const clock = new ManualClock(0);
  const { server, handshakes, log } = await startTlsServer(t, { clock });
  const silent = await openSilent(server.address);
  const slow = await openSilent(server.address);
  // The head of a record that promises 512 bytes, then byte by byte.
  slow.write(Buffer.from('1603010200', 'hex'));
  t.match(await greet(server.address), { served: true }, 'a quick client is not held up');
  t.equal(handshakes.pending, 2);
  t.strictSame(clock.pendingDelaysMs, [HANDSHAKE_TIMEOUT_MS, HANDSHAKE_TIMEOUT_MS]);
  for (let left = HANDSHAKE_TIMEOUT_MS; left > 1; left -= 3_333) {
    slow.write(Buffer.from([1]));
    clock.advance(3_333);
    t.match(await greet(server.address), { served: true });
    t.equal(handshakes.pending, 2);
  }
  const gone = Promise.all([closed(silent), closed(slow)]);
  clock.advance(1);
  await gone;
  t.match(await log.until(/^TLS handshake refused/, 2), [
    { level: 'debug', peer: /^127\.0\.0\.1:\d+$/, reason: 'timeout after 10 s' },
    { reason: 'timeout after 10 s' },
  ]);
  t.equal(handshakes.pending, 0);
  t.equal(clock.pending, 0, 'no timer is left');
});

t.test('of too many handshakes at once the oldest is cut', async t => {
  const { server, handshakes, log } = await startTlsServer(t, { clock: new ManualClock(0), maxPending: 3 });
  const silent: Socket[] = [];
  for (let i = 0; i < 3; i++) silent.push(await openSilent(server.address));
  const oldestGone = closed(silent[0]);
  t.match(await greet(server.address), { served: true });
  await oldestGone;
  t.match(await log.until(/^TLS handshake refused/), [{ reason: 'too many handshakes are in progress' }]);
  t.equal(handshakes.pending, 2);
  const nextGone = closed(silent[1]);
  silent.push(await openSilent(server.address), await openSilent(server.address));
  await nextGone;
  t.equal(handshakes.pending, 3);
  for (const socket of silent) socket.destroy();
});

t.test('a client without h2 that stays connected after the answer is closed at the timeout', async t => {
  const clock = new ManualClock(0);
  const { server, handshakes, log } = await startTlsServer(t, { clock });
  const socket = openTls(server.address, { ALPNProtocols: [], allowHalfOpen: true });
  socket.resume();
  await once(socket, 'end');
  t.match(await log.until(/^TLS handshake refused/), [{ reason: 'the client did not offer h2' }]);
  t.equal(handshakes.pending, 1);
  clock.advance(HANDSHAKE_TIMEOUT_MS);
  t.equal(handshakes.pending, 0);
  await server.stop();
  t.pass('no connection is left that a stop would wait for');
  socket.destroy();
});

t.test('a connection that is served has no time limit of the handshake left', async t => {
  const clock = new ManualClock(0);
  const { server, handshakes } = await startTlsServer(t, { clock });
  const socket = openTls(server.address);
  t.match(await greetOn(socket), { served: true });
  t.equal(handshakes.pending, 0);
  t.equal(clock.pending, 0);
  socket.destroy();
});

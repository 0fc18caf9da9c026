import t from 'tap';
import { DebugPort, RETRY_MS } from '../../../../src/app/ports/ports.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

/** A server whose port is taken until `free` is set. */
function takenPort() {
  const server = {
    port: 6070,
    free: false,
    tries: 0,
    isOpen: false,
    async start() {
      server.tries++;
      if (!server.free) throw new Error('cannot listen on 6070: taken');
      server.isOpen = true;
    },
    async stop() {
      server.isOpen = false;
    },
  };
  const clock = new ManualClock(0);
  const logger = new KeepingLogger();
  return { server, clock, logger, debug: new DebugPort(server, { clock, logger }) };
}

/** Lets promises that are settled be noticed. */
const turn = () => new Promise(resolve => setImmediate(resolve));

t.test('a port in use is logged once, retried every second, and opened when it is free', async t => {
  const { server, clock, logger, debug } = takenPort();
  await debug.start();
  t.equal(debug.port, null);
  clock.advance(RETRY_MS);
  await turn();
  t.equal(server.tries, 2);
  server.free = true;
  clock.advance(RETRY_MS - 1);
  await turn();
  t.equal(server.tries, 2);
  clock.advance(1);
  await turn();
  t.equal(debug.port, 6070);
  t.equal(logger.lines.filter(line => line.level === 'error').length, 1);
  await debug.stop();
  t.equal(server.isOpen, false);
});

t.test('nothing is tried after a stop', async t => {
  const { server, clock, debug } = takenPort();
  await debug.start();
  await debug.stop();
  server.free = true;
  clock.advance(10 * RETRY_MS);
  await turn();
  t.match(server, { tries: 1, isOpen: false });
});

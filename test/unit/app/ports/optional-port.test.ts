import t from 'tap';
import { OptionalPort } from '../../../../src/app/ports/optional-port.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const RETRY_MS = 1_000;

/** A server whose port is taken until `free` is set. */
function takenPort() {
  const server = {
    free: false,
    tries: 0,
    isOpen: false,
    /** What each attempt waits for. */
    held: Promise.resolve(),
    async start() {
      server.tries++;
      await server.held;
      if (!server.free) throw new Error('cannot listen on 6070: taken');
      server.isOpen = true;
    },
    async stop() {
      server.isOpen = false;
    },
  };
  const clock = new ManualClock(0);
  const logger = new KeepingLogger();
  const opened: boolean[] = [];
  const port = new OptionalPort('debug', server, RETRY_MS, { clock, logger }, isLate => opened.push(isLate));
  return { server, clock, logger, port, opened };
}

/** Lets promises that are settled be noticed. */
const turn = () => new Promise(resolve => setImmediate(resolve));

t.test('a port in use is logged once, retried every second, and opened when it is free', async t => {
  const { server, clock, logger, port, opened } = takenPort();
  await port.start();
  t.equal(port.isOpen, false);
  clock.advance(RETRY_MS);
  await turn();
  t.equal(server.tries, 2);
  server.free = true;
  clock.advance(RETRY_MS - 1);
  await turn();
  t.equal(server.tries, 2);
  clock.advance(1);
  await turn();
  t.equal(port.isOpen, true);
  t.same(opened, [true]);
  t.equal(logger.lines.filter(line => line.level === 'error').length, 1);
  await port.stop();
  t.equal(server.isOpen, false);
});

t.test('nothing is tried after a stop', async t => {
  const { server, clock, port } = takenPort();
  await port.start();
  await port.stop();
  server.free = true;
  clock.advance(10 * RETRY_MS);
  await turn();
  t.match(server, { tries: 1, isOpen: false });
});

t.test('a stop waits for an attempt, closes what it opens, and lets none follow', async t => {
  for (const free of [true, false]) {
    const { server, clock, port } = takenPort();
    await port.start();
    const attempt = Promise.withResolvers<void>();
    Object.assign(server, { free, held: attempt.promise });
    clock.advance(RETRY_MS);
    const stopped = port.stop();
    attempt.resolve();
    await stopped;
    clock.advance(10 * RETRY_MS);
    await turn();
    t.match({ ...server, shown: port.isOpen }, { tries: 2, isOpen: false, shown: false });
  }
});

import t, { type Test } from 'tap';
import { LastingThreads } from '../../../../src/base/threads/lasting-threads.ts';
import type { DeliveringSetup } from '../../../support/delivering-thread.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { LOOPBACK_SETUP } from '../../../support/push-workers.ts';
import { WaitClock } from '../../../support/wait-clock.ts';

const MODULE = new URL('../../../support/delivering-thread.js', import.meta.url);

/** Numbers of the starts, from 1, that the operating system refuses. */
function open(t: Test, refused: readonly number[]) {
  const clock = new WaitClock(0);
  const logger = new KeepingLogger();
  const setup: DeliveringSetup = {
    ...LOOPBACK_SETUP,
    begun: new Int32Array(new SharedArrayBuffer(4)),
    failing: [],
  };
  let starts = 0;
  const seen: string[] = [];
  const ready = Promise.withResolvers<void>();
  const threads = new LastingThreads<never, never>({
    what: 'test thread',
    module: MODULE,
    count: 1,
    // A function cannot be sent to a thread, so that creating the thread throws.
    workerData: () => (refused.includes(++starts) ? { refused: () => {} } : setup),
    ready: ({ place }) => {
      seen.push(`${place} ready`);
      ready.resolve();
    },
    heard: () => {},
    isAwaited: () => false,
    ended: ({ state }) => {
      seen.push(`ended ${state}`);
      return {};
    },
    exited: ({ threadId }) => seen.push(`exited ${threadId > 0}`),
    lost: place => seen.push(`${place} lost`),
    clock,
    random: () => 0,
    logger,
  });
  t.teardown(() => threads.stop());
  return { threads, clock, logger, seen, ready: ready.promise };
}

t.test('a start fails if the first thread cannot be created', async t => {
  const { threads, seen } = open(t, [1]);
  await t.rejects(threads.start(), { message: /a test thread does not start: .*could not be cloned/ });
  t.same(seen, ['0 lost']);
});

t.test('in the background a thread that cannot be created is tried again after a delay', async t => {
  const { threads, clock, logger, seen, ready } = open(t, [1, 2]);
  threads.startWithoutWaiting();
  await clock.pass(100);
  await clock.pass(100);
  await ready;
  t.same(seen, ['0 lost', '0 lost', '0 ready']);
  t.match(
    logger.lines,
    Array(2).fill({ level: 'error', message: 'Test thread ended; starting a replacement' }),
  );
});

t.test('the owner learns that a thread ended, and then that it executes nothing anymore', async t => {
  const { threads, seen } = open(t, []);
  await threads.start();
  await threads.stop();
  t.same(seen, ['0 ready', 'ended over', 'exited true']);
});

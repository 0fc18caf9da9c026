import t from 'tap';
import { systemClock } from '../../../src/base/clock.ts';
import type { StopThread } from '../../../src/base/threads/inside-thread.ts';
import type { LastingThread } from '../../../src/base/threads/lasting-thread.ts';
import { LastingThreads } from '../../../src/base/threads/lasting-threads.ts';
import { StatsRegistry } from '../../../src/stats/registry.ts';
import { type ThreadStats, ThreadsStats } from '../../../src/stats/thread-stats.ts';
import { KeepingLogger } from '../../support/keeping-logger.ts';
import { until } from '../../support/until.ts';
import type { Forget } from './forgetful-thread.ts';

t.test('a promise that a thread forgets is a line of the log, and does not end the thread', async t => {
  const logger = new KeepingLogger();
  const stats = new StatsRegistry();
  const added = new ThreadsStats(stats);
  let lost = 0;
  const started = Promise.withResolvers<LastingThread<Forget | StopThread>>();
  const threads = new LastingThreads<Forget | StopThread, ThreadStats>({
    what: 'test thread',
    module: new URL('./forgetful-thread.js', import.meta.url),
    count: 1,
    workerData: () => null,
    ready: started.resolve,
    heard: ({ threadId }, message) => added.add(threadId, message.stats),
    isAwaited: () => false,
    ended: () => ({}),
    lost: () => lost++,
    clock: systemClock,
    random: () => 0,
    logger,
  });
  t.teardown(() => threads.stop());
  await threads.start();
  const thread = await started.promise;
  for (const lines of [1, 2]) {
    thread.post({ kind: 'forget' });
    await until(() => logger.lines.length === lines);
  }
  t.match(logger.lines[1], {
    level: 'error',
    message: 'Unhandled promise rejection (this is a bug; please report it)',
    fields: { error: /^Error: forgotten\n/ },
  });
  await threads.stop();
  t.equal(lost, 0);
  t.equal(new Map(stats.counters()).get('forgotten'), 2, 'and what it counts arrives');
});

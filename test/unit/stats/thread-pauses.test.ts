import t from 'tap';
import { systemClock } from '../../../src/base/clock.ts';
import { StatsRegistry } from '../../../src/stats/registry.ts';
import { ThreadPauses } from '../../../src/stats/thread-pauses.ts';
import { ManualClock } from '../../support/manual-clock.ts';

t.test('how late a timer ran is measured four times a second, until the stop', async t => {
  const stats = new StatsRegistry();
  const clock = new ManualClock(0);
  let lateMs = 0;
  const nowMs = () => clock.nowMs() + lateMs;
  const pauses = new ThreadPauses(stats, 'serving', clock, nowMs);
  const delay = stats.timer('ratelimit.event_loop.serving.delay');
  pauses.start();
  clock.advance(250);
  t.match(delay, { count: 1, sumMs: 0 });
  lateMs = 40;
  clock.advance(250);
  t.match(delay, { count: 2, sumMs: 40, maxMs: 40 });
  clock.advance(250);
  t.match(delay, { count: 3, sumMs: 40 }, 'a delay does not make the next measurement late');
  lateMs = 39;
  clock.advance(250);
  t.match(delay, { count: 4, sumMs: 40 }, 'a timer that runs early is not late');
  pauses.stop();
  clock.advance(1_000);
  t.match(delay, { count: 4 });
});

t.test('a blocked thread is a long delay', async t => {
  const stats = new StatsRegistry();
  const pauses = new ThreadPauses(stats, 'primary', systemClock);
  pauses.start();
  t.teardown(() => pauses.stop());
  const untilMs = performance.now() + 400;
  while (performance.now() < untilMs) {
    // Nothing else runs on this thread.
  }
  const delay = stats.timer('ratelimit.event_loop.primary.delay');
  while (delay.count === 0) await new Promise(resolve => setTimeout(resolve, 10));
  t.ok(delay.maxMs >= 140, `${delay.maxMs} ms`);
});

t.test('pauses for garbage collection, by kind', async t => {
  const stats = new StatsRegistry();
  const pauses = new ThreadPauses(stats, 'decision', systemClock);
  pauses.start();
  t.teardown(() => pauses.stop());
  const minor = stats.timer('ratelimit.gc.decision.minor.duration');
  const kept: number[][] = [];
  while (minor.count === 0) {
    for (let i = 0; i < 10_000; i++) kept[i] = Array.from({ length: 10 }, () => i);
    await new Promise(resolve => setImmediate(resolve));
  }
  t.ok(minor.sumMs > 0);
  t.same(
    [...stats.timers().keys()].filter(name => name.startsWith('ratelimit.gc.')),
    ['minor', 'major', 'incremental', 'weakcb'].map(kind => `ratelimit.gc.decision.${kind}.duration`),
  );
});

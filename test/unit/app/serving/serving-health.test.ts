import t from 'tap';
import { ServingHealth } from '../../../../src/app/serving/serving-health.ts';
import { Health } from '../../../../src/base/health.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

t.test('the process is unhealthy while five threads ended within a minute', async t => {
  const clock = new ManualClock(0);
  const health = new Health();
  const serving = new ServingHealth(health, clock);
  t.ok(health.healthy);
  for (let death = 1; death <= 4; death++) {
    serving.died();
    clock.advance(1_000);
  }
  t.ok(health.healthy, 'threads may die now and then');
  serving.died();
  t.notOk(health.healthy);
  t.match(
    health.components.get('serving_threads')?.note,
    /^5 serving threads ended within a minute; see the log$/,
  );
  clock.advance(56_000);
  t.ok(health.healthy, 'the first death is a minute ago');
  serving.stop();
});

t.test('the process is unhealthy while no thread serves', async t => {
  const health = new Health();
  const serving = new ServingHealth(health, new ManualClock(0));
  serving.servingThreads(0);
  t.notOk(health.healthy);
  t.equal(health.components.get('serving_threads')?.note, 'no serving thread is running; see the log');
  serving.servingThreads(1);
  t.ok(health.healthy);
});

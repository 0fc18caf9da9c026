import t from 'tap';
import { Deaths } from '../../../../src/app/serving/deaths.ts';
import { Health } from '../../../../src/base/health.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

t.test('the process is unhealthy while five threads ended within a minute', async t => {
  const clock = new ManualClock(0);
  const health = new Health();
  const deaths = new Deaths(health, clock);
  t.ok(health.healthy);
  for (let death = 1; death <= 4; death++) {
    deaths.add();
    clock.advance(1_000);
  }
  t.ok(health.healthy, 'threads may die now and then');
  deaths.add();
  t.notOk(health.healthy);
  t.match(
    health.components.get('serving_threads')?.note,
    /^5 serving threads ended within a minute; see the log$/,
  );
  clock.advance(56_000);
  t.ok(health.healthy, 'the first death is a minute ago');
  deaths.stop();
});

import t from 'tap';
import { SteadyClock } from '../../../../../../src/tasks/store/sqlite/file/steady-clock.ts';
import { JumpingClock } from '../../../../../support/jumping-clock.ts';

const HOUR = 3_600_000;

function clocks() {
  const host = new JumpingClock(10 * HOUR);
  const clock = new SteadyClock(
    () => host.nowMs(),
    () => host.monotonicMs(),
  );
  return { host, clock };
}

t.test('time is that of the host while nobody sets it', async t => {
  const { host, clock } = clocks();
  t.equal(clock.nowMs(), 10 * HOUR);
  host.advance(5);
  t.equal(clock.nowMs(), 10 * HOUR + 5);
  t.equal(clock.backsteps, 0);
});

t.test('after a step back time goes on at half speed until the host has caught up', async t => {
  const { host, clock } = clocks();
  clock.nowMs();
  host.jump(-HOUR);
  t.equal(clock.nowMs(), 10 * HOUR, 'it does not run backwards');
  host.advance(HOUR);
  t.equal(clock.nowMs(), 10.5 * HOUR, 'it does not stand still');
  host.advance(HOUR);
  t.equal(clock.nowMs(), 11 * HOUR);
  t.equal(clock.nowMs(), host.nowMs(), 'both are the same again');
  host.advance(HOUR);
  t.equal(clock.nowMs(), host.nowMs());
  t.equal(clock.backsteps, 1);
});

t.test('a step forward is followed at once, one that corrects a step back is none', async t => {
  const { host, clock } = clocks();
  clock.nowMs();
  host.jump(HOUR);
  t.equal(clock.nowMs(), 11 * HOUR);
  host.jump(-HOUR);
  t.equal(clock.nowMs(), 11 * HOUR);
  host.jump(HOUR);
  t.equal(clock.nowMs(), 11 * HOUR);
});

t.test('time that another run has seen is not repeated', async t => {
  const { host, clock } = clocks();
  clock.notBefore(11 * HOUR);
  t.equal(clock.nowMs(), 11 * HOUR);
  host.advance(1_000);
  t.equal(clock.nowMs(), 11 * HOUR + 500);
});

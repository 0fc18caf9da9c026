import t from 'tap';
import { HOUR_MS } from '../../../src/base/clock.ts';
import { ReplyTimeouts } from '../../../src/clients/reply-timeouts.ts';
import { JumpingClock } from '../../support/jumping-clock.ts';

function waiting() {
  const clock = new JumpingClock(0);
  const timeouts = new ReplyTimeouts(clock, 1_000);
  const missed: string[] = [];
  return { clock, timeouts, missed, begin: (name: string) => timeouts.begin(() => missed.push(name)) };
}

t.test('commands that reach their timeout are reported in order', async t => {
  const { clock, timeouts, missed, begin } = waiting();
  begin('a');
  clock.advance(400);
  begin('b');
  timeouts.received(begin('c'));
  clock.advance(599);
  t.same(missed, []);
  clock.advance(1);
  t.same(missed, ['a']);
  clock.advance(400);
  t.same(missed, ['a', 'b']);
  t.equal(clock.pending, 0);
});

t.test('a clock that is set back makes nobody wait for long', async t => {
  const { clock, missed, begin } = waiting();
  begin('a');
  clock.jump(-HOUR_MS);
  begin('b');
  clock.advance(2_000);
  t.same(missed, ['a', 'b']);
  t.equal(clock.pending, 0);
});

t.test('after it was stopped, no timeouts are reported', async t => {
  const { clock, timeouts, missed, begin } = waiting();
  begin('a');
  timeouts.stop();
  clock.advance(5_000);
  t.same(missed, []);
});

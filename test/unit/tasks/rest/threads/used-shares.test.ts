import t from 'tap';
import { Signals } from '../../../../../src/tasks/model/signals.ts';
import { UsedShares } from '../../../../../src/tasks/rest/threads/thread-signals.ts';
import { JumpingClock } from '../../../../support/jumping-clock.ts';

t.test('a share is in use until nothing was heard of it for some seconds', async t => {
  const clock = new JumpingClock(1_000_000);
  const signals = new Signals();
  const shares = new UsedShares(clock, signals);
  signals.tell('shareUsed', 'acme');
  t.same([shares.has('acme'), shares.has('globex')], [true, false]);
  clock.advance(2_000);
  t.equal(shares.has('acme'), true);
  signals.tell('shareUsed', 'acme');
  clock.advance(2_000);
  t.equal(shares.has('acme'), true);
  clock.advance(1_000);
  t.equal(shares.has('acme'), false);
});

t.test('a clock that is set back does not make it last', async t => {
  const clock = new JumpingClock(1_000_000_000);
  const signals = new Signals();
  const shares = new UsedShares(clock, signals);
  signals.tell('shareUsed', 'acme');
  clock.jump(-3_600_000);
  t.equal(shares.has('acme'), false);
});

import t from 'tap';
import { CountedWarning } from '../../../src/base/logger.ts';
import { KeepingLogger } from '../../support/keeping-logger.ts';
import { ManualClock } from '../../support/manual-clock.ts';

t.test('what happens often is one line a second, with its number', async t => {
  const log = new KeepingLogger();
  const clock = new ManualClock(0);
  const warning = new CountedWarning({ log, clock }, 'Refused connections', { limit: 3 });
  clock.advance(10_000);
  t.strictSame(log.lines, []);
  for (let i = 0; i < 500; i++) {
    warning.add();
    clock.advance(10);
  }
  t.strictSame(
    log.lines.map(({ fields }) => fields),
    Array.from({ length: 5 }, () => ({ count: 100, limit: 3 })),
  );
  t.match(log.lines[0], { level: 'warning', message: 'Refused connections' });
  t.equal(clock.pending, 0);
});

t.test('what has been counted is written at the end, once', async t => {
  const log = new KeepingLogger();
  const clock = new ManualClock(0);
  const warning = new CountedWarning({ log, clock }, 'Refused connections');
  warning.add();
  warning.add();
  warning.flush();
  warning.flush();
  t.strictSame(
    log.lines.map(({ fields }) => fields),
    [{ count: 2 }],
  );
  t.equal(clock.pending, 0);
});

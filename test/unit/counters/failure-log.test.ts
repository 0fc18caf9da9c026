import t from 'tap';
import { FailureLog } from '../../../src/counters/failure-log.ts';
import { ManualClock } from '../../support/manual-clock.ts';

function logged() {
  const clock = new ManualClock(1_700_000_000_000);
  const lines: string[] = [];
  const log = new FailureLog(clock, (reason, times) => lines.push(`${reason} x${times}`));
  return { clock, lines, log };
}

t.test('a reason is written at once when it is new, then every ten seconds with its number', async t => {
  const { clock, lines, log } = logged();
  for (let i = 0; i < 5; i++) log.failed('away');
  t.same(lines, ['away x1']);
  clock.advance(9_999);
  log.failed('away');
  t.same(lines, ['away x1']);
  clock.advance(1);
  log.failed('away');
  t.same(lines, ['away x1', 'away x6']);
});

t.test('another reason is written at once, and reasons that alternate do not flood the log', async t => {
  const { lines, log } = logged();
  for (let i = 0; i < 100; i++) log.failed(i % 2 === 0 ? 'away' : 'full');
  t.same(lines, ['away x1', 'full x1']);
});

t.test('neither do reasons that are new every time, nor a clock that was set back', async t => {
  const { clock, lines, log } = logged();
  for (let i = 0; i < 1_000; i++) log.failed(`reason ${i}`);
  t.equal(lines.length, 16);
  clock.moveTo(1_600_000_000_000);
  log.failed('reason 0');
  t.equal(lines.at(-1), 'reason 0 x1');
  clock.advance(10_000);
  log.failed('another');
  t.equal(lines.at(-1), 'another x1', 'the oldest reason made room');
});

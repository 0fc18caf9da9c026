import t from 'tap';
import { ShutdownDelay } from '../../../src/app/shutdown-delay.ts';
import { ManualClock } from '../../support/manual-clock.ts';

function begun(delayMs: number) {
  const clock = new ManualClock(0);
  const delay = new ShutdownDelay(clock, delayMs);
  let isOver = false;
  const passed = delay.passed().then(() => {
    isOver = true;
  });
  const over = async (): Promise<boolean> => {
    await new Promise(resolve => setImmediate(resolve));
    return isOver;
  };
  return { clock, delay, passed, over };
}

t.test('the delay ends when its time has passed, and leaves no timer', async t => {
  const { clock, passed, over } = begun(5_000);
  clock.advance(4_999);
  t.notOk(await over());
  clock.advance(1);
  await passed;
  t.equal(clock.pending, 0);
});

t.test('a second request ends the delay at once, and leaves no timer', async t => {
  const { clock, delay, passed } = begun(600_000);
  clock.advance(500);
  delay.requestedAgain();
  await passed;
  t.equal(clock.pending, 0);
});

t.test('one request that arrives as several signals does not end the delay', async t => {
  const { clock, delay, over } = begun(5_000);
  delay.requestedAgain();
  clock.advance(499);
  delay.requestedAgain();
  t.notOk(await over());
});

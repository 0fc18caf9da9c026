import t from 'tap';
import { ThreadWatch } from '../../../../src/base/threads/lasting-thread.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const BEGAN_MS = 1_767_225_600_000;

function open() {
  const clock = new ManualClock(BEGAN_MS);
  const seen = { isAwaited: true, pings: 0, hungSinceMs: [] as number[] };
  const watch = new ThreadWatch(
    clock,
    () => seen.isAwaited,
    () => seen.pings++,
    sinceMs => seen.hungSinceMs.push(sinceMs),
  );
  return { clock, seen, watch };
}

t.test('a thread that nothing was sent to is not checked', async t => {
  const { clock } = open();
  t.equal(clock.pending, 0);
});

t.test('the checks end when nothing waits for the thread, and begin again with the next message', async t => {
  const { clock, seen, watch } = open();
  watch.sent();
  watch.sent();
  t.equal(clock.pending, 1, 'one timer, however many messages');
  seen.isAwaited = false;
  clock.advance(1_000);
  t.same([seen.pings, clock.pending], [0, 0], 'all was answered within the first second');
  seen.isAwaited = true;
  watch.sent();
  clock.advance(1_000);
  t.same([seen.pings, clock.pending], [1, 1]);
});

t.test('a thread that does not answer ten checks in a row is hung, since it was first asked', async t => {
  const { clock, seen, watch } = open();
  watch.sent();
  clock.advance(10_000);
  t.same([seen.pings, seen.hungSinceMs], [1, []]);
  clock.advance(1_000);
  t.same(seen.hungSinceMs, [BEGAN_MS + 1_000]);
  clock.advance(60_000);
  t.same([seen.hungSinceMs.length, clock.pending], [1, 0], 'this is reported once');
});

t.test('a thread that answers late, again and again, is not hung', async t => {
  const { clock, seen, watch } = open();
  watch.sent();
  for (let i = 1; i <= 20; i++) {
    clock.advance(9_000);
    t.equal(seen.pings, i);
    watch.answered();
    clock.advance(1_000);
  }
  t.same(seen.hungSinceMs, []);
});

t.test('a thread counts as hung also when those that waited for it have gone', async t => {
  const { clock, seen, watch } = open();
  watch.sent();
  clock.advance(1_000);
  seen.isAwaited = false;
  clock.advance(10_000);
  t.equal(seen.hungSinceMs.length, 1);
});

t.test('the time in which the whole process stood still is one check', async t => {
  const { clock, seen, watch } = open();
  const timers: (() => void)[] = [];
  const stopped = new ThreadWatch(
    { nowMs: () => clock.nowMs(), after: (_delayMs, run) => ({ cancel() {}, _: timers.push(run) }) },
    () => true,
    () => {},
    sinceMs => seen.hungSinceMs.push(sinceMs),
  );
  stopped.sent();
  timers.pop()?.();
  clock.advance(3_600_000);
  timers.pop()?.();
  t.same(seen.hungSinceMs, []);
  watch.stop();
});

t.test('a stop ends the checks', async t => {
  const { clock, seen, watch } = open();
  watch.stop();
  watch.sent();
  watch.stop();
  clock.advance(60_000);
  t.same([seen.pings, clock.pending], [0, 0]);
});

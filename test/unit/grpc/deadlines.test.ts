import t from 'tap';
import { type Dated, Deadlines } from '../../../src/grpc/deadlines.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const START_MS = 1_700_000_000_000;

function deadlines() {
  const clock = new ManualClock(START_MS);
  return { clock, deadlines: new Deadlines(clock) };
}

/** Notes in `expired` when its deadline has passed. */
function dated(name: string, inMs: number, expired: string[]): Dated {
  return { deadlineMs: START_MS + inMs, expire: () => expired.push(name) };
}

t.test('each expires when its time has come, in whatever order they were added', async t => {
  const { clock, deadlines: all } = deadlines();
  const expired: string[] = [];
  for (const [name, inMs] of [
    ['c', 30],
    ['a', 10],
    ['b', 20],
    ['a too', 10],
  ] as const)
    all.add(dated(name, inMs, expired));
  clock.advance(9);
  t.strictSame(expired, []);
  clock.advance(1);
  t.strictSame(expired, ['a', 'a too']);
  clock.advance(10);
  t.strictSame(expired, ['a', 'a too', 'b']);
  clock.advance(1_000);
  t.strictSame(expired, ['a', 'a too', 'b', 'c']);
  t.equal(all.size, 0);
  t.equal(clock.pending, 0);
});

t.test('what was removed does not expire', async t => {
  const { clock, deadlines: all } = deadlines();
  const expired: string[] = [];
  const early = dated('early', 10, expired);
  all.add(early);
  all.add(dated('late', 20, expired));
  all.remove(early);
  t.equal(all.size, 1);
  clock.advance(15);
  t.strictSame(expired, []);
  clock.advance(5);
  t.strictSame(expired, ['late']);
});

t.test('however many there are, one timer waits', async t => {
  const { clock, deadlines: all } = deadlines();
  for (let i = 0; i < 1_000; i++) all.add(dated('', 5_000 - i, []));
  t.equal(clock.pending, 1);
  t.equal(all.size, 1_000);
});

t.test('a fraction of a millisecond does not expire early', async t => {
  const { clock, deadlines: all } = deadlines();
  const expired: string[] = [];
  all.add(dated('a', 10.5, expired));
  clock.advance(10);
  t.strictSame(expired, []);
  clock.advance(1);
  t.strictSame(expired, ['a']);
});

t.test('a deadline that has passed already expires soon, and not while it is added', async t => {
  const { clock, deadlines: all } = deadlines();
  const expired: string[] = [];
  all.add(dated('a', -1_000, expired));
  t.strictSame(expired, []);
  clock.advance(1);
  t.strictSame(expired, ['a']);
});

t.test('a deadline beyond the longest timer is kept', async t => {
  const { clock, deadlines: all } = deadlines();
  const expired: string[] = [];
  const years = 99_999_999 * 3_600_000;
  all.add(dated('a', years, expired));
  t.ok(clock.pendingDelaysMs[0] <= 2_147_483_647);
  clock.advance(2_147_483_647);
  t.strictSame(expired, []);
  t.equal(clock.pending, 1, 'it is waited for again');
  t.equal(all.size, 1);
});

t.test('one that expires may take out others and bring in new ones', async t => {
  const { clock, deadlines: all } = deadlines();
  const expired: string[] = [];
  const other = dated('other', 10, expired);
  all.add({
    deadlineMs: START_MS + 10,
    expire: () => {
      all.remove(other);
      all.add(dated('new', 15, expired));
    },
  });
  all.add(other);
  clock.advance(10);
  t.strictSame(expired, []);
  clock.advance(5);
  t.strictSame(expired, ['new']);
});

t.test('very many distinct deadlines are not looked at every millisecond', async t => {
  const { clock, deadlines: all } = deadlines();
  const COUNT = 100_000;
  const expired: string[] = [];
  let readings = 0;
  for (let i = 0; i < COUNT; i++) {
    all.add({
      get deadlineMs() {
        readings++;
        return START_MS + 100 + i * 0.01;
      },
      expire: () => expired.push(''),
    });
  }
  readings = 0;
  clock.advance(200);
  t.ok(readings < 25 * COUNT, `${readings / COUNT} looks at all of them within 100 ms`);
  t.ok(expired.length >= 8_900 && expired.length <= 10_100, `${expired.length} of 10 000 expired`);
});

t.test('once stopped nothing expires and no timer is left', async t => {
  const { clock, deadlines: all } = deadlines();
  const expired: string[] = [];
  all.add(dated('a', 10, expired));
  all.stop();
  t.equal(clock.pending, 0);
  clock.advance(100);
  t.strictSame(expired, []);
});

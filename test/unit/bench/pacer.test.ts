import t from 'tap';
import { Pacer } from '../../../bench/support/grpc-load/pacer.ts';

/** What a pacer begins at these moments: number of calls, and the moment from which they count. */
function begun(pacer: Pacer, ...moments: readonly number[]): number[][] {
  const bursts: number[][] = [];
  for (const nowMs of moments) pacer.due(nowMs, (calls, startedMs) => bursts.push([calls, startedMs]));
  return bursts;
}

t.test('the calls of a millisecond leave together, and count from when they leave', async t => {
  t.same(begun(new Pacer(5_000, 100), 101.25, 102.25), [
    [5, 101.25],
    [5, 102.25],
  ]);
});

t.test('nothing leaves before it is due', async t => {
  t.same(begun(new Pacer(5_000, 100), 100.5), []);
});

t.test('a rate that is no whole number of calls a millisecond is kept all the same', async t => {
  const moments = Array.from({ length: 1_000 }, (_, i) => i + 1);
  const calls = begun(new Pacer(1_500, 0), ...moments).map(([count]) => count);
  t.equal(
    calls.reduce((sum, count) => sum + count, 0),
    1_500,
  );
  t.ok(calls.every(count => count === 1 || count === 2));
});

t.test('calls that are late count from when they were due', async t => {
  t.same(begun(new Pacer(2_000, 0), 5.5), [
    [2, 1],
    [2, 2],
    [2, 3],
    [2, 5.5],
    [2, 5.5],
  ]);
});

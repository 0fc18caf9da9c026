import t from 'tap';
import { median, medianRatio, percentile } from '../../../bench/support/statistics.ts';

t.test('the median is the middle value, in whatever order they come', async t => {
  t.equal(median([5, 1, 9]), 5);
  t.equal(median([10, 9, 100]), 10, 'numbers are not ordered as text');
});

t.test('the median of an even number of values is the mean of the two in the middle', async t => {
  t.equal(median([4, 1, 2, 100]), 3);
});

t.test('nothing has no median', async t => {
  t.ok(Number.isNaN(median([])));
});

t.test('a median leaves its values in order', async t => {
  const values = [3, 1, 2];
  median(values);
  t.same(values, [3, 1, 2]);
});

t.test('a percentile is a value that was measured', async t => {
  const values = Uint32Array.from({ length: 200 }, (_, i) => i + 1);
  t.equal(percentile(values, 50), 100);
  t.equal(percentile(values, 99), 198);
  t.equal(percentile(values, 100), 200);
  t.equal(percentile([10, 20], 50), 10);
  t.equal(percentile([10, 20], 51), 20);
});

t.test('percentiles of one value are that value, and of nothing there are none', async t => {
  t.equal(percentile([7], 0), 7);
  t.equal(percentile([7], 99), 7);
  t.ok(Number.isNaN(percentile([], 50)));
});

t.test('a ratio is taken within rounds, so a slow round counts for both sides', async t => {
  t.equal(medianRatio([100, 10, 100], [10, 1, 10]), 10);
  t.equal(medianRatio([100, 10, 30], [50, 5, 10]), 2);
});

import t from 'tap';
import { LatencyHistogram } from '../../../bench/support/latency-histogram.ts';

t.test('percentiles, mean and maximum are those of the latencies, to a 256th', async t => {
  const histogram = new LatencyHistogram();
  for (let ms = 1; ms <= 1_000; ms++) histogram.record(ms / 10);
  const { count, meanMs, p50Ms, p99Ms, p999Ms, maxMs } = histogram.summary();
  t.equal(count, 1_000);
  t.equal(maxMs, 100);
  for (const [found, exact] of [
    [meanMs, 50.05],
    [p50Ms, 50],
    [p99Ms, 99],
    [p999Ms, 99.9],
  ]) {
    t.ok(Math.abs(found / exact - 1) <= 1 / 256, `${found} is ${exact}`);
  }
});

t.test('a percentile is never below its latency, from a microsecond to a minute', async t => {
  for (let ms = 0.001; ms < 60_000; ms *= 1.7) {
    const histogram = new LatencyHistogram();
    histogram.record(ms);
    histogram.record(ms * 4);
    const found = histogram.percentileMs(50);
    t.ok(found >= ms && found <= ms * (1 + 1 / 256) + 0.0001, `${ms} is told as ${found}`);
  }
});

t.test('what is longer than anything that is measured counts as the longest', async t => {
  const histogram = new LatencyHistogram();
  histogram.record(1e9);
  t.equal(histogram.summary().maxMs, 1e9);
  t.ok(histogram.percentileMs(99) > 200_000);
});

t.test('nothing has no percentiles, also after a reset', async t => {
  const histogram = new LatencyHistogram();
  t.ok(Number.isNaN(histogram.percentileMs(99)));
  histogram.record(1);
  histogram.reset();
  t.equal(histogram.summary().count, 0);
  t.ok(Number.isNaN(histogram.summary().p99Ms));
});

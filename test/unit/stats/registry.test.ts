import t from 'tap';
import { Histogram } from '../../../src/stats/histogram.ts';
import { PAUSE, StatsRegistry } from '../../../src/stats/registry.ts';

t.test('a counter is made on first use and shared by its name; zeros are not listed', async t => {
  const stats = new StatsRegistry();
  stats.counter('a').add(2);
  stats.counter('a').add(3);
  stats.counter('b').add(0);
  t.same([...stats.counters()], [['a', 5]]);
  t.same([...stats.counterNames()], ['a', 'b']);
});

t.test('counters are listed by name, then those of the sources in their order', async t => {
  const stats = new StatsRegistry();
  for (const name of ['b', 'a', 'c']) stats.counter(name).add(1);
  stats.addSource({ totals: () => [['z', 10], PAUSE, ['y', 20]] });
  t.same([...stats.counters()], [['a', 1], ['b', 1], ['c', 1], ['z', 10], PAUSE, ['y', 20]]);
});

t.test('counters of a source are made one by one, as they are asked for', async t => {
  const stats = new StatsRegistry();
  let made = 0;
  stats.addSource({
    *totals() {
      for (;;) yield [`counter ${++made}`, 1];
    },
  });
  for (const [name] of stats.counters()) if (name === 'counter 3') break;
  t.equal(made, 3);
});

t.test('the sum of a histogram is that of its durations, and so is what it takes in', async t => {
  const one = new Histogram();
  const other = new Histogram();
  for (const ms of [1, 2, 400_000]) one.record(ms);
  other.record(500_000);
  one.add(other);
  t.match(one, { count: 4, sumMs: 900_003, maxMs: 500_000 });
});

t.test('a histogram knows how many durations are within a bound', async t => {
  const histogram = new Histogram();
  t.equal(histogram.countWithin(5), 0);
  for (const ms of [0.1, 0.2, 5, 5.000001, 30_000, 100_000, 300_000]) histogram.record(ms);
  t.equal(histogram.countWithin(0.1), 1, 'exact at 0.1');
  t.equal(histogram.countWithin(5), 3, 'exact at 5');
  t.equal(histogram.countWithin(10), 4);
  t.equal(histogram.countWithin(60_000), 5);
  t.equal(histogram.countWithin(200_000), 6, 'half of those above all bounds');
  t.equal(histogram.countWithin(300_000), 7);
  t.equal(histogram.countWithin(Number.POSITIVE_INFINITY), 7);
});

t.test('gauges are read when they are collected', async t => {
  const stats = new StatsRegistry();
  let value = 1;
  stats.gauge('g', () => value);
  value = 7;
  t.same([...stats.gauges()], [['g', 7]]);
});

t.test('a histogram knows count, sum, maximum, and quantiles to within a third', async t => {
  const histogram = new Histogram();
  t.equal(histogram.quantileMs(0.5), 0);
  for (let ms = 1; ms <= 1_000; ms++) histogram.record(ms);
  t.match(histogram, { count: 1_000, sumMs: 500_500, maxMs: 1_000 });
  for (const quantile of [0.5, 0.95, 0.99]) {
    const found = histogram.quantileMs(quantile);
    t.ok(found >= quantile * 1_000 && found <= quantile * 1_300, `${quantile}: ${found}`);
  }
  t.equal(histogram.quantileMs(1), 1_000);
  histogram.record(10_000_000);
  t.equal(histogram.quantileMs(1), 10_000_000);
});

import t from 'tap';
import { PAUSE, type StatsReader, StatsRegistry } from '../../../../src/stats/registry.ts';
import { statsLines } from '../../../../src/transports/debug/pages.ts';

const page = (stats: StatsReader): string => [...statsLines(stats)].join('');

t.test('gauges by name, then counters by name, then those of the sources: one line each', t => {
  const stats = new StatsRegistry();
  stats.counter('ratelimit.service.config_load_success').add(3);
  stats.counter('ratelimit.service.config_load_error').add(2 ** 40);
  stats.counter('never').add(0);
  stats.gauge('ratelimit.live', () => 0);
  stats.gauge('Heap', () => 1.5);
  stats.addSource({ totals: () => [['shop.z.total_hits', 1], PAUSE, ['shop.a.total_hits', 7]] });
  t.same(
    [...statsLines(stats)],
    [
      'Heap: 1.5\n',
      'ratelimit.live: 0\n',
      'ratelimit.service.config_load_error: 1099511627776\n',
      'ratelimit.service.config_load_success: 3\n',
      'shop.z.total_hits: 1\n',
      '',
      'shop.a.total_hits: 7\n',
    ],
  );
  t.end();
});

t.test('a timer is shown with its count, sum, maximum and quantiles', t => {
  const stats = new StatsRegistry();
  const timer = stats.timer('call.response_time');
  for (let i = 0; i < 98; i++) timer.record(1);
  timer.record(20.1234567);
  timer.record(400);
  t.equal(
    page(stats),
    'call.response_time.count: 100\n' +
      'call.response_time.max_ms: 400\n' +
      `call.response_time.p50_ms: ${Math.round(timer.quantileMs(0.5) * 1000) / 1000}\n` +
      `call.response_time.p95_ms: ${Math.round(timer.quantileMs(0.95) * 1000) / 1000}\n` +
      `call.response_time.p99_ms: ${Math.round(timer.quantileMs(0.99) * 1000) / 1000}\n` +
      'call.response_time.sum_ms: 518.123\n',
  );
  t.match(page(stats), /p50_ms: 1\n.*p95_ms: 1\n.*p99_ms: 2\d\.\d+\n/s);
  t.end();
});

t.test('a timer that has recorded nothing is shown as zeros', t => {
  const stats = new StatsRegistry();
  stats.timer('t');
  t.equal(page(stats), 't.count: 0\nt.max_ms: 0\nt.p50_ms: 0\nt.p95_ms: 0\nt.p99_ms: 0\nt.sum_ms: 0\n');
  t.end();
});

t.test('a name cannot make lines of its own', t => {
  const stats = new StatsRegistry();
  stats.counter('shop.user_a\r\nfaked: 1').add(7);
  t.equal(page(stats), 'shop.user_a__faked: 1: 7\n');
  t.end();
});

t.test('no statistics are an empty text', t => {
  t.equal(page(new StatsRegistry()), '');
  t.end();
});

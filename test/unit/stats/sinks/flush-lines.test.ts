import t from 'tap';
import { PAUSE, StatsRegistry } from '../../../../src/stats/registry.ts';
import { CounterDeltas, TimerDeltas } from '../../../../src/stats/sinks/deltas.ts';
import { statsdLines } from '../../../../src/stats/sinks/line-formats.ts';
import { flushLines } from '../../../../src/stats/sinks/push-sink.ts';

/** The lines of each flush of these statistics. */
function flushing(stats: StatsRegistry) {
  const parts = {
    stats,
    format: statsdLines([]),
    counters: new CounterDeltas(),
    timers: new TimerDeltas(),
    lostLines: stats.counter('lost'),
  };
  return () => [...flushLines(parts)];
}

t.test(
  'gauges are sent always, counters by their difference where there is one, timers since the last flush',
  async t => {
    const stats = new StatsRegistry();
    stats.gauge('g', () => 0);
    stats.gauge('broken', () => Number.NaN);
    stats.counter('c').add(3);
    stats.counter('zero');
    stats.timer('t').record(2);
    const pieces = flushing(stats);
    t.equal(pieces().join(''), 'g:0|g\nt:2|ms\nc:3|c\n');
    t.equal(pieces().join(''), 'g:0|g\n');
    stats.counter('c').add(2);
    t.equal(pieces().join(''), 'g:0|g\nc:2|c\n');
  },
);

t.test(
  'many statistics come in pieces of whole lines, with pauses where there is nothing to send',
  async t => {
    const stats = new StatsRegistry();
    const names = Array.from({ length: 5_000 }, (_, number) => `shop.user_${number}.total_hits`);
    stats.addSource({
      *totals() {
        for (const [at, name] of names.entries()) {
          if (at % 512 === 0) yield PAUSE;
          yield [name, 7];
        }
      },
    });
    const pieces = flushing(stats);
    const first = pieces();
    t.equal(first.filter(piece => piece === '').length, 10, 'a pause of the source is one');
    for (const piece of first) t.ok(piece === '' || (piece.endsWith('\n') && piece.length < 17 * 1024));
    t.equal(first.join(''), names.map(name => `${name}:7|c\n`).join(''));
    const second = pieces();
    t.equal(second.join(''), '');
    t.ok(second.length >= 10 + Math.floor(5_000 / 256), 'unchanged counters are looked at in small groups');
  },
);

t.test('a line that no datagram could hold is left out and counted', async t => {
  const stats = new StatsRegistry();
  stats.counter('x'.repeat(20_000)).add(1);
  stats.counter('y').add(1);
  const pieces = flushing(stats);
  t.equal(pieces().join(''), 'y:1|c\n');
  t.equal(pieces().join(''), 'lost:1|c\n');
});

import t from 'tap';
import { Histogram } from '../../../../src/stats/histogram.ts';
import { CounterDeltas, TimerDeltas } from '../../../../src/stats/sinks/deltas.ts';
import { NameHash, NameIndex } from '../../../../src/stats/sinks/off-heap.ts';

t.test('a delta is what was added since the last time', async t => {
  const deltas = new CounterDeltas();
  t.equal(deltas.take('a', 5), 5);
  t.equal(deltas.take('b', 7), 7);
  deltas.flushed();
  t.equal(deltas.take('a', 5), 0);
  t.equal(deltas.take('b', 9), 2);
});

t.test('the delta of a counter that restarted is its total', async t => {
  const deltas = new CounterDeltas();
  deltas.take('a', 5);
  t.equal(deltas.take('a', 2), 2);
  t.equal(deltas.take('a', 3), 1);
});

t.test('an interrupted flush sends nothing twice', async t => {
  const deltas = new CounterDeltas();
  deltas.take('a', 5);
  deltas.take('b', 5);
  deltas.flushed();
  t.equal(deltas.take('a', 6), 1);
  // `b` was not reached.
  t.equal(deltas.take('a', 6), 0);
  t.equal(deltas.take('b', 8), 3);
});

t.test('a name that some flushes miss is remembered, and forgotten after many', async t => {
  const deltas = new CounterDeltas();
  deltas.take('a', 5);
  for (let flush = 0; flush < 8; flush++) deltas.flushed();
  t.equal(deltas.take('a', 6), 1, 'after 8');
  for (let flush = 0; flush < 16; flush++) deltas.flushed();
  t.equal(deltas.take('a', 7), 7, 'after 16 more');
});

t.test('a timer is sent as the mean and number of durations in the same bucket', async t => {
  const deltas = new TimerDeltas();
  const timer = new Histogram();
  for (const ms of [1, 1, 100.5, 101.5]) timer.record(ms);
  t.same(
    [...deltas.take('t', timer)],
    [
      { count: 2, meanMs: 1 },
      { count: 2, meanMs: 101 },
    ],
  );
  t.same([...deltas.take('t', timer)], []);
  timer.record(1);
  t.same([...deltas.take('t', timer)], [{ count: 1, meanMs: 1 }]);
});

t.test('every name has a number of its own, also among hundreds of thousands', async t => {
  const index = new NameIndex();
  const hash = new NameHash();
  const name = (number: number) => `ratelimit.service.rate_limit.shop.user_${number}.total_hits`;
  let wrong = 0;
  for (let number = 0; number < 300_000; number++) if (index.add(hash.of(name(number))) !== number) wrong++;
  for (let number = 0; number < 300_000; number += 7)
    if (index.find(hash.of(name(number))) !== number) wrong++;
  t.equal(wrong, 0);
  t.equal(index.size, 300_000);
  t.equal(index.add(hash.of(name(5))), 5, 'which it keeps');
  t.equal(index.find(hash.of('other')), -1);
});

import t from 'tap';
import { BatchFigures } from '../../../../src/decision/statistics/batch-figures.ts';
import { LatestFigures } from '../../../../src/decision/statistics/latest-figures.ts';

t.test('quantiles of the last ten seconds, from all threads', t => {
  const figures = BatchFigures.create();
  const other = BatchFigures.attach(figures.buffer);
  const latest = new LatestFigures(figures, 0);
  t.match(latest.look(0), { seconds: 0, decision: { count: 0 } });
  for (let i = 0; i < 99; i++) figures.record(2, 0.5, 0.4);
  other.record(2, 50, 45);
  const { seconds, decision, store, requests } = latest.look(1_000);
  t.equal(seconds, 1);
  t.equal(decision.count, 200, 'each request of a batch');
  t.ok(decision.quantileMs(0.5) >= 0.5 && decision.quantileMs(0.5) < 0.66);
  t.ok(decision.quantileMs(1) >= 50);
  t.ok(store.quantileMs(0.5) >= 0.4 && store.quantileMs(0.5) < 0.53);
  t.equal(requests.count, 100, 'each batch');
  t.equal(Math.floor(requests.quantileMs(0.5)), 2);
  for (let second = 2; second <= 10; second++) latest.look(second * 1_000);
  t.equal(latest.look(11_000).decision.count, 0, 'what is older is forgotten');
  t.equal(latest.look(11_000).seconds, 10);
  t.end();
});

t.test('after a long time without a look, the figures are those since the last look', t => {
  const figures = BatchFigures.create();
  const latest = new LatestFigures(figures, 0);
  figures.record(1, 1, 0);
  t.match(latest.look(60_000), { seconds: 60, decision: { count: 1 }, store: { count: 0 } });
  t.end();
});

t.test('a clock that is set back begins a new time', t => {
  const figures = BatchFigures.create();
  const latest = new LatestFigures(figures, 10_000);
  figures.record(1, 1, 0);
  t.match(latest.look(5_000), { seconds: 0, decision: { count: 0 } });
  figures.record(1, 1, 0);
  t.match(latest.look(6_000), { seconds: 1, decision: { count: 1 } });
  t.end();
});

t.test('a thread measures at most one batch in each millisecond', t => {
  const figures = BatchFigures.create();
  t.same(
    [1, 1, 2, 2].map(nowMs => figures.isDue(nowMs)),
    [true, false, true, false],
  );
  t.end();
});

t.test('counters may overflow', t => {
  const figures = BatchFigures.create();
  figures.record(0x7fff_ffff, 1, 0);
  const latest = new LatestFigures(figures, 0);
  figures.record(10, 1, 0);
  t.equal(latest.look(1_000).decision.count, 10);
  t.end();
});

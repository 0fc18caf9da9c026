import t from 'tap';
import { stackedValues } from '../../../pages/design/plots/stack.ts';
import { steadyOrder } from '../../../pages/design/steady-order.ts';
import { outcomesOf, perSecond, thinned } from '../../../pages/live/outcomes.ts';

const point = {
  time: '2026-01-01T00:00:10.000Z',
  seconds: 10,
  hits: 100,
  refused: 30,
  near_limit: 10,
  shadow_refused: 5,
};

t.test('stacked series are sums, and unknown values are nothing', async t => {
  t.same(
    stackedValues([
      [1, 2],
      [3, null],
      [0, 4],
    ]),
    [
      [1, 2],
      [4, 2],
      [4, 6],
    ],
  );
  t.same(stackedValues([]), []);
});

t.test('rows that are shown keep their places and get new values; others follow', async t => {
  const row = (key: string, value: number) => ({ key, value });
  const shown = [row('a', 1), row('b', 2), row('c', 3)];
  const latest = [row('d', 9), row('c', 8), row('a', 7)];
  t.same(
    steadyOrder(shown, latest, ({ key }) => key),
    [row('a', 7), row('b', 2), row('c', 8), row('d', 9)],
    'b has left, and stays with its old value',
  );
});

t.test('each hit of a point has one outcome', async t => {
  t.same(outcomesOf(point), { allowed: 5.5, near: 1, shadow: 0.5, rejected: 3 });
  t.same(outcomesOf({ ...point, hits: 40 }).allowed, 0, 'figures of a moment later are not negative');
  t.same(perSecond({ ...point, seconds: 0 }), { hits: 0, refused: 0, near_limit: 0, shadow_refused: 0 });
});

t.test('long series are thinned to means of neighbors', async t => {
  t.same(thinned([1, 3, 5, 7, 9], 3), [2, 6, 9]);
  t.same(thinned([1, 2], 3), [1, 2]);
  t.same(thinned([], 3), []);
});

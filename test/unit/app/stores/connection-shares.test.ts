import t from 'tap';
import { divideConnections, ownConnections } from '../../../../src/app/stores/connection-shares.ts';

t.test('the primary thread has one connection, and the serving threads share the rest evenly', async t => {
  t.same(divideConnections([10], 4), [{ primary: 1, serving: [3, 2, 2, 2] }]);
  t.same(divideConnections([5], 4), [{ primary: 1, serving: [1, 1, 1, 1] }]);
});

t.test('without serving threads, the primary thread has all connections', async t => {
  t.same(divideConnections([10, 1], 0), [
    { primary: 10, serving: [] },
    { primary: 1, serving: [] },
  ]);
});

t.test('with too few connections, the first threads have some, the primary one an even share', async t => {
  t.same(divideConnections([3], 4), [{ primary: 1, serving: [1, 1, 0, 0] }]);
  t.same(divideConnections([1], 2), [{ primary: 1, serving: [0, 0] }]);
  t.same(
    divideConnections([10, 2], 4),
    [
      { primary: 5, serving: [5, 0, 0, 0] },
      { primary: 1, serving: [1, 0, 0, 0] },
    ],
    'a thread has connections to both instances or to none',
  );
});

t.test('no connection is left over, and no division exceeds the pool', async t => {
  for (let size = 1; size <= 20; size++) {
    for (let other = 1; other <= 20; other++) {
      for (let threads = 0; threads <= 8; threads++) {
        const [shares, others] = divideConnections([size, other], threads);
        const total = shares.serving.reduce((sum, share) => sum + share, shares.primary);
        const owners = shares.serving.map(share => share > 0);
        if (total !== size && owners.includes(true)) t.fail(`${size} of ${total} with ${threads} threads`);
        if (total > size || shares.primary < 1) t.fail(`${size} are ${total} with ${threads} threads`);
        t.strictSame(
          owners,
          others.serving.map(share => share > 0),
        );
      }
    }
  }
});

t.test('a thread without connections is told so', async t => {
  const settings = { redisPoolSize: 10, redisPerSecondPoolSize: 2, redisPerSecond: false };
  t.same(ownConnections(settings, { threads: 3, place: 2 }), { main: 3, perSecond: 0 });
  t.same(ownConnections(settings, { threads: 3, place: null }), { main: 1, perSecond: 0 });
  const both = { ...settings, redisPerSecond: true };
  t.same(ownConnections(both, { threads: 3, place: 0 }), { main: 5, perSecond: 1 });
  t.equal(ownConnections(both, { threads: 3, place: 1 }), null);
  t.same(ownConnections(both, { threads: 3, place: null }), { main: 5, perSecond: 1 });
});

import t from 'tap';
import { OverLimitCache } from '../../../../src/decision/over-limit-cache.ts';
import { OverLimitDeltas } from '../../../../src/decision/pool/over-limit-deltas.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

t.test('changes of a cache are reported once, and nothing while there are none', async t => {
  const clock = new ManualClock(0);
  const cache = new OverLimitCache(0, clock);
  const deltas = new OverLimitDeltas(cache, 7);
  const none = { threadId: 7, size: 0, hits: 0, misses: 0, evicted: 0, expired: 0, overwritten: 0 };
  t.equal(deltas.take(), null);
  cache.misses += 2;
  t.same(deltas.take(), { ...none, misses: 2 });
  cache.hits += 3;
  cache.evicted++;
  t.same(deltas.take(), { ...none, hits: 3, evicted: 1 });
  t.equal(deltas.take(), null);
});

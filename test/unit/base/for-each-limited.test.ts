import t from 'tap';
import { forEachLimited } from '../../../src/base/for-each-limited.ts';

t.test('runs each item once and at most as many at a time as the limit', async t => {
  for (const limit of [1, 3, 10, 100, Number.POSITIVE_INFINITY]) {
    const items = Array.from({ length: 10 }, (_, at) => at);
    const seen: number[] = [];
    let running = 0;
    let most = 0;
    await forEachLimited(items, limit, async item => {
      most = Math.max(most, ++running);
      await new Promise(setImmediate);
      running--;
      seen.push(item);
    });
    t.same(seen, items, `limit ${limit}`);
    t.equal(most, Math.min(limit, items.length));
  }
  await forEachLimited([], 3, () => Promise.reject(new Error('not called')));
});

t.test('a failure does not keep the other items from running, and the first one is reported', async t => {
  const seen: number[] = [];
  const run = async (item: number): Promise<void> => {
    seen.push(item);
    if (item % 2 === 1) throw new Error(`item ${item}`);
  };
  await t.rejects(forEachLimited([0, 1, 2, 3, 4], 2, run), { message: 'item 1' });
  t.same(seen, [0, 1, 2, 3, 4]);
});

t.test('with `stop`, a failure ends it once the items in progress have ended', async t => {
  const begun: number[] = [];
  const ended: number[] = [];
  const run = async (item: number): Promise<void> => {
    begun.push(item);
    if (item === 0) throw new Error('broken');
    await new Promise(setImmediate);
    ended.push(item);
  };
  await t.rejects(forEachLimited([0, 1, 2, 3, 4, 5], 2, run, 'stop'), { message: 'broken' });
  t.same(begun, [0, 1]);
  t.same(ended, [1]);
});

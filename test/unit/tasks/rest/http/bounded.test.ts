import t from 'tap';
import { eachAtMost } from '../../../../../src/tasks/rest/http/bounded.ts';

t.test('each item is run once, and no more at once than was said', async t => {
  const seen: number[] = [];
  let running = 0;
  let most = 0;
  await eachAtMost(
    Array.from({ length: 20 }, (_, at) => at),
    3,
    async item => {
      most = Math.max(most, ++running);
      await new Promise(resolve => setImmediate(resolve));
      seen.push(item);
      running--;
    },
  );
  t.same(
    seen.sort((a, b) => a - b),
    Array.from({ length: 20 }, (_, at) => at),
  );
  t.equal(most, 3);
  await eachAtMost([], 3, async () => {
    t.fail('there is nothing to run');
  });
});

t.test('the first failure ends it, once what was begun has ended', async t => {
  const begun: number[] = [];
  const ended: number[] = [];
  const running = eachAtMost([0, 1, 2, 3, 4, 5], 2, async item => {
    begun.push(item);
    if (item === 0) throw new Error('broken');
    await new Promise(resolve => setImmediate(resolve));
    ended.push(item);
  });
  await t.rejects(running, { message: 'broken' });
  t.same(begun, [0, 1]);
  t.same(ended, [1]);
});

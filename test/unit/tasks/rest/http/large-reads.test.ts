import t from 'tap';
import { LargeReads } from '../../../../../src/tasks/rest/http/bounded.ts';

t.test('few large reads run at once, and tenants take turns', async t => {
  const reads = new LargeReads(4);
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const read = (tenant: string, name: string) =>
    reads.run(tenant, () => {
      begun.push(name);
      return new Promise<void>(end => ends.push(end));
    });
  const all = [0, 1, 2, 3, 4, 5].map(n => read('a', `a${n}`));
  all.push(read('b', 'b0'), read('b', 'b1'), read('c', 'c0'));
  t.same(begun, ['a0', 'a1', 'a2', 'a3']);
  for (let ended = 0; ended < 9; ended++) {
    ends[ended]();
    await new Promise(resolve => setImmediate(resolve));
  }
  await Promise.all(all);
  t.same(begun.slice(4), ['a4', 'b0', 'c0', 'a5', 'b1']);
});

t.test('a read that fails makes room for the next', async t => {
  const reads = new LargeReads(4);
  const failing = () => Promise.reject(new Error('no'));
  const all = await Promise.allSettled(Array.from({ length: 9 }, () => reads.run('a', failing)));
  t.ok(all.every(({ status }) => status === 'rejected'));
  t.equal(await reads.run('a', async () => 5), 5);
});

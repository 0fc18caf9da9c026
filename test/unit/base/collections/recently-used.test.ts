import t from 'tap';
import { recentlyUsed } from '../../../../src/base/collections/recently-used.ts';

t.test('only the entries that were used last are kept', async t => {
  const entries = recentlyUsed<string, number>(3);
  for (const [value, name] of ['a', 'b', 'c'].entries()) entries.set(name, value);
  t.equal(entries.get('a'), 0);
  entries.set('b', 10);
  entries.set('d', 3);
  t.same([...entries.keys()].sort(), ['a', 'b', 'd']);
  entries.delete('a');
  entries.set('e', 4);
  t.same([...entries.keys()].sort(), ['b', 'd', 'e']);
});

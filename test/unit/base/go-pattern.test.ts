import t from 'tap';
import { goPattern } from '../../../src/base/go-pattern.ts';

t.test('a pattern is found anywhere, and its groups are numbered', async t => {
  t.same(goPattern('b(.)d').exec('abcde')?.slice(0, 2), ['bcd', 'c']);
});

t.test('what Go writes in another way means the same', async t => {
  t.ok(goPattern('(?i)ABC').test('abc'));
  t.equal(goPattern('(?P<key>b)').exec('abc')?.groups?.['key'], 'b');
  t.same(goPattern('^[[:alpha:]_]+[[:digit:]]$').exec('a_b7')?.[0], 'a_b7');
  t.notOk(goPattern('\\Aa\\z').test('a\n'));
  t.ok(goPattern('(?s)a.b').test('a\nb'));
});

t.test('what has no meaning there, or another one here, is refused', async t => {
  for (const pattern of ['(a)\\1', '(?=a)', '(?!a)', '(?<=a)', '\\Qa', '\\pL', '[[:nothing:]]']) {
    t.throws(() => goPattern(pattern), /not supported in a pattern/, pattern);
  }
  t.throws(() => goPattern('('), /Unterminated group/);
});

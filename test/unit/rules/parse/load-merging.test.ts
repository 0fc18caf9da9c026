import t from 'tap';
import { each } from '../../../support/each.ts';
import { load, refusal } from './rule-text.ts';

const MERGED = { mergeDomains: true };
const FIRST = 'domain: d\ndescriptors:\n- key: a\n  value: b\n- key: b\n';

t.test('domains come in file order', async t => {
  const rules = load({ '2.yaml': 'domain: z', '1.yaml': 'domain: a' });
  t.strictSame(each(rules.domains, 'name'), ['z', 'a']);
});

t.test('without merging a domain may stand in one file only', async t => {
  const files = { 'a.yaml': FIRST, 'b.yaml': 'descriptors:\n- key: c\n  oops: 1\ndomain: d\n' };
  t.match(
    refusal(files),
    /^b.yaml:4:9: d: the domain "d" is already defined in a.yaml: give this one another name, move the entries there, or set MERGE_DOMAIN_CONFIG=true\nb.yaml:3:3: d.c: unknown key `oops`;/m,
  );
});

t.test('domains are told apart by exact text', async t => {
  t.equal(load({ 'a.yaml': 'domain: d', 'b.yaml': 'domain: D', 'c.yaml': 'domain: "d "' }).domains.length, 3);
});

t.test('with merging the top-level entries of later files follow those of earlier ones', async t => {
  const files = { 'a.yaml': FIRST, 'x.yaml': 'domain: x', 'b.yaml': 'domain: d\ndescriptors:\n- key: c\n' };
  t.strictSame(
    load(files, MERGED).domains.map(({ name, entries }) => [name, entries.map(entry => entry.composite)]),
    [
      ['d', ['a_b', 'b', 'c']],
      ['x', []],
    ],
  );
});

t.test('with merging the same top-level entry in two files is refused, and both are named', async t => {
  const files = {
    'a.yaml': FIRST,
    'b.yaml': 'domain: d\ndescriptors:\n- key: a_b\n  descriptors:\n  - key: c\n',
  };
  t.equal(
    refusal(files, MERGED),
    'b.yaml:3:3: d.a_b: "a_b" is defined twice on this level, first in a.yaml:3 (`key: a` with `value: b` and ' +
      '`key: a_b` are the same): remove one or change its key or value',
  );
});

t.test('a file merged with itself is refused', async t => {
  t.equal(refusal({ 'a.yaml': FIRST, 'b.yaml': FIRST }, MERGED).split('\n').length, 2);
});
